"""What a painter looked at while it painted: in a terminal, and as one HTML file.

L layers · H heads · G height and width in codes · W words
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from rich.console import Console
from rich.style import Style
from rich.text import Text

from regard.attention.record import record
from regard.tasks.text_to_image.captions import caption_ids
from regard.tasks.text_to_image.evaluation import left_out_map
from regard.tasks.text_to_image.painter import Painter, Painting
from regard.view.arrays import pack, pack_probabilities
from regard.view.document import DRAWN, check_name, document, write_document

SCRIPTS = ("data", "dom", "painting")
BODY = (
    """<main class="painting">
  <header id="header"></header>
  <div id="sections"></div>
  <footer><p class="muted" id="caution"></p></footer>
</main>
"""
    + DRAWN
)


@dataclass(frozen=True, repr=False)
class PaintingAttention:
    """One picture: how much each of its codes looked at each word of its caption, and what leaving a word out would cost."""

    title: str
    painting: Painting
    words: list[str]
    weights: NDArray[np.floating[Any]] = field(repr=False)
    """[L, H, G·G, W]; what is missing to 1 went to earlier codes, to the caption's ends and to padding."""
    left_out: NDArray[np.floating[Any]] = field(repr=False)
    """[W, G, G], in bits."""
    facts: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """All that the page shows, as plain JSON values."""
        pixels = self.painting.pixels
        return {
            "title": self.title,
            "facts": self.facts,
            "caption": self.painting.caption,
            "words": self.words,
            "pixels": {"shape": list(pixels.shape), "values": pixels.ravel().tolist()},
            "grid": len(self.painting.codes),
            "weights": pack_probabilities(self.weights),
            "left_out": pack(self.left_out),
        }

    def draw(self, console: Console) -> None:
        """The picture in half blocks, and for each word the cell that looked at it most."""
        pixels = self.painting.pixels if self.painting.pixels.shape[2] == 3 else self.painting.pixels.repeat(3, 2)
        for above, below in zip(pixels[::2], pixels[1::2], strict=True):
            line = Text()
            for top, bottom in zip(above.tolist(), below.tolist(), strict=True):
                line.append("▀", Style(color=_colour(top), bgcolor=_colour(bottom)))
            console.print(line)
        console.print(Text(self.painting.caption, "bold"))
        heat = self.weights.mean((0, 1))  # [G·G, W]
        for place, word in enumerate(self.words):
            row, column = divmod(int(heat[:, place].argmax()), len(self.painting.codes))
            cost = float(self.left_out[place].sum())
            console.print(
                f"{word}: most looked at in row {row + 1}, column {column + 1}; worth {cost:.1f} bits", highlight=False
            )

    def write(self, path: str | Path, command: str = "") -> None:
        """As one HTML file that needs nothing else."""
        check_name(Path(path))
        facts = {**self.facts, **({"command": command} if command else {})}
        page = document(f"{self.title} · regard", BODY, ["painting"], SCRIPTS, {**self.to_dict(), "facts": facts})
        write_document(Path(path), page)


def _colour(values: list[int]) -> str:
    return f"rgb({values[0]},{values[1]},{values[2]})"


def look(painter: Painter, painting: Painting, title: str) -> PaintingAttention:
    """What a painting's codes looked at."""
    model = painter.model
    ids = caption_ids([painting.caption], painter.tokenizer, model.caption_positions)[0].to(model.device)
    codes = torch.from_numpy(painting.codes)[None].to(model.device)
    with torch.inference_mode(), record(model) as seen:
        model(ids, codes.flatten(1))
    words = painter.words_of(painting.caption)
    begin = model.caption_positions - 1  # whose state expects the first code
    layers = []
    for name in model.attention_names()["decoder"]:
        rows = seen[name]["weights"][0][:, begin:]  # [H, G·G, T]
        layers.append(torch.stack([rows[..., places].sum(-1) for _, places in words], -1))  # [H, G·G, W]
    left_out = [left_out_map(painter, painting.caption, codes, places) for _, places in words]
    facts = {
        "parameters": f"{sum(each.numel() for each in model.parameters()):,}",
        "codes": f"{model.grid} × {model.grid} ({model.codes})",
        "seed": str(painting.seed),
    }
    weights = torch.stack(layers).double().cpu().numpy()
    return PaintingAttention(title, painting, [word for word, _ in words], weights, np.stack(left_out), facts)
