"""`regard train --dry-run`: every mistake before an hour is spent. Builds the model, counts, and takes two steps.

The steps run on synthetic ids of the shape that the recipe asks for, so neither data nor tokenizer is needed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from regard import config
from regard.config import recipes
from regard.data.corpus import locate
from regard.errors import DataError
from regard.tasks.registry import find_task
from regard.training.distributed import ALONE
from regard.training.log import require_tensorboard
from regard.training.optimizer import build_optimizer
from regard.training.update import Objective, take_update

REHEARSED_TOKENS = 2_048  # at most, so that a large recipe is tried in seconds on a laptop
GIGA = 2**30


@dataclass(frozen=True)
class Rehearsed:
    """What training a recipe would need, tried on a few made-up tokens."""

    model: str
    """Architecture, size, and what it is built with, in words."""
    parameters: int
    tokens: int
    """Of each step that was taken."""
    losses: tuple[float, ...]
    seconds: tuple[float, ...]
    """Of each step."""
    part: int
    """Tokens that training computes at a time."""
    peak_memory: int
    """Bytes that this process held at most; 0 where the system does not tell."""
    updates: int
    batch_tokens: int
    mistakes: tuple[str, ...]
    """What is wrong with the recipe's files."""

    @property
    def minutes(self) -> float:
        """That the training would take on this machine."""
        return self.updates * self.batch_tokens * self.seconds[-1] / self.tokens / 60

    def lines(self) -> list[str]:
        """For people."""
        weights, file = self.parameters * 16 / GIGA, self.parameters * 4 / GIGA
        steps = [
            f"step {number}: {self.tokens:,} tokens, loss {loss:.3f}, {self.tokens / seconds:,.0f} tokens/s"
            for number, (loss, seconds) in enumerate(zip(self.losses, self.seconds, strict=True), start=1)
        ]
        long = f"{self.minutes / 60:,.1f} hours" if self.minutes >= 90 else f"{max(1, round(self.minutes))} minutes"
        more = f"{self.part / self.tokens:.1f} times as many; memory for them grows alike"
        return [
            f"model: {self.model}",
            f"memory for weights, gradients and Adam: {weights:.2f} GB; a model file: {file:.2f} GB",
            *steps,
            *([f"peak memory of this rehearsal: {self.peak_memory / GIGA:.2f} GB"] if self.peak_memory else []),
            *([f"training takes parts of {self.part:,} tokens, {more}"] if self.tokens < self.part else []),
            f"{self.updates:,} updates of {self.batch_tokens:,} tokens would take about {long} on this CPU",
            *([] if self.mistakes else ["the recipe is sound; nothing was written"]),
        ]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "minutes": self.minutes}


def rehearse(
    recipe: str | Path | config.Recipe, *, overrides: Sequence[str] = (), data: str | Path | None = None
) -> Rehearsed:
    """Find what training a recipe would need and what is wrong with it: builds the model and takes two steps.

    The recipe is a file with `overrides` such as `model.heads=4` and its files in the folder `data`, or an object.
    """
    settings = recipes.given(recipe, overrides, data)
    require_tensorboard(settings.training)
    training, row = settings.training, find_task(settings.task)
    torch.manual_seed(training.seed)
    sizes = row.rehearsal.sizes(settings)
    model = row.build(settings.model, sizes)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    part = training.batch_tokens // training.accumulate
    tokens = min(part, REHEARSED_TOKENS)
    optimizer = build_optimizer(model, training)
    objective = Objective(model, partial(row.rehearsal.loss, settings))
    losses, seconds = [], []
    for number in (1, 2):
        batch = row.rehearsal.batch(settings, tokens)
        began = time.perf_counter()
        done = take_update(objective, optimizer, [batch], training, number, ALONE)
        losses.append(done.loss / done.tokens)
        seconds.append(time.perf_counter() - began)
    built = f"{parameters:,} parameters with {row.rehearsal.told(sizes)}"
    return Rehearsed(
        f"{recipes.shape_name(settings)}, {built}", parameters, tokens, tuple(losses), tuple(seconds),
        part, peak_memory(), training.updates, training.batch_tokens, tuple(mistakes_in_files(settings)),
    )  # fmt: skip


def mistakes_in_files(recipe: config.Recipe) -> list[str]:
    """What `train` or `evaluate` would stop at before its first text, without downloading anything."""
    data = recipe.data
    tests = [(f"test.{name}", name, files) for name, files in data.test.items()]
    lines = []
    valid = [("valid", "valid", data.valid)] if data.valid else []
    for setting, split, files in [("train", "train", data.train), *valid, *tests]:
        there = [file for file in files if file not in data.download or (Path(data.folder) / file).is_file()]
        found = []
        for file in there:
            try:
                locate(file, data)
            except DataError as error:
                found.append(f"data.{setting}: {error}")
        if not found and len(there) == len(files):
            try:
                next(find_task(recipe.task).read(data, split))
            except DataError as error:
                found.append(f"data.{setting}: {error}")
        lines += found
    return lines


def peak_memory() -> int:
    """The most bytes that this process ever held; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
