"""The memory that training takes: that of a process of its own, which takes a recipe's first updates."""

from __future__ import annotations

import multiprocessing
import re
import signal
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from regard import config

UPDATES = 10


def training_memory(recipe: config.Recipe) -> int:
    """The most bytes that a fresh process held while it took the first updates, Python and torch included; 0: unknown."""
    fresh = multiprocessing.get_context("spawn")  # a fork would begin with all that this process holds
    with ProcessPoolExecutor(1, fresh, signal.signal, (signal.SIGINT, signal.SIG_IGN)) as pool:
        return pool.submit(first_updates, recipe).result()


def first_updates(recipe: config.Recipe) -> int:
    """Train a little, on the recipe's own text but without a run folder → the peak of memory so far."""
    from regard.allocator import keep_memory
    from regard.runs import initial_model
    from regard.tasks.registry import find_task, prepare
    from regard.training.distributed import ALONE
    from regard.training.update import Objective, build_optimizer, take_update

    keep_memory()
    settings = recipe.training
    prepared = prepare(recipe, show=False)
    row = find_task(recipe.task)
    model, _ = initial_model(recipe, row, prepared)
    task = row.training(recipe, prepared, settings.accumulate, ALONE.device)
    objective, optimizer, position = Objective(model, task.loss), build_optimizer(model, settings), (0, 0)
    for number in range(1, UPDATES + 1):
        micro_batches, position = task.take(position, settings.accumulate)
        take_update(objective, optimizer, micro_batches, settings, number, ALONE)
    return own_peak()


def own_peak() -> int:
    """The most bytes that this process held. On Linux not what getrusage tells: that begins with the parent's memory."""
    from regard.dry_runs import peak_memory

    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:  # not Linux
        return peak_memory()
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return 1024 * int(found[1]) if found else peak_memory()
