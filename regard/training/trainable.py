"""The contract between a task and the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from torch import Tensor

from regard.training.loss import Loss


class MicroBatch(NamedTuple):
    """As much of an update as is in memory at once."""

    batch: Any
    tokens: int
    """What its loss is a sum over, in the task's unit."""


class Finished(NamedTuple):
    """What a task makes of a model's weights before they are written."""

    assets: Any
    """What the model file carries besides, of the task's own class."""
    weights: Mapping[str, Tensor] = {}
    """In place of those of the same name that training left."""
    provenance: Mapping[str, Any] = {}
    """What to remember of the data besides."""


class Trainable(Protocol):
    """What the loop needs to know: where batches come from, what is minimised, what is good."""

    @property
    def unit(self) -> str:
        """What a loss is a sum over: tokens, texts."""
        ...

    def take(self, position: tuple[int, int], count: int) -> tuple[list[MicroBatch], tuple[int, int]]:
        """The next `count` micro-batches after a position in the data, and the position after them: the epoch, and how many
        micro-batches of it were taken. Checkpoints keep it, and one that cannot be is taken for damage."""
        ...

    def loss(self, model: Any, batch: Any) -> Loss:
        """Sums over the tokens of a batch."""
        ...

    def validate(self, model: Any) -> dict[str, float]:
        """Metrics on data that is not trained on; called in the first process only."""
        ...

    def frame_due(self, update: int, validating: bool) -> bool:
        """Whether the movie of how attention forms gets a frame after this update; update 0 is before training."""
        ...

    def frame(self, model: Any) -> list[dict[str, Any]]:
        """What the model attends to now, as JSON; nothing if there is nothing to see. First process only."""
        ...

    def finish(self, averaged: Callable[[], Any]) -> Finished:
        """For the model file; `averaged()` is the model that will be in it. First process only."""
        ...


class WithoutMovie:
    """What tasks share that keep no movie."""

    def frame_due(self, update: int, validating: bool) -> bool:
        return False

    def frame(self, model: Any) -> list[dict[str, Any]]:
        return []
