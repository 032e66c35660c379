"""Labels against the truth: accuracy, macro-F1, confusion, calibration.

S texts · C labels
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from regard.errors import UsageError

BINS = 15
"""Of confidence, over which calibration is measured (Guo et al. 2017)."""


@dataclass(frozen=True)
class LabelScores:
    """How good a classifier is; shares are in percent."""

    accuracy: float
    macro_f1: float
    calibration_error: float
    confusion: NDArray[np.int64]
    """[C, C]: how many texts of the label of a row were given that of a column."""

    @property
    def texts(self) -> int:
        return int(self.confusion.sum())

    @property
    def interval(self) -> tuple[float, float]:
        """Between these the accuracy on all such texts lies, with 95 % confidence (Wilson 1927)."""
        low, high = wilson(int(self.confusion.trace()), self.texts)
        return 100 * low, 100 * high

    def by_label(self) -> list[LabelScore]:
        """In the order of the labels."""
        right, given, texts = self.confusion.diagonal(), self.confusion.sum(0), self.confusion.sum(1)
        columns = _shares(right, given), _shares(right, texts), _f1(self.confusion), texts
        return [
            LabelScore(100 * float(precision), 100 * float(recall), 100 * float(f1), int(count))
            for precision, recall, f1, count in zip(*columns, strict=True)
        ]

    def most_confused(self, count: int) -> list[tuple[int, int, int]]:
        """The greatest mistakes, as label, label given instead, and how many texts."""
        mistakes = self.confusion - np.diag(self.confusion.diagonal())
        places = np.argsort(-mistakes, axis=None, kind="stable")[:count]
        rows, columns = np.unravel_index(places, mistakes.shape)
        found = [(int(row), int(column), int(mistakes[row, column])) for row, column in zip(rows, columns, strict=True)]
        return [each for each in found if each[2]]


@dataclass(frozen=True)
class LabelScore:
    """How good a classifier is at one label; shares are in percent, and not a number where there is nothing to share."""

    precision: float
    """Of the texts that were given the label, those that have it."""
    recall: float
    """Of the texts that have the label, those that were given it."""
    f1: float
    texts: int
    """That have the label."""


def score_labels(probabilities: NDArray[np.floating], labels: NDArray[np.int64]) -> LabelScores:
    """Probabilities [S, C] against labels [S]."""
    if not len(labels):
        raise UsageError("cannot score labels: there is no text that has any words")
    count = probabilities.shape[1]
    chosen = probabilities.argmax(1)
    confusion = np.zeros((count, count), dtype=np.int64)
    np.add.at(confusion, (labels, chosen), 1)
    return LabelScores(
        accuracy=100 * float((chosen == labels).mean()),
        macro_f1=100 * float(np.nanmean(_f1(confusion))),
        calibration_error=100 * calibration_error(probabilities, labels),
        confusion=confusion,
    )


def _f1(confusion: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of each label [C]; one that never occurs and is never given has none."""
    return _shares(2 * confusion.diagonal(), confusion.sum(0) + confusion.sum(1))


def _shares(parts: NDArray[np.int64], wholes: NDArray[np.int64]) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        return np.asarray(parts / wholes)


def wilson(right: int, count: int, confidence: float = 0.95) -> tuple[float, float]:
    """An interval for a share of which `right` of `count` were seen; unlike ± it stays between 0 and 1."""
    width = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = right / count, width**2 / count
    middle = share + spread / 2
    half = (share * (1 - share) * spread + spread**2 / 4) ** 0.5
    return max(0.0, (middle - half) / (1 + spread)), min(1.0, (middle + half) / (1 + spread))


def calibration_error(probabilities: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """How far confidence and accuracy are apart, on average over texts, within bins of like confidence."""
    confidence, right = probabilities.max(1), probabilities.argmax(1) == labels
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(right[bins == each].sum() - confidence[bins == each].sum()) for each in np.unique(bins)]
    return float(sum(gaps) / len(labels))


def fit_share(
    first: NDArray[np.floating], second: NDArray[np.floating], labels: NDArray[np.int64], steps: int = 20
) -> float:
    """How much the first of two logits [S, C] should count, the rest being the second's, to make labels most probable."""
    shares = [step / steps for step in range(1, steps)]
    return min(shares, key=lambda share: _calibrated(share * first + (1 - share) * second, labels)[1])


def fit_temperature(logits: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """The temperature that makes the labels most probable (Platt scaling of one number; Guo et al. 2017)."""
    return _calibrated(logits, labels)[0]


def _calibrated(logits: NDArray[np.floating], labels: NDArray[np.int64]) -> tuple[float, float]:
    """The best temperature, and the loss with it.

    As Platt did, each label is believed only as far as so few texts allow, as if one more of every label had been seen
    with each: else a model that is right on all of them would be told to be certain. The loss is convex in 1 / temperature,
    so that a search in thirds finds it.
    """
    count, classes = logits.shape
    spread = 1 / (count + classes)
    raw = logits.astype(np.float64)
    believed = (1 - classes * spread) * raw[np.arange(count), labels] + spread * raw.sum(1)  # [S]

    def loss(sharpness: float) -> float:
        scaled = raw * sharpness
        most = scaled.max(1)
        return float((np.log(np.exp(scaled - most[:, None]).sum(1)) + most - sharpness * believed).mean())

    low, high = 0.01, 100.0
    for _ in range(50):  # to seven digits
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if loss(left) <= loss(right) else (left, high)
    sharpness = (low + high) / 2
    return round(1 / sharpness, 4), loss(sharpness)
