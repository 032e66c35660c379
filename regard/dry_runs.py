"""`regard train --dry-run`: every mistake before an hour is spent. Builds the model, counts, and takes two steps.

The steps run on synthetic ids of the shape that the recipe asks for, so neither data nor tokenizer is needed. What is there of
the data is read, to the end or as far as seconds reach.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch

from regard import config
from regard.config import recipes
from regard.errors import DataError
from regard.tasks.registry import count_parameters, find_task
from regard.tasks.starting import freeze, read_start
from regard.training.distributed import ALONE
from regard.training.log import require_tensorboard
from regard.training.memory import GIGA, kept_for_backward, needed_memory, require_memory, whole_memory
from regard.training.update import Objective, build_optimizer, take_update
from regard.training.workers import count_workers, worker_memory

DRY_RUN_TOKENS = 2_048  # at most, so that a large recipe is tried in seconds on a laptop


@dataclass(frozen=True)
class DryRun:
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
    memory: int
    """Bytes that training would take on this machine, as far as two steps tell …"""
    machine_memory: int
    """… and that it has; 0 where the system does not tell."""
    updates: int
    batch_tokens: int
    mistakes: tuple[str, ...]
    """What is wrong with the recipe's files."""
    ema: bool = False
    """Whether a moving average of the weights is kept."""
    doubts: tuple[str, ...] = ()
    """What may be meant, but hardly is."""

    @property
    def minutes(self) -> float:
        """That the training would take on this machine."""
        return self.updates * self.batch_tokens * self.seconds[-1] / self.tokens / 60

    def lines(self) -> list[str]:
        """For people."""
        weights, file = needed_memory(self.parameters, self.ema) / GIGA, self.parameters * 4 / GIGA
        steps = [
            f"step {number}: {self.tokens:,} tokens, loss {loss:.3f}, {self.tokens / seconds:,.0f} tokens/s"
            for number, (loss, seconds) in enumerate(zip(self.losses, self.seconds, strict=True), start=1)
        ]
        minutes = max(1, round(self.minutes))
        long = f"{self.minutes / 60:,.1f} hours" if minutes >= 90 else f"{minutes} minute{'s' * (minutes > 1)}"
        more = f"{self.part / self.tokens:.1f} times as many; memory for them grows alike"
        return [
            f"model: {self.model}",
            f"memory for weights, gradients and Adam{' and EMA' * self.ema}: {weights:.2f} GB; a model file: {file:.2f} GB",
            *steps,
            *([f"peak memory of this dry run: {self.peak_memory / GIGA:.2f} GB"] if self.peak_memory else []),
            *([f"training takes parts of {self.part:,} tokens, {more}"] if self.tokens < self.part else []),
            f"{self.updates:,} updates of {self.batch_tokens:,} tokens would take about {long} on this CPU",
            *self.doubts,
            *(
                []
                if self.mistakes
                else ["nothing was written" if self.doubts else "the recipe is sound; nothing was written"]
            ),
        ]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "minutes": self.minutes}


def dry_run(
    recipe: config.Recipe | str | Path | Mapping[str, Any],
    *,
    overrides: Mapping[str, Any] | Iterable[str] = (),
    data: str | Path | None = None,
) -> DryRun:
    """Find what training a recipe would need and what is wrong with it: builds the model and takes two steps.

    Recipe, `overrides` and `data` are what `regard.train` takes.
    """
    settings = recipes.read(recipe, overrides, data)
    require_tensorboard(settings.training)
    training, row = settings.training, find_task(settings.task)
    torch.manual_seed(training.seed)
    sizes = row.dry_run.sizes(settings)
    parameters = count_parameters(settings.model, *sizes)
    ema = bool(training.ema)
    require_memory(parameters, ema=ema)
    model = row.build(settings.model, sizes)
    if (start := read_start(settings)) is not None:  # what is wrong with it is said now
        start.names(model, row)
    freeze(model, training.freeze)
    part = training.batch_tokens // training.accumulate
    tokens = min(part, DRY_RUN_TOKENS)
    optimizer = build_optimizer(model, training)
    objective = Objective(model, partial(row.dry_run.loss, settings))
    losses, seconds = [], []
    for number in (1, 2):
        batch = row.dry_run.batch(settings, tokens)
        began = time.perf_counter()
        with kept_for_backward(model) as kept:
            done = take_update(objective, optimizer, [batch], training, number, ALONE)
        losses.append(done.loss / done.tokens)
        seconds.append(time.perf_counter() - began)
    workers = count_workers(model, training, ALONE) - 1
    activations = sum(kept.values()) * part // tokens  # grow with a step's tokens
    memory = needed_memory(parameters, ema) + activations + workers * worker_memory(model)
    built = f"{parameters:,} parameters with {row.dry_run.told(sizes)}"
    mistakes, told = survey_files(settings)
    return DryRun(
        f"{recipes.shape_name(settings)}, {built}", parameters, tokens, tuple(losses), tuple(seconds),
        part, peak_memory(), memory, whole_memory(), training.updates, training.batch_tokens,
        tuple(mistakes), ema, (*doubts(settings, memory, part), *told),
    )  # fmt: skip


def doubts(recipe: config.Recipe, memory: int, part: int) -> Iterator[str]:
    """What can be trained, but will hardly end or tell as it is meant to."""
    training, whole = recipe.training, whole_memory()
    if whole and memory > whole:
        yield (
            f"parts of {part:,} tokens would take about {memory / GIGA:,.1f} GB of memory, but this machine has"
            f" {whole / GIGA:,.1f} GB; unless the corpus is smaller, raise training.accumulate or lower training.batch_tokens"
        )
    if training.warmup >= training.updates and training.schedule != "constant":
        yield (
            f"training.warmup = {training.warmup:,} is not below training.updates = {training.updates:,}: the learning rate"
            " would never reach its peak"
        )
    if not recipe.data.split_by_column and set(recipe.data.train) & set(recipe.data.valid):
        yield "data.valid names a file of data.train: its score says nothing of new text"


def mistakes_in_files(recipe: config.Recipe) -> list[str]:
    """What `train` or `evaluate` would stop at, without downloading anything."""
    return survey_files(recipe)[0]


def survey_files(recipe: config.Recipe) -> tuple[list[str], list[str]]:
    """What `train` or `evaluate` would stop at, and what of the text is hardly meant, without downloading anything."""
    data, row = recipe.data, find_task(recipe.task)
    tests = [(f"test.{name}", name, files) for name, files in data.tests.items()]
    valid = [("valid", "valid", data.valid)] if data.valid else []
    mistakes: list[str] = []
    told: list[str] = []
    for setting, split, files in [("train", "train", data.train or data.inputs), *valid, *tests]:
        there = [file for file in files if file not in data.download or (Path(data.folder) / file).is_file()]
        found = []
        for file in there:
            try:
                row.data.find(file, data)
            except DataError as error:
                found.append(f"data.{setting}: {error}")
        if not found and len(there) == len(files):
            try:
                examples = row.read(data, split)
                if (first := next(examples, None)) is None:
                    found.append(f"data.{setting} holds no text")
                else:
                    survey = row.dry_run.survey(recipe, split, chain([first], examples))
                    told += [f"data.{setting}: {doubt}" for doubt in survey]
            except DataError as error:
                found.append(f"data.{setting}: {error}")
        mistakes += found
    if not mistakes:
        told += row.dry_run.compare(recipe)
    return mistakes, told


def peak_memory() -> int:
    """The most bytes that this process ever held; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
