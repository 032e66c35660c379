"""Scores of labels: against their definitions, and on cases that can be counted by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from regard.errors import UsageError
from regard.evaluation.labels import calibration_error, fit_mixture_weight, fit_temperature, score_labels, wilson


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(shares / shares.sum(1, keepdims=True))


def drawn(count: int, classes: int, sharpness: float, seed: int = 1) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Logits of a model that is `sharpness` times as sure as it should be, and labels drawn from what it should say."""
    chance = np.random.default_rng(seed)
    logits = 2 * chance.normal(size=(count, classes))
    labels = np.array([chance.choice(classes, p=row) for row in softmax(logits)])
    return sharpness * logits, labels


def test_scores_counted_by_hand() -> None:
    probabilities = np.eye(3)[[0, 0, 1, 1, 0]]
    scores = score_labels(probabilities, np.array([0, 0, 1, 0, 1]))
    assert scores.texts == 5
    assert scores.accuracy == pytest.approx(60)
    assert scores.confusion.tolist() == [[2, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert scores.macro_f1 == pytest.approx(100 * (2 / 3 + 1 / 2) / 2)  # the third label is nobody's
    first, second, third = scores.by_label()
    assert (first.precision, first.recall, first.texts) == pytest.approx((200 / 3, 200 / 3, 3))
    assert (second.precision, second.recall, second.f1, second.texts) == pytest.approx((50, 50, 50, 2))
    assert all(map(math.isnan, (third.precision, third.recall, third.f1)))
    assert scores.most_confused(9) == [(0, 1, 1), (1, 0, 1)]
    assert scores.most_confused(1) == [(0, 1, 1)]


def test_by_label_agrees_with_the_whole() -> None:
    logits, labels = drawn(500, 5, 1.0)
    scores = score_labels(softmax(logits), labels)
    rows = scores.by_label()
    assert sum(row.texts for row in rows) == 500
    assert np.mean([row.f1 for row in rows]) == pytest.approx(scores.macro_f1)
    assert sum(row.recall * row.texts for row in rows) / 500 == pytest.approx(scores.accuracy)
    assert all(row.f1 == pytest.approx(2 / (1 / row.precision + 1 / row.recall)) for row in rows)
    low, high = scores.interval
    assert low < scores.accuracy < high


def test_nothing_has_no_score() -> None:
    with pytest.raises(UsageError, match="no text"):
        score_labels(np.empty((0, 2)), np.empty(0, dtype=np.int64))


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    chance = np.random.default_rng(1)
    for share in (0.5, 0.9, 0.98):
        seen = chance.binomial(200, share, size=2_000)
        covered = np.mean([low <= share <= high for low, high in (wilson(int(right), 200) for right in seen)])
        assert 0.92 < covered < 0.98
    assert wilson(10, 10)[1] == pytest.approx(1.0)
    assert wilson(0, 10)[0] == pytest.approx(0.0, abs=1e-12)
    assert wilson(900, 1_000)[0] > wilson(9, 10)[0]


def test_calibration_error() -> None:
    labels = np.zeros(100, dtype=np.int64)
    labels[80:] = 1
    assert calibration_error(np.tile([0.8, 0.2], (100, 1)), labels) == pytest.approx(0)
    assert calibration_error(np.tile([0.95, 0.05], (100, 1)), labels) == pytest.approx(0.15)
    logits, drawn_labels = drawn(20_000, 3, 1.0)
    assert calibration_error(softmax(logits), drawn_labels) < 0.01
    assert calibration_error(softmax(3 * logits), drawn_labels) > 0.05


@pytest.mark.parametrize("sharpness", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("classes", [2, 7])
def test_the_temperature_undoes_what_was_too_sure(sharpness: float, classes: int) -> None:
    logits, labels = drawn(4_000, classes, sharpness)
    temperature = fit_temperature(logits, labels)
    assert temperature == pytest.approx(sharpness, rel=0.1)
    before, after = (calibration_error(softmax(each), labels) for each in (logits, logits / temperature))
    assert after < 0.03
    assert after <= before + 0.002
    assert fit_temperature(logits + 100, labels) == pytest.approx(temperature, rel=1e-3)


def test_few_texts_all_right_make_nobody_certain() -> None:
    labels = np.array([0, 1] * 10)
    logits = np.where(np.eye(2)[labels] > 0, 5.0, -5.0)
    shares = softmax(logits / fit_temperature(logits, labels))
    assert shares.max() == pytest.approx(21 / 22, abs=1e-3)  # as if one text more of each label had been seen


def mixture(first: NDArray[np.float64], second: NDArray[np.float64]) -> Callable[[float], NDArray[np.float64]]:
    return lambda share: share * first + (1 - share) * second


def test_who_knows_more_has_the_greater_share() -> None:
    random = np.random.default_rng(1)
    labels = random.integers(2, size=400)
    truth = np.stack([1 - labels, labels], 1) * 2.0 - 1
    good, poor = (truth + noise * random.normal(size=truth.shape) for noise in (1, 3))
    share = fit_mixture_weight(mixture(good, poor), labels)
    assert 0.6 < share < 1
    assert fit_mixture_weight(mixture(poor, good), labels) == pytest.approx(1 - share)
    assert fit_mixture_weight(mixture(good, 9 * poor), labels) >= share  # whoever shouts is heard less
    mixed = share * good + (1 - share) * poor
    assert (mixed.argmax(1) == labels).mean() >= (poor.argmax(1) == labels).mean()
