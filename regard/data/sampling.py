"""Some of many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

GOLDEN = 0.618033988749895  # its multiples are spread evenly between whole numbers

T = TypeVar("T")


class Labelled(Protocol):
    """An example that is called something."""

    @property
    def label(self) -> str: ...


L = TypeVar("L", bound=Labelled)


def evenly(items: Sequence[T], count: int) -> list[T]:
    """At most `count` of them, spread evenly: many corpora are sorted, by length or by topic."""
    count = min(count, len(items))
    return [items[number * len(items) // count] for number in range(count)]


def held_out(examples: Iterable[L], share: float, *, wanted: bool) -> Iterator[L]:
    """Every n-th example of each label, or the rest, whether labels are sorted, mixed or take turns.

    Labels begin at different places, so that of many rare ones some are held out, too; in place of a label's first example
    its second one is, since every label must be learned.
    """
    due: dict[str, float] = {}
    for example in examples:
        first = example.label not in due
        before = due.get(example.label, len(due) * GOLDEN % 1)
        taken = int(before + share) > int(before)
        due[example.label] = before if first and taken else before + share
        if (taken and not first) == wanted:
            yield example
