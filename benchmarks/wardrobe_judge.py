"""How good are a painter's wardrobe scenes? A judge that saw only real scenes looks at painted ones.

    python benchmarks/wardrobe_judge.py runs/wardrobe --data DIR --judge judge.safetensors --json judged.json

The judge is a small convolutional network, trained on scenes of Fashion-MNIST's training pictures (once; `--judge` keeps it). It says
of a picture how garments are arranged, and the kind and colour of each. Its own mistakes are the ceiling: on real test scenes, and on what
the first stage keeps of them. Painted scenes are judged for trained pairs of colour and garment, for pairs that were never
trained, in English and in Korean. Two further measures: the accuracy of a judge that was trained on painted scenes only
(classification accuracy score), and the distance to the nearest training scene, against memorising.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import regard
from regard.allocator import keep_memory
from regard.data.captioned import garments_to_test
from regard.data.wardrobe import COLOURS, GARMENTS, Scene, Wardrobe
from regard.tasks.data_folder import with_data_folder

ARRANGEMENTS = 3  # alone, side by side, one above the other
HEADS = {
    "arrangement": ARRANGEMENTS,
    "first kind": len(GARMENTS["en"]), "first colour": len(COLOURS["en"]),
    "second kind": len(GARMENTS["en"]), "second colour": len(COLOURS["en"]),
}  # fmt: skip
Draw = Callable[[int, int], tuple[Tensor, list[Scene]]]
"""(first number, how many) → pictures [S, 3, 32, 32] and their scenes."""


class Judge(nn.Module):
    """Convolutions, then one answer for each question. The first garment is the one further left or above."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        widths = (3, width, 2 * width, 4 * width)
        self.convolutions = nn.Sequential(*(
            nn.Sequential(nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2))
            for before, after in pairwise(widths)
        ))  # fmt: skip
        self.hidden = nn.Sequential(nn.Flatten(), nn.Linear(4 * width * 16, 256), nn.ReLU(), nn.Dropout(0.3))
        self.heads = nn.ModuleList(nn.Linear(256, answers) for answers in HEADS.values())

    def forward(self, pictures: Tensor) -> list[Tensor]:
        hidden = self.hidden(self.convolutions(pictures * 2 - 1))
        return [head(hidden) for head in self.heads]


