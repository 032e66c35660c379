"""Labels against the truth: accuracy, macro-F1, confusion, calibration.

S texts · C labels
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from regard.errors import UsageError

BINS = 15
"""Of confidence, over which calibration is measured (Guo et al. 2017)."""
MIXTURE_WEIGHTS = [step / 20 for step in range(1, 20)]
GOLDEN = (math.sqrt(5) - 1) / 2
EXACT, ROUGH = 1e-7, 1e-2
"""How far a temperature may be wrong: to be told, and to compare losses, which are flat where they are least."""


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


def fit_mixture_weight(mixed: Callable[[float], NDArray[np.floating]], labels: NDArray[np.int64]) -> float:
    """Which share of one opinion beside another makes the labels most probable, however sure of itself their mixture is:
    `mixed(share)` gives its logits [S, C]."""
    return min(MIXTURE_WEIGHTS, key=lambda share: _calibrated(mixed(share), labels, ROUGH)[1])


def fit_temperature(logits: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """The temperature that makes the labels most probable (Platt scaling of one number; Guo et al. 2017)."""
    return _calibrated(logits, labels, EXACT)[0]


def _calibrated(logits: NDArray[np.floating], labels: NDArray[np.int64], error: float) -> tuple[float, float]:
    """The best temperature, up to a relative error, and the loss with it.

    As Platt did, each label is believed only as far as so few texts allow, as if one more of every label had been seen
    with each: else a model that is right on all of them would be told to be certain. The loss is convex in
    1 / temperature, so that cutting the interval in golden sections finds it, with one look at the texts for each cut.
    """
    count, classes = logits.shape
    spread = 1 / (count + classes)
    raw = logits.astype(np.float64)
    believed = (1 - classes * spread) * raw[np.arange(count), labels] + spread * raw.sum(1)  # [S]

    def loss(cold: float) -> float:
        scaled = raw * math.exp(cold)
        most = scaled.max(1)
        return float((np.log(np.exp(scaled - most[:, None]).sum(1)) + most - math.exp(cold) * believed).mean())

    low, high = math.log(0.01), math.log(100.0)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = loss(left), loss(right)
    while high - low > error:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = loss(right)
    return round(math.exp(-(low + high) / 2), 4), min(at_left, at_right)
