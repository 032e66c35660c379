"""How good a translation probably is, between 0 and 1: what its log-probability meant on the validation text.

The mean log-probability of a translation's tokens says which of two is better, but not how good they are. So the
validation text is translated once, and the sentence chrF that translations of each probability had is kept in the model file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

ENOUGH = 40  # sentences to say anything …
IN_A_GROUP = 20  # … of which so many are taken together
MOST_GROUPS = 20
NAME = "confidence"  # in the provenance


def calibrate(log_probabilities: Sequence[float], chrf: Sequence[float]) -> list[list[float]]:
    """Pairs of a mean log-probability and the chrF / 100 to be expected there, both rising; none from too little text.

    chrF is the mean of a group of neighbours. Where it falls though the probability rises, groups are pooled (isotonic
    regression): more probable never means less confident.
    """
    if len(chrf) < ENOUGH:
        return []
    order = np.argsort(log_probabilities, kind="stable")
    groups = np.array_split(order, min(MOST_GROUPS, len(order) // IN_A_GROUP))
    pooled: list[list[NDArray[np.int64]]] = []
    for group in groups:
        pooled.append([group])
        while len(pooled) > 1 and _mean(chrf, pooled[-2]) >= _mean(chrf, pooled[-1]):
            pooled[-2:] = [pooled[-2] + pooled[-1]]
    return [
        [round(_mean(log_probabilities, each), 4), round(_mean(chrf, each) / 100, 4)] for each in pooled
    ]  # fmt: skip


def told_calibration(provenance: Mapping[str, Any]) -> NDArray[np.float64] | None:
    """What a model file says [2, points], if it is what `calibrate` could have found."""
    found = provenance.get(NAME)
    if not (isinstance(found, list) and 0 < len(found) <= MOST_GROUPS):
        return None
    pairs = [each for each in found if isinstance(each, list) and len(each) == 2 and all(map(_is_number, each))]
    points = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    sound = (
        points.shape[1] == len(found)
        and (np.diff(points) >= 0).all()
        and (points[1] >= 0).all()
        and (points[1] <= 1).all()
    )
    return points if sound else None


def confidence(points: NDArray[np.float64] | None, log_probability: float, tokens: int) -> float | None:
    """Of a translation of so many tokens; None where the model file does not say how to tell."""
    if points is None or not tokens:
        return None
    return round(float(np.interp(log_probability / tokens, *points)), 4)


def rank_correlation(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Spearman's, ties sharing their mean rank; None if a side is all the same."""
    ranks = [_ranks(np.asarray(side, dtype=np.float64)) for side in (left, right)]
    if len(left) < 2 or any(np.ptp(each) == 0 for each in ranks):
        return None
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: NDArray[np.float64] = (ends - (counts - 1) / 2)[place]
    return ranks


def _mean(values: Sequence[float], groups: Sequence[NDArray[np.int64]]) -> float:
    return float(np.mean([values[each] for each in np.concatenate(groups)]))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e6 and math.isfinite(value)
