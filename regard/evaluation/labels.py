"""Labels against the truth: accuracy, macro-F1, confusion, calibration.

S texts · C labels
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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


def score_labels(probabilities: NDArray[np.floating], labels: NDArray[np.int64]) -> LabelScores:
    """Probabilities [S, C] against labels [S]."""
    count = probabilities.shape[1]
    chosen = probabilities.argmax(1)
    confusion = np.zeros((count, count), dtype=np.int64)
    np.add.at(confusion, (labels, chosen), 1)
    right = confusion.diagonal()
    with np.errstate(invalid="ignore"):  # a label that never occurs and is never given has no F1
        f1 = 2 * right / (confusion.sum(0) + confusion.sum(1))
    return LabelScores(
        accuracy=100 * float((chosen == labels).mean()),
        macro_f1=100 * float(np.nanmean(f1)),
        calibration_error=100 * calibration_error(probabilities, labels),
        confusion=confusion,
    )


def calibration_error(probabilities: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """How far confidence and accuracy are apart, on average over texts, within bins of like confidence."""
    confidence, right = probabilities.max(1), probabilities.argmax(1) == labels
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(right[bins == each].sum() - confidence[bins == each].sum()) for each in np.unique(bins)]
    return float(sum(gaps) / len(labels))


def fit_temperature(logits: NDArray[np.floating], labels: NDArray[np.int64]) -> float:
    """The temperature that makes the labels most probable (Platt scaling of one number; Guo et al. 2017).

    The loss is convex in 1 / temperature, so that a search in thirds finds it. The bounds matter where every text is right,
    and any sharpness would be rewarded.
    """

    def loss(sharpness: float) -> float:
        scaled = logits.astype(np.float64) * sharpness
        scaled -= scaled.max(1, keepdims=True)
        return float((np.log(np.exp(scaled).sum(1)) - scaled[np.arange(len(labels)), labels]).mean())

    low, high = 0.1, 4.0
    for _ in range(100):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if loss(left) <= loss(right) else (left, high)
    return round(2 / (low + high), 4)
