"""A trained classifier against the truth: classify a test set, score it, and show what it is most confidently wrong about.

S texts · C labels
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len

from regard import config
from regard.data.corpus import locate
from regard.data.labelled import Example, read_examples, require_label
from regard.data.progress import progress
from regard.errors import UsageError
from regard.evaluation.labels import LabelScores, calibration_error, score_labels
from regard.tasks.classification.classifier import Classifier
from regard.tasks.data_folder import require_test
from regard.tasks.texts import LOOK_AHEAD, in_blocks

WORST = 10
SHORT = 160  # characters of a text that is shown
Numbers = NDArray[np.float32]
MOST_COLUMNS = 10  # with more labels, a matrix is no longer read but searched


@dataclass(frozen=True)
class LabelledSet:
    """Labelled text to test on."""

    name: str
    path: Path
    data: config.LabelledText

    def examples(self) -> Iterator[Example]:
        return read_examples(self.path, self.data, self.name)


@dataclass(frozen=True)
class Mistake:
    """A text that was given another label than it has."""

    text: str
    label: str
    given: str
    confidence: float
    line: int


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
    """Texts without words: they have no answer, and do not count."""
    worst: Sequence[Mistake]
    """Most confident first."""

    def stored(self) -> list[dict[str, Any]]:
        """The scores as a model file keeps them; the first is the one to tell."""
        low, high = self.scores.interval
        return [
            {"name": "accuracy", "value": self.scores.accuracy, "low": low, "high": high, "texts": self.scores.texts},
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
            f"{self.name} ({scores.texts:,} texts{empty})",
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
        rows = [["", "precision", "recall", "F1", "texts"]]
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
        rows = [["is", "given", "texts"]]
        rows += [
            [self.labels[label], self.labels[given], f"{count:,}"]
            for label, given, count in self.scores.most_confused(MOST_COLUMNS)
        ]
        return ["  most often confused:", *in_columns(rows)] if len(rows) > 1 else []

    def _worst(self) -> list[str]:
        lines = [
            f"  line {each.line}: {each.label}, given {each.given} with {100 * each.confidence:.1f} %: {shortened(each.text)}"
            for each in self.worst
        ]
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


def shortened(text: str) -> str:
    """Both ends of a text that is too long to show: a review's verdict is often its last sentence."""
    return text if len(text) <= SHORT else f"{text[: SHORT // 2].rstrip()} … {text[-SHORT // 2 :].lstrip()}"


def recipe_labelled_sets(recipe: config.ClassificationRecipe) -> list[LabelledSet]:
    """The test sets that a recipe names."""
    require_test(recipe)
    data = recipe.data
    return [LabelledSet(name, locate(files[0], data), data) for name, files in data.test.items()]


def file_labelled_set(path: Path, recipe: config.ClassificationRecipe) -> LabelledSet:
    """One file with the columns that the recipe names; every row of it counts, whatever split it says."""
    return LabelledSet(path.name, path, replace(recipe.data, split=""))


def evaluate_labels(
    classifier: Classifier, test_set: LabelledSet, on_answer: Callable[[Example, str, float], None] | None = None
) -> LabelTest:
    """Classify every text with a progress bar; `on_answer` is told of each, with its label and probability."""
    logits_of_all: list[Numbers] = []
    truth: list[int] = []
    worst: list[tuple[float, int, Mistake]] = []  # a heap: the least confident is first, and leaves first
    empty = 0
    for example, number, logits in _classified(classifier, test_set):
        given, confidence = "", 0.0
        if logits is None:
            empty += 1
        else:
            logits_of_all.append(logits)
            truth.append(number)
            given, confidence = (
                classifier.labels[int(logits.argmax())],
                float(softmax(logits / classifier.temperature).max()),
            )
            if given != example.label:
                mistake = Mistake(example.text, example.label, given, confidence, example.line)
                heapq.heappush(worst, (confidence, -example.line, mistake))
                if len(worst) > WORST:
                    heapq.heappop(worst)
        if on_answer is not None:
            on_answer(example, given, confidence)
    if not truth:
        raise UsageError(f"cannot score {test_set.name}: none of its {empty:,} texts has any words")
    found, labels = np.stack(logits_of_all), np.array(truth, dtype=np.int64)  # [S, C], [S]
    return LabelTest(
        test_set.name,
        classifier.labels,
        score_labels(softmax(found / classifier.temperature), labels),
        100 * calibration_error(softmax(found), labels),
        classifier.temperature,
        empty,
        [mistake for _, _, mistake in sorted(worst, key=lambda each: each[:2], reverse=True)],
    )


def _classified(classifier: Classifier, test_set: LabelledSet) -> Iterator[tuple[Example, int, Numbers | None]]:
    """Each example, the number of its label, and its logits [C] if it has any words."""
    numbers = {label: number for number, label in enumerate(classifier.labels)}
    with progress() as bar:
        line = bar.add_task(f"Classifying {test_set.name}", total=None)
        for block in in_blocks(test_set.examples(), LOOK_AHEAD):
            known = [require_label(each, numbers, str(test_set.path)) for each in block]
            encoded, found = classifier.logits([each.text for each in block])
            rows = iter(found.numpy())
            for example, number, ids in zip(block, known, encoded, strict=True):
                yield example, number, next(rows) if len(ids) else None
            bar.advance(line, len(block))


def softmax(logits: Numbers) -> Numbers:
    """Over the last axis."""
    shares = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(shares / shares.sum(-1, keepdims=True))
