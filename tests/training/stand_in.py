"""A model of a few numbers and a task that nobody translates with: enough for the loop, and quick."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from torch import Tensor, nn

from regard.config import Training
from regard.training.distributed import ALONE
from regard.training.log import TrainingLog
from regard.training.loop import Loop, Outcome
from regard.training.loss import Loss
from regard.training.run_folder import RunFolder
from regard.training.trainable import MicroBatch, WithoutMovie

SETTINGS = Training(
    updates=12, learning_rate=0.01, warmup=3, weight_decay=0.1, clip=1.0, validate_every=4, checkpoint_every=3,
    metric="loss", average=2, ema=0.9,
)  # fmt: skip


class Small(nn.Module):
    """Two layers with dropout between, so that the random numbers of an update matter."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 6), nn.Linear(6, 1)])
        self.drop = nn.Dropout(0.3)

    def forward(self, x: Tensor) -> Tensor:
        hidden: Tensor = self.drop(self.layers[0](x).tanh())
        predicted: Tensor = self.layers[1](hidden)
        return predicted


class Regression(WithoutMovie):
    """Made-up numbers with a sum to learn. BLEU, if a list of scores is given, is read from it: one for each validation,
    and 0 for what is validated after them, such as averages."""

    rows = 8
    unit = "tokens"

    def __init__(self, bleu: Sequence[float] = (), poisoned: int | None = None) -> None:
        self.bleu, self.poisoned = iter(bleu) if bleu else None, poisoned
        self.taken: list[int] = []

    def take(self, position: tuple[int, int], count: int) -> tuple[list[MicroBatch], tuple[int, int]]:
        epoch, index = position
        numbers = list(range(index, index + count))
        self.taken += numbers
        return [MicroBatch(number, self.rows) for number in numbers], (epoch, index + count)

    def loss(self, model: nn.Module, batch: Any) -> Loss:
        x = torch.randn(self.rows, 4, generator=torch.Generator().manual_seed(batch))
        total = (model(x) - x.sum(1, keepdim=True)).square().sum()
        if batch == self.poisoned:
            total = total * float("nan")
        return Loss(total, total.detach())

    def validate(self, model: nn.Module) -> dict[str, float]:
        metrics = {"loss": self.loss(model, 1_000).plain.item() / self.rows}
        return metrics if self.bleu is None else {**metrics, "bleu": next(self.bleu, 0.0)}


def small() -> Small:
    torch.manual_seed(0)
    return Small()


def loop(folder: Path, task: Regression | None = None, **changes: Any) -> Loop:
    """A loop on new objects, going on from the folder if there is something."""
    settings = replace(SETTINGS, **changes)
    return Loop(small(), task or Regression(), settings, ALONE, RunFolder(folder, settings, ALONE))


def run(folder: Path, task: Regression | None = None, **changes: Any) -> tuple[Loop, Outcome]:
    """Train to the end → the loop and how it ended."""
    training = loop(folder, task, **changes)
    with TrainingLog(folder, training.settings, training.progress, console=Console(file=io.StringIO())) as log:
        return training, training.run(log)


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.named_parameters()}


def equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    """Equal to the bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
