"""What a model file tells of its origin, read as a stranger's word: what is of another kind than it should be was not said."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any


def told_count(provenance: Mapping[str, Any], name: str, otherwise: int = 0) -> int:
    """How many updates, examples or tokens."""
    count = provenance.get(name)
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 < count < 2**63 else otherwise


def told_range(provenance: Mapping[str, Any], name: str, otherwise: tuple[float, float]) -> tuple[float, float]:
    """What is usual: from, and up to."""
    match provenance.get(name):
        case [int() | float() as least, int() | float() as most] if 0 <= least < most < math.inf:
            return float(least), float(most)
    return otherwise


def told_scores(provenance: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Of each test set the first score: `BLEU on news`, and its value."""
    scores = provenance.get("scores")
    for name, found in scores.items() if isinstance(scores, dict) else ():
        match found:
            case [{"name": str(metric), "value": int() | float() as value}, *_] if abs(value) < math.inf:
                yield f"{metric} on {name}", value
