"""Which weights become the model: of one update, the mean of several, or the moving average of all.

While training goes on, it is the best of those that were validated. At its end the averages are validated, too, and what is
best of all becomes the model: where weights still move fast, a mean is worse than any of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.checkpoint import unique_weights
from regard.config import Training
from regard.training.distributed import local_part


class Quality(NamedTuple):
    """How good weights are on the validation data."""

    value: float
    """The metric; higher is better."""
    loss: float | None = None
    """Decides between equals; None where it was not kept."""

    def rank(self) -> tuple[float, float]:
        """The best has the smallest; what is no number is worst."""
        return -self.value if not math.isnan(self.value) else math.inf, math.inf if self.loss is None else self.loss


Snapshot = tuple[int, Quality]
"""An update, and how good the weights were after it."""


@dataclass(frozen=True)
class Choice:
    """Of the weights that may become the model, some, and how good they are on the validation data."""

    weights: str
    """`mean`, `ema`, `best` or `last`."""
    updates: tuple[int, ...]
    """Whose they are."""
    value: float
    """The metric; higher is better."""
    loss: float | None = field(default=None, compare=False)

    @property
    def quality(self) -> Quality:
        return Quality(self.value, self.loss)

    def __str__(self) -> str:
        several = ", ".join(f"{update:,}" for update in self.updates)
        named = {"mean": f"the mean of updates {several}", "ema": "the moving average (EMA)"}
        return named.get(self.weights, f"the {self.weights} (update {several})")


class MovingAverage:
    """The exponential moving average of the weights: each update draws it a little towards them.

    It takes no part in training. At first it forgets faster, so that it does not remember how the weights began.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        """Once the model is where it is trained: of a sharded one, each process averages its part."""
        self.decay = decay
        self.weights = {name: tensor.detach().clone() for name, tensor in unique_weights(model).items()}

    def update(self, model: nn.Module, number: int) -> None:
        """After update `number`, counted from 1."""
        decay = min(self.decay, (1 + number) / (10 + number))
        new = [local_part(tensor.detach()) for tensor in unique_weights(model).values()]
        torch._foreach_lerp_([local_part(each) for each in self.weights.values()], new, 1 - decay)


def averaged(snapshots: list[Snapshot], settings: Training) -> list[Snapshot]:
    """The snapshots whose mean may be the model: the last k, or the k best."""
    if settings.average_of == "best":
        return sorted(sorted(snapshots, key=_rank)[: settings.average])
    return snapshots[-settings.average :]


def needed(snapshots: list[Snapshot], settings: Training) -> list[Snapshot]:
    """Those that are kept on disk: for the mean, and the best or the last."""
    return sorted({*averaged(snapshots, settings), single(snapshots, settings)})


def _rank(snapshot: Snapshot) -> tuple[float, float, int]:
    """The best first; of equals, the earlier."""
    update, quality = snapshot
    return *quality.rank(), update


def single(snapshots: list[Snapshot], settings: Training) -> Snapshot:
    """Of single updates, what may become the model."""
    if settings.keep == "last":
        return snapshots[-1]
    of_one = settings.keep == "mean" and settings.average == 1
    return averaged(snapshots, settings)[0] if of_one else min(snapshots, key=_rank)


def best_so_far(snapshots: list[Snapshot], settings: Training, end: int | None = None) -> Choice:
    """What needs no further validation. After update `end`, the end of training, nothing comes after the last."""
    update, quality = single(snapshots, settings)
    return Choice("last" if settings.keep == "last" or update == end else "best", (update,), *quality)


def candidates(
    snapshots: list[Snapshot],
    settings: Training,
    end: int,
    read_mean: Callable[[tuple[int, ...]], Mapping[str, Tensor]],
    ema: Mapping[str, Tensor],
    judge: Callable[[Mapping[str, Tensor]], Quality],
) -> list[Choice]:
    """At the end, after update `end`, all that may become the model, the best first. Averages are judged, one in memory at a
    time."""
    found: list[Choice] = []
    mean = tuple(update for update, _ in averaged(snapshots, settings))
    if settings.keep in ("auto", "mean") and len(mean) > 1:
        found.append(Choice("mean", mean, *judge(read_mean(mean))))
    if settings.keep in ("auto", "ema") and ema:
        found.append(Choice("ema", (end,), *judge(ema)))
    if not found or settings.keep == "auto":
        found.append(best_so_far(snapshots, settings, end))
    return sorted(found, key=lambda each: each.quality.rank())  # of equals, averages: they depend less on chance
