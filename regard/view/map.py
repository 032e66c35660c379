"""A map of vectors: those that are alike lie close together. The two directions in which they differ most, as one HTML file.

N points · D width · K neighbours
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import UsageError
from regard.view.arrays import pack_probabilities
from regard.view.document import DRAWN, check_name, document, write_document

SCRIPTS = ("data", "dom", "map")
BODY = (
    """<main class="map">
  <header id="header"></header>
  <section id="controls"></section>
  <div class="panes">
    <figure id="figure"></figure>
    <section id="chosen" aria-live="polite"></section>
  </div>
  <footer><p class="muted" id="caution"></p><p class="muted"><code id="command"></code></p></footer>
</main>
"""
    + DRAWN
)
MOST_POINTS = 4_000
"""A page draws no more; of more texts, so many are drawn by lot."""
NEIGHBOURS = 8
MOST_TEXT = 300  # characters of a text on the page
BLOCK = 512  # rows of cosines alive at a time
TINY = 1e-12

Points = NDArray[np.float64]


class VectorMap:
    """Gathers texts with their vectors and labels, and draws them."""

    def __init__(self, title: str, kind: str, facts: Mapping[str, str] | None = None, most: int = MOST_POINTS) -> None:
        """`kind` is words, which stand on the map, or texts, which are shown when pointed at."""
        self.title, self.kind, self.facts, self.most = title, kind, dict(facts or {}), most
        self.given = 0
        """How many were added; of more than the most, each is kept with the same chance."""
        self._kept: list[tuple[int, str, NDArray[np.float32], str]] = []
        self._chance = random.Random(0)

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, text: str, vector: NDArray[np.float32], label: str = "") -> None:
        point = self.given, text, vector, label
        self.given += 1
        if len(self._kept) < self.most:
            self._kept.append(point)
        elif (place := self._chance.randrange(self.given)) < self.most:
            self._kept[place] = point

    def to_dict(self) -> dict[str, Any]:
        """All that the page draws, as plain JSON values."""
        if not self._kept:
            raise UsageError("there is nothing to draw: no text has a vector")
        kept = sorted(self._kept, key=lambda point: point[0])
        vectors = np.stack([vector for _, _, vector, _ in kept]).astype(np.float64)  # [N, D]
        places, shares = principal_components(vectors)
        near, cosines = nearest(vectors)
        labels = list(dict.fromkeys(label for *_, label in kept if label))
        numbers = {label: number for number, label in enumerate(labels)}
        return {
            "title": self.title,
            "kind": self.kind,
            "facts": self.facts,
            "given": self.given,
            "width": vectors.shape[1],
            "shares": [round(float(each), 4) for each in shares],
            "texts": [text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…" for _, text, _, _ in kept],
            "labels": labels,
            "label": [numbers.get(label, -1) for *_, label in kept],
            "places": pack_probabilities(places / 2 + 0.5),
            "near": near.tolist(),
            "cosines": np.round(cosines, 3).tolist(),
        }

    def render(self, command: str = "") -> str:
        """The page as text."""
        return document(
            f"{self.title}: a map of {self.kind} · regard",
            BODY,
            ["map"],
            SCRIPTS,
            {**self.to_dict(), "command": command},
        )

    def write(self, path: str | Path, command: str = "") -> None:
        """One HTML file that needs nothing else; `command` made it."""
        check_name(Path(path))
        write_document(Path(path), self.render(command))


def principal_components(vectors: Points) -> tuple[Points, Points]:
    """Vectors [N, D] → places on the two axes along which they vary most [N, 2], from −1 to 1 in one scale, and which share of
    all variance each axis has [2]."""
    centred = vectors - vectors.mean(0)
    variances, axes = np.linalg.eigh(centred.T @ centred)  # ascending: the last are the greatest
    axes = axes[:, ::-1][:, :2]  # [D, 2]
    axes = axes * np.sign(axes[np.abs(axes).argmax(0), range(axes.shape[1])])  # eigenvectors have no sign of their own
    places = np.zeros((len(vectors), 2))
    places[:, : axes.shape[1]] = centred @ axes
    shares = np.zeros(2)
    shares[: axes.shape[1]] = np.maximum(variances[::-1][:2], 0) / max(variances.clip(0).sum(), TINY)
    return places / max(np.abs(places).max(), TINY), shares


def nearest(vectors: Points, count: int = NEIGHBOURS) -> tuple[NDArray[np.int64], Points]:
    """Of each vector [N, D] the places of those with the greatest cosines [N, K], and these, the nearest first."""
    count = min(count, len(vectors) - 1)
    directions = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
    near, cosines = np.zeros((len(vectors), count), dtype=np.int64), np.zeros((len(vectors), count))
    for first in range(0, len(vectors) if count else 0, BLOCK):
        own = directions[first : first + BLOCK] @ directions.T  # [B, N]
        own[np.arange(len(own)), first + np.arange(len(own))] = -np.inf
        near[first : first + BLOCK] = np.argsort(-own, axis=1, kind="stable")[:, :count]
        cosines[first : first + BLOCK] = np.take_along_axis(own, near[first : first + BLOCK], 1)
    return near, cosines
