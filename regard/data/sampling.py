"""Some of many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def evenly(items: Sequence[T], count: int) -> list[T]:
    """At most `count` of them, spread evenly: many corpora are sorted, by length or by topic."""
    count = min(count, len(items))
    return [items[number * len(items) // count] for number in range(count)]
