"""`regard train --dry-run`: every mistake before an hour is spent. Builds the model, counts, and takes two steps.

The steps run on synthetic ids of the shape that the recipe asks for, so neither data nor tokenizer is needed.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import torch
from rich.console import Console

from regard import config
from regard.data.corpus import locate
from regard.errors import DataError
from regard.tasks.registry import find_task
from regard.training.distributed import ALONE
from regard.training.log import require_tensorboard
from regard.training.optimizer import build_optimizer
from regard.training.update import Objective, take_update

REHEARSED_TOKENS = 2_048  # at most, so that a large recipe is tried in seconds on a laptop
GIGA = 2**30


def rehearse(recipe: config.Recipe, console: Console) -> None:
    """Report what training this recipe would need; what is wrong with its files is said last, as an error."""

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    require_tensorboard(recipe.training)
    training, row = recipe.training, find_task(recipe.task)
    torch.manual_seed(training.seed)
    sizes = row.rehearsal.sizes(recipe)
    model = row.build(recipe.model, sizes)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    shape = f"{recipe.model.architecture} {recipe.model.size}"
    say(f"model: {shape}, {parameters:,} parameters with {row.rehearsal.told(sizes)}")
    say(
        f"memory for weights, gradients and Adam: {parameters * 16 / GIGA:.2f} GB; a model file: {parameters * 4 / GIGA:.2f} GB"
    )
    part = training.batch_tokens // training.accumulate
    tokens = min(part, REHEARSED_TOKENS)
    optimizer = build_optimizer(model, training)
    objective = Objective(model, partial(row.rehearsal.loss, recipe))
    for number in (1, 2):
        batch = row.rehearsal.batch(recipe, tokens)
        began = time.perf_counter()
        done = take_update(objective, optimizer, [batch], training, number, ALONE)
        seconds = time.perf_counter() - began
        say(f"step {number}: {tokens:,} tokens, loss {done.loss / done.tokens:.3f}, {tokens / seconds:,.0f} tokens/s")
    if peak := peak_memory():
        say(f"peak memory of this rehearsal: {peak / GIGA:.2f} GB")
    if tokens < part:
        say(f"training takes parts of {part:,} tokens, {part / tokens:.1f} times as many; memory for them grows alike")
    minutes = training.updates * training.batch_tokens * seconds / tokens / 60
    long = f"{minutes / 60:,.1f} hours" if minutes >= 90 else f"{max(1, round(minutes))} minutes"
    say(f"{training.updates:,} updates of {training.batch_tokens:,} tokens would take about {long} on this CPU")
    if mistakes := mistakes_in_files(recipe):
        raise DataError("\n".join(mistakes))
    say("the recipe is sound; nothing was written")


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
