"""What the scripts of all engines share: a job comes in on standard input, what was measured goes out on standard output.

Needs the standard library only, for it runs in every peer's environment.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version

Batch = list[list[int]]  # ids of sentences, without start and end
Run = Callable[[list[Batch]], Iterable[Batch]]
"""Batches of sources in, a batch of translations out for each, in the same order."""


@dataclass(frozen=True)
class Job:
    """What an engine is asked to do."""

    engine: str
    """Its name; may tell of int8 and of a shortlist."""
    model: str
    """Run folder or file, for regard itself."""
    converted: str
    """Folder that holds the same model for the peers."""
    batches: list[Batch]
    beam: int
    alpha: float
    """Strength of the length penalty."""
    max_ratio: float
    max_extra: int
    workers: int
    """Batches at a time inside this process."""
    threads: int
    """Of each of them."""

    def limit(self, batch: Batch) -> int:
        """The longest output of a batch, its end included."""
        return int(self.max_ratio * max(map(len, batch))) + self.max_extra


def work(build: Callable[[Job], Run], *packages: str) -> None:
    """Load, warm up, say so, wait for the word, translate; tell when each batch was done.

    The times are of the machine's own clock, so that those of several processes compare.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is no answer
    job = Job(**json.loads(sys.stdin.readline()))
    run = build(job)
    list(run(job.batches[: job.workers]))
    print(json.dumps({"versions": {name: version(name) for name in packages}}), file=answers, flush=True)
    sys.stdin.readline()
    times, outputs = [time.monotonic()], []
    for translations in run(job.batches):
        times.append(time.monotonic())
        outputs.append(translations)
    print(json.dumps({"times": times, "outputs": outputs, "memory": peak_memory()}), file=answers, flush=True)


def peak_memory() -> float:
    """Resident, in MB. The kernel's count for waiting parents would include what the parent had when it forked."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def until(end: int, ids: list[int]) -> list[int]:
    """The ids before the end."""
    return ids[: ids.index(end)] if end in ids else ids
