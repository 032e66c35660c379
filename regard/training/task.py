"""The contract between a task and the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from regard.training.loss import Loss


class Part(NamedTuple):
    """A piece of an update that fits into memory at once."""

    batch: Any
    tokens: int
    """What its loss is a sum over, in the task's unit."""


class Extras(NamedTuple):
    """What a model file holds besides weights, recipe and tokenizer."""

    lexicon: Any = None
    """What translates what: models/shortlist.py."""
    facts: Mapping[str, Any] = {}
    """As JSON."""
    weights: Mapping[str, Any] = {}
    """In place of those of the same name that training left."""


class Task(Protocol):
    """What the loop needs to know: where batches come from, what is minimised, what is good."""

    @property
    def unit(self) -> str:
        """What a loss is a sum over: tokens, texts."""
        ...

    def take(self, position: tuple[int, int], count: int) -> tuple[list[Part], tuple[int, int]]:
        """The next `count` parts after a position in the data, and the position after them."""
        ...

    def loss(self, model: Any, batch: Any) -> Loss:
        """Sums over the tokens of a batch."""
        ...

    def validate(self, model: Any) -> dict[str, float]:
        """Metrics on data that is not trained on; called in the first process only."""
        ...

    def probe(self, model: Any) -> list[dict[str, Any]]:
        """What the model attends to in a few sentences, as JSON; nothing if there is nothing to see. First process only."""
        ...

    def extras(self, averaged: Callable[[], Any]) -> Extras:
        """For the model file; `averaged()` is the model that will be in it. First process only."""
        ...
