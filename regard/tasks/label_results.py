"""What labels given to a test set came to, for every task that gives labels: scores, and the most confident mistakes.

S texts or pictures · C labels
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

from regard.evaluation.labels import LabelScores, calibration_error, score_labels
from regard.files import replacing

WORST = 10
Numbers = NDArray[np.float32]
MOST_COLUMNS = 10  # with more labels, a matrix is no longer read but searched


@dataclass(frozen=True)
class LabelTest:
    """What became of one test set."""

    name: str
    labels: Sequence[str]
    scores: LabelScores
    uncalibrated_error: float
    """Calibration error in percent, before the temperature."""
    temperature: float
    empty: int
    """Texts without words, or pictures that cannot be read: they have no answer, and do not count."""
    worst: Sequence[Any]
    """Most confident first; as a string, a line of the report."""
    unit: str = "texts"
    """What has a label."""

    def stored(self) -> list[dict[str, Any]]:
        """The scores as a model file keeps them; the first is the one to tell."""
        low, high = self.scores.interval
        return [
            {"name": "accuracy", "value": self.scores.accuracy, "low": low, "high": high, self.unit: self.scores.texts},
            {"name": "macro-F1", "value": self.scores.macro_f1},
            {"name": "calibration error", "value": self.scores.calibration_error, "before": self.uncalibrated_error},
        ]

    def to_dict(self) -> dict[str, Any]:
        """For JSON; what has no number is null."""
        by_label = {
            label: {name: None if math.isnan(value) else value for name, value in vars(each).items()}
            for label, each in zip(self.labels, self.scores.by_label(), strict=True)
        }
        return {
            "scores": self.stored(),
            "temperature": self.temperature,
            "empty": self.empty,
            "by_label": by_label,
            "confusion": self.scores.confusion.tolist(),
            "worst": [vars(each) for each in self.worst],
        }

    def lines(self) -> list[str]:
        """For people."""
        scores = self.scores
        low, high = scores.interval
        empty = f"; {self.empty:,} empty ones do not count" if self.empty else ""
        return [
            f"{self.name} ({scores.texts:,} {self.unit}{empty})",
            f"  accuracy {scores.accuracy:.2f} (95 % interval {low:.2f} to {high:.2f})",
            f"  macro-F1 {scores.macro_f1:.2f}",
            f"  calibration error {scores.calibration_error:.2f}"
            f" ({self.uncalibrated_error:.2f} before the temperature of {self.temperature:g})",
            "",
            *self._by_label(),
            "",
            *(self._matrix() if len(self.labels) <= MOST_COLUMNS else self._pairs()),
            *self._worst(),
        ]

    def _by_label(self) -> list[str]:
        rows = [["", "precision", "recall", "F1", self.unit]]
        for label, each in zip(self.labels, self.scores.by_label(), strict=True):
            shares = ("–" if math.isnan(value) else f"{value:.2f}" for value in (each.precision, each.recall, each.f1))
            rows.append([label, *shares, f"{each.texts:,}"])
        return in_columns(rows)

    def _matrix(self) -> list[str]:
        rows = [["is ↓  given →", *self.labels]]
        rows += [
            [label, *(f"{count:,}" for count in row)]
            for label, row in zip(self.labels, self.scores.confusion, strict=True)
        ]
        return in_columns(rows)

    def _pairs(self) -> list[str]:
        rows = [["is", "given", self.unit]]
        rows += [
            [self.labels[label], self.labels[given], f"{count:,}"]
            for label, given, count in self.scores.most_confused(MOST_COLUMNS)
        ]
        return ["  most often confused:", *in_columns(rows)] if len(rows) > 1 else []

    def _worst(self) -> list[str]:
        lines = [f"  {each}" for each in self.worst]
        return ["", "  most confidently wrong:", *lines] if lines else []


def in_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column from the left, others from the right; a Korean syllable takes two places."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]

    def cell(text: str, width: int, place: int) -> str:
        space = " " * (width - cell_len(text))
        return text + space if place == 0 else space + text

    return [
        "  " + "  ".join(cell(text, width, place) for place, (text, width) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]


class LabelAnswers:
    """Gathers the answers to a test set."""

    def __init__(self, labels: Sequence[str], temperature: float) -> None:
        self.labels, self.temperature = labels, temperature
        self._logits: list[Numbers] = []
        self._truth: list[int] = []
        self._worst: list[tuple[float, int, Any]] = []  # a heap: the least confident is first, and leaves first

    def __len__(self) -> int:
        return len(self._truth)

    def add(self, logits: Numbers, truth: int, mistake: Callable[[str, float], Any], place: int) -> tuple[str, float]:
        """Logits [C] of what has the label `truth`, at a place in its set → the label given and its probability."""
        self._logits.append(logits)
        self._truth.append(truth)
        given, confidence = int(logits.argmax()), float(softmax(logits / self.temperature).max())
        if given != truth:
            heapq.heappush(self._worst, (confidence, -place, mistake(self.labels[given], confidence)))
            if len(self._worst) > WORST:
                heapq.heappop(self._worst)
        return self.labels[given], confidence

    def score(self, name: str, unit: str, empty: int = 0) -> LabelTest:
        found, truth = np.stack(self._logits), np.array(self._truth, dtype=np.int64)  # [S, C], [S]
        return LabelTest(
            name,
            self.labels,
            score_labels(softmax(found / self.temperature), truth),
            100 * calibration_error(softmax(found), truth),
            self.temperature,
            empty,
            [mistake for _, _, mistake in sorted(self._worst, key=lambda each: each[:2], reverse=True)],
            unit,
        )


def softmax(logits: Numbers) -> Numbers:
    """Over the last axis."""
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(shares / shares.sum(-1, keepdims=True))


@contextmanager
def predictions(
    folder: Path | None, name: str, columns: Callable[[Any], tuple[str, ...]]
) -> Iterator[Callable[[Any, str, float], None] | None]:
    """Something to tell each answer to: it becomes a line `given TAB probability`, and what `columns` says of the example, of a
    file in the folder, if there is one."""
    if folder is None:
        yield None
        return
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / f"{name}.tsv") as temporary, temporary.open("w", encoding="utf-8", newline="\n") as lines:
        yield lambda example, given, confidence: print(
            given, f"{confidence:.4f}", *columns(example), sep="\t", file=lines
        )
