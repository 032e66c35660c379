"""What a decision about a picture looked at, in a terminal and as one page."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from regard.data.images import Pixels
from regard.tasks.image_classification.attribution import Numbers, PictureAttribution
from regard.view.arrays import pack, pack_probabilities
from regard.view.document import as_json, check_name, write_document
from regard.view.report import Both, both, render_report

SCRIPTS = ("data", "dom", "picture")
MOST_BARS = 12
MOST_NUMBERS = 6_000_000
"""Attention weights, queries, keys and values that a page carries at most: some 16 MB."""
NOTE: Both = (
    "Attention says from where information can have come into the decision: rollout follows the looks of all layers from what is "
    "labelled down to the patches. Gradient × input says how the label's log-odds would move if a patch's vector grew: + speaks "
    "for the label, − against it. Both are hints, no proof.",
    "어텐션은 판단에 들어온 정보가 어느 패치에서 왔을 수 있는지를 나타냅니다. 롤아웃은 모든 층의 시선을 라벨에서 패치까지 거슬러 "
    "올라간 값입니다. 기울기 × 입력은 패치의 벡터가 커질 때 라벨의 로그 오즈가 얼마나 움직이는지를 나타냅니다. +는 라벨에 "
    "유리하고 −는 불리합니다. 둘 다 단서일 뿐 증거가 아닙니다.",
)
FACTS = {
    "labels": "라벨 수", "parameters": "매개변수", "training pictures": "학습 그림", "updates": "업데이트",
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class PictureExplanation:
    """One picture, the label it was given, and what that looked at."""

    title: str
    name: str
    label: str
    probabilities: Mapping[str, float]
    """The most probable first."""
    pixels: Pixels
    """As the model saw it [H, W, C]."""
    grid: int
    """Tokens in a row."""
    extra: int
    """Tokens before those of the picture."""
    found: PictureAttribution
    positions: Numbers | None
    """Similarity of the patches' positions [G × G, G × G]."""
    facts: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"PictureExplanation({self.name!r} → {self.label!r})"

    def draw(self, console: Console) -> None:
        """The labels, and where rollout looked, in a terminal."""
        for label, probability in list(self.probabilities.items())[:MOST_BARS]:
            console.print(Text(f"{probability:7.1%}  {'█' * round(30 * probability)} {_harmless(label)}"))
        most = self.found.rollout.max() or 1.0
        for row in (self.found.rollout / most).reshape(self.grid, self.grid):
            console.print(Text("".join("  ░░▒▒▓▓██"[2 * min(4, int(5 * each)) :][:2] for each in row)))
        console.print(Text(NOTE[0], "dim"))

    def write(self, path: str | Path, command: str = "") -> None:
        """As one HTML file that needs nothing else; `command` made it."""
        check_name(Path(path))
        write_document(Path(path), self.render(command))

    def to_dict(self) -> dict[str, Any]:
        """The decision, and what each patch had to do with it, row by row."""
        maps = {"rollout": self.found.rollout, "gradient": self.found.gradient}
        return {
            "picture": self.name,
            "label": self.label,
            "probabilities": dict(self.probabilities),
            "log_odds": self.found.log_odds,
            **{name: each.reshape(self.grid, self.grid).tolist() for name, each in maps.items()},
        }

    def data(self) -> dict[str, Any]:
        """What the page's script reads."""
        colours = np.broadcast_to(self.pixels, (*self.pixels.shape[:2], 3))
        found = self.found
        walk = found.weights.size + found.query_key_value.size <= MOST_NUMBERS
        return {
            "side": self.pixels.shape[0],
            "grid": self.grid,
            "extra": self.extra,
            "label": self.label,
            "probability": self.probabilities[self.label],
            "pixels": base64.b64encode(np.ascontiguousarray(colours).tobytes()).decode(),
            "weights": pack_probabilities(found.weights if walk else found.weights[-1:]),
            "pooled": pack_probabilities(found.pooled),
            "rollout": pack_probabilities(found.rollout),
            "gradient": pack(found.gradient),
            "vectors": pack(found.vectors),
            "states": pack(found.states),
            "projected": pack(found.query_key_value if walk else found.query_key_value[:, -1:]),
            "positions": None if self.positions is None else pack(self.positions),
        }

    def render(self, command: str = "") -> str:
        sure = f"{self.label}: {100 * self.probabilities[self.label]:.1f} %"
        facts = [((name, FACTS.get(name, name)), value) for name, value in self.facts.items()]
        bars = "".join(
            f"<tr><th scope='row'>{html.escape(label)}</th><td><i style='--part: {probability:.4f}'></i></td>"
            f"<td>{100 * probability:.1f} %</td></tr>"
            for label, probability in list(self.probabilities.items())[:MOST_BARS]
        )
        sections = (
            f"<section><h2>{both(('How probable each label is', '라벨별 확률'))}</h2><table class='bars'>{bars}</table></section>"
            f"<section class='picture-page'><script type='application/json'>{as_json(self.data())}</script></section>"
        )
        return render_report(
            self.title, (sure, sure), facts, sections, both(NOTE), command,
            styles=["heads", "look", "picture"], scripts=SCRIPTS,
        )  # fmt: skip


def _harmless(text: str) -> str:
    return "".join(letter if letter.isprintable() else "�" for letter in text)
