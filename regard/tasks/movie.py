"""A few validation texts that are looked at again and again during training: what every task shares that films."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from regard.data.sampling import evenly

T = TypeVar("T")
LENGTHS = range(5, 15)
"""Tokens of a text worth filming: shorter has nothing to look at, longer is hard to see."""


def choose(texts: Sequence[T], length: Callable[[T], int], count: int) -> list[T]:
    """Some of the texts, spread evenly, of a length that is good to see where there are such."""
    if not count:
        return []
    good = [each for each in texts if length(each) in LENGTHS]
    return evenly(good if len(good) >= count else texts, count)


class Filmed:
    """A task whose training can be filmed."""

    recipe: Any

    def frame_due(self, update: int, validating: bool) -> bool:
        training = self.recipe.training
        return bool(training.probes) and (
            validating or not update or bool(training.probe_every and update % training.probe_every == 0)
        )
