"""How well a painter listens: what its captions are worth in bits, and whether attention points at what a word names.

S pictures · K positions of a caption · G height and width in codes · H heads · T positions
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard import config
from regard.attention.record import record
from regard.data.captioned import TEST, garments_to_test, pictures_to_test
from regard.data.wardrobe import COLOURS, GARMENTS, SIZE, Garment, Scene
from regard.tasks.text_to_image.captions import caption_ids, no_caption
from regard.tasks.text_to_image.loss import bits
from regard.tasks.text_to_image.painter import Painter

TESTED = 500
"""Pictures of a test set that are looked at, the first, or so many made-up scenes."""
POINTED = 200  # scenes in which words are looked for
TOGETHER = 50


@dataclass(frozen=True)
class PaintingTest:
    """What a painter came to on one test set."""

    name: str
    pictures: int
    told: float
    """Bits per code after the picture's own caption …"""
    untold: float
    """… after none …"""
    mistold: float
    """… and after another picture's."""
    pointing: dict[str, float]
    """Of words that name garments, the share whose map has its maximum inside the garment, by what draws the map; only of
    scenes, whose garments' places are known."""

    def lines(self) -> list[str]:
        """For people."""
        lines = [
            f"{self.name}: {self.told:.3f} bits per code with the caption, {self.untold:.3f} without, {self.mistold:.3f} with"
            f" another's ({self.pictures:,} pictures)"
        ]
        if self.pointing:
            lines.append(
                "  pointing: " + ", ".join(f"{name} {100 * share:.1f} %" for name, share in self.pointing.items())
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "scores": self.stored()}

    def stored(self) -> list[dict[str, Any]]:
        values = {"bits": self.told, "bits without caption": self.untold, "bits with another's caption": self.mistold}
        return [{"name": name, "value": round(value, 4)} for name, value in values.items()]


def evaluate_painter(painter: Painter, data: config.PaintingData, split: str) -> Iterator[PaintingTest]:
    """Of scenes, those with trained pairs of colour and garment, and those with pairs that were never trained."""
    yield _bits(painter, data, split, unseen=False)
    if data.scenes:
        yield _bits(painter, data, split, unseen=True)


def _bits(painter: Painter, data: config.PaintingData, split: str, unseen: bool) -> PaintingTest:
    sums, count = np.zeros(3), 0
    positions, device = painter.model.caption_positions, painter.model.device
    for pixels, captions in pictures_to_test(data, split, TESTED, TOGETHER, unseen):
        ids = caption_ids(captions, painter.tokenizer, positions)[0].to(device)
        codes = painter.encode(pixels).flatten(1)
        for number, given in enumerate((ids, no_caption(positions).to(device).expand_as(ids), ids.roll(1, 0))):
            sums[number] += bits(painter.model, given, codes).mean(1).sum().item()
        count += len(pixels)
    told, untold, mistold = (sums / count).tolist()
    pointing = point(painter, data, split, unseen) if data.scenes else {}
    return PaintingTest(f"{split} (unseen pairs)" if unseen else split, count, told, untold, mistold, pointing)


def point(painter: Painter, data: config.PaintingData, split: str, unseen: bool) -> dict[str, float]:
    """How often the maximum of a word's attention map, and of what leaving the word out costs, is inside its garment."""
    wardrobe = garments_to_test(data, split)
    hits: dict[str, list[bool]] = {"attention": [], "leaving out": []}
    for number in range(POINTED):
        scene = wardrobe.scene([TEST, 1, number], unseen)
        language = data.languages[number % len(data.languages)]
        codes = painter.encode(wardrobe.draw(scene)[None])
        for garment, places in named(painter, scene, language):
            for name, heat in (
                ("attention", attention_map(painter, scene.caption(language), codes, places)),
                ("leaving out", left_out_map(painter, scene.caption(language), codes, places)),
            ):
                hits[name].append(inside(heat, garment))
    return {name: float(np.mean(each)) for name, each in hits.items() if each}


def named(painter: Painter, scene: Scene, language: str) -> Iterator[tuple[Garment, list[int]]]:
    """Each garment of a scene, and where the words for it and for its colour stand in the caption's row."""
    words = painter.words_of(scene.caption(language))
    for garment in scene.garments:
        wanted = (COLOURS[language][garment.colour], GARMENTS[language][garment.kind])
        for (first, before), (second, after) in pairwise(words):
            if (first, second) == wanted:
                yield garment, before + after
                break


def attention_map(painter: Painter, caption: str, codes: Tensor, places: Sequence[int]) -> NDArray[np.float64]:
    """How much each code looks at these positions of the caption [G, G], the mean of all layers and heads."""
    ids = caption_ids([caption], painter.tokenizer, painter.model.caption_positions)[0].to(painter.model.device)
    with torch.inference_mode(), record(painter.model) as seen:
        painter.model(ids, codes.flatten(1))
    names = painter.model.attention_names()["decoder"]
    weights = torch.stack([seen[name]["weights"][0].mean(0) for name in names]).mean(0)  # [T, T]
    begin = painter.model.caption_positions - 1  # whose state expects the first code
    heat = weights[begin:, list(places)].sum(1)
    return heat.view(painter.model.grid, -1).double().cpu().numpy()


def left_out_map(painter: Painter, caption: str, codes: Tensor, places: Sequence[int]) -> NDArray[np.float64]:
    """What each code costs more without these tokens of the caption [G, G], in bits."""
    ids = caption_ids([caption], painter.tokenizer, painter.model.caption_positions)[0]
    kept = [int(each) for place, each in enumerate(ids[0].tolist()) if place not in places]
    without = torch.tensor([kept + [0] * len(places)])
    both = torch.cat([ids, without]).to(painter.model.device)
    cost = bits(painter.model, both, codes.flatten(1).expand(2, -1))
    return (cost[1] - cost[0]).view(painter.model.grid, -1).double().cpu().numpy()


def inside(heat: NDArray[np.float64], garment: Garment) -> bool:
    """Whether the maximum's cell touches the garment's box."""
    row, column = np.unravel_index(int(heat.argmax()), heat.shape)
    cell = SIZE / len(heat)
    top, left = row * cell, column * cell
    return bool(
        top + cell > garment.top
        and top < garment.top + garment.size
        and left + cell > garment.left
        and left < garment.left + garment.size
    )