def wanted(scene: Scene) -> list[int]:
    """The right answers; -1 where there is nothing to ask."""
    garments = scene.garments
    if scene.place is None:
        return [0, garments[0].kind, garments[0].colour, -1, -1]
    near, far = garments if scene.place in (0, 2) else garments[::-1]
    return [1 + scene.place // 2, near.kind, near.colour, far.kind, far.colour]


def train_judge(draw: Draw, pictures: int, batch: int = 64) -> Judge:
    torch.manual_seed(0)
    judge, updates = Judge(), pictures // batch
    optimizer = torch.optim.AdamW(judge.parameters(), lr=2e-3, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=updates)
    for update in range(updates):
        given, scenes = draw(update * batch, batch)
        answers = torch.tensor([wanted(each) for each in scenes])
        loss = sum(
            nn.functional.cross_entropy(logits, answers[:, number], ignore_index=-1)
            for number, logits in enumerate(judge(given))
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return judge.eval()


@torch.inference_mode()
def judged(judge: Judge, draw: Draw, count: int, batch: int = 50) -> dict[str, float]:
    """Shares of garments with the right kind and colour, of pairs in the right place, and of scenes that are all right."""
    kinds, colours, places, alls = [], [], [], []
    for begin in range(0, count, batch):
        pictures, scenes = draw(begin, min(batch, count - begin))
        answers = torch.stack([logits.argmax(-1) for logits in judge(pictures)], 1).tolist()
        for scene, found in zip(scenes, answers, strict=True):
            right = wanted(scene)
            of_kind, of_colour = (
                [found[at] == right[at] for at in pair if right[at] >= 0] for pair in ((1, 3), (2, 4))
            )
            kinds += of_kind
            colours += of_colour
            placed = found[0] == right[0]
            if scene.place is not None:
                as_told = sum(a == b for a, b in zip(found[1:], right[1:], strict=True))
                swapped = sum(a == b for a, b in zip(found[1:], right[3:] + right[1:3], strict=True))
                placed = placed and as_told >= swapped
                places.append(placed)
            alls.append(placed and all(of_kind) and all(of_colour))
    shares = {"garment": kinds, "colour": colours, "place": places, "all": alls}
    return {name: round(100 * float(np.mean(each)), 2) for name, each in shares.items()}


def as_pictures(pixels: NDArray[np.uint8]) -> Tensor:
    return torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 255


def real(wardrobe: Wardrobe, seed: int, unseen: bool | None) -> Draw:
    """Scenes as they are; `unseen` None: of both sorts, so many that every pair of colour and garment is as frequent as any.
    Else a judge could tell a garment from its colour."""

    def draw(begin: int, count: int) -> tuple[Tensor, list[Scene]]:
        numbers = range(begin, begin + count)
        scenes = [wardrobe.scene([seed, 9, each], each % 50 < 9 if unseen is None else unseen) for each in numbers]
        return as_pictures(np.stack([wardrobe.draw(each) for each in scenes])), scenes

    return draw


def reconstructed(painter: regard.Painter, original: Draw) -> Draw:
    def draw(begin: int, count: int) -> tuple[Tensor, list[Scene]]:
        pictures, scenes = original(begin, count)
        with torch.inference_mode():
            return painter.codes.decode(painter.codes.encode(pictures)), scenes

    return draw


def painted(painter: regard.Painter, original: Draw, language: str, guidance: float, top_p: float) -> Draw:
    def draw(begin: int, count: int) -> tuple[Tensor, list[Scene]]:
        _, scenes = original(begin, count)
        captions = [each.caption(language) for each in scenes]
        found = painter.paint(captions, guidance=guidance, top_p=top_p, seed=range(begin, begin + count))
        return as_pictures(np.stack([each.pixels for each in found])), scenes

    return draw


def kept(draw: Draw, count: int, batch: int = 50) -> Draw:
    """The same, computed once."""
    parts = [draw(begin, min(batch, count - begin)) for begin in range(0, count, batch)]
    pictures, scenes = torch.cat([part for part, _ in parts]), [each for _, part in parts for each in part]

    def again(begin: int, size: int) -> tuple[Tensor, list[Scene]]:
        rows = [(begin + at) % len(scenes) for at in range(size)]
        return pictures[rows], [scenes[row] for row in rows]

    return again


def nearest(pictures: Tensor, training: Draw, compared: int) -> float:
    """The mean over pictures of the distance to the nearest of so many training scenes, per value."""
    flat = pictures.flatten(1)
    best = torch.full((len(flat),), float("inf"))
    for begin in range(0, compared, 500):
        others = training(begin, min(500, compared - begin))[0].flatten(1)
        best = torch.minimum(best, torch.cdist(flat, others).amin(1))
    return round(float((best / flat.size(1) ** 0.5).mean()), 5)


def share_of(found: dict[str, float], ceiling: dict[str, float]) -> dict[str, float]:
    """In percent."""
    return {name: round(100 * value / ceiling[name], 1) for name, value in found.items()}


def measure(arguments: argparse.Namespace) -> Iterator[tuple[str, dict[str, float]]]:
    painter = regard.load(arguments.painter, task="text-to-image")
    data = with_data_folder(painter.recipe, arguments.painter, arguments.data).data
    test, train = garments_to_test(data, next(iter(data.test))), garments_to_test(data, "train")
    file = Path(arguments.judge)
    judge = Judge()
    if file.is_file():
        judge.load_state_dict(load_file(file))
        judge.eval()
    else:
        judge = train_judge(real(train, 1, None), arguments.judge_scenes)
        save_file(judge.state_dict(), file)
    for unseen in (False, True):
        pairs, scenes = "never trained" if unseen else "trained", real(test, 2, unseen)
        yield f"real, {pairs}", judged(judge, scenes, arguments.ceiling)
        ceiling = judged(judge, reconstructed(painter, scenes), arguments.ceiling)
        yield f"reconstructed, {pairs}", ceiling
        for language in ("en", "ko"):
            drawn = kept(painted(painter, scenes, language, arguments.guidance, arguments.top_p), arguments.count)
            found = judged(judge, drawn, arguments.count)
            yield f"painted, {pairs}, {language}", found
            yield f"painted, {pairs}, {language}, percent of reconstructed", share_of(found, ceiling)
    scenes = real(train, 3, False)
    drawn = kept(painted(painter, scenes, "en", arguments.guidance, arguments.top_p), arguments.student_pictures)
    training = real(train, 4, False)
    yield (
        "distance to the nearest training scene",
        {
            "painted": nearest(drawn(0, arguments.count)[0], training, arguments.compared),
            "real test": nearest(real(test, 2, False)(0, arguments.count)[0], training, arguments.compared),
        },
    )
    by_painted, by_real = (
        judged(train_judge(each, arguments.student_scenes), real(test, 2, False), arguments.ceiling)
        for each in (drawn, kept(scenes, arguments.student_pictures))
    )
    yield f"accuracy of a judge trained on {arguments.student_pictures:,} painted scenes", by_painted
    yield f"accuracy of a judge trained on {arguments.student_pictures:,} real scenes", by_real
    yield "accuracy score, percent", share_of(by_painted, by_real)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("painter")
    parser.add_argument("--data", required=True, help="folder that holds fashion-mnist/")
    parser.add_argument("--judge", default="judge.safetensors")
    parser.add_argument("--judge-scenes", type=int, default=64_000)
    parser.add_argument(
        "--student-pictures", type=int, default=2_000, help="scenes that the accuracy score learns from …"
    )
    parser.add_argument("--student-scenes", type=int, default=20_000, help="… until so many were seen")
    parser.add_argument("--count", type=int, default=1_000, help="painted scenes of each sort")
    parser.add_argument("--ceiling", type=int, default=2_000)
    parser.add_argument("--compared", type=int, default=20_000)
    parser.add_argument("--guidance", type=float, default=2.0)
    parser.add_argument("--top-p", type=float, default=0.95)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    keep_memory()
    found = {}
    for name, values in measure(arguments):
        found[name] = values
        print(f"{name}: {values}", flush=True)
        if arguments.json:
            Path(arguments.json).write_text(json.dumps({"arguments": vars(arguments), "found": found}, indent=1))


if __name__ == "__main__":
    main()
