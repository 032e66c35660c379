"""What every peer's script shares: the job it is given, the count of its updates, and the result it hands back.

Runs in each peer's own environment, so it needs nothing but Python.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

DROPOUT = 0.1
SMOOTHING = 0.1
RATE = 5e-4
"""A steady learning rate: the loss should fall within a few updates, and nothing else depends on it."""
BETAS = (0.9, 0.98)


@dataclass(frozen=True)
class Job:
    """What to train, on what, for how long."""

    width: int
    feed_forward: int
    heads: int
    layers: int
    vocabulary: int
    batch_tokens: int
    threads: int
    warmup: int
    """Updates that are not measured: the first ones allocate."""
    updates: int
    """Updates that are."""
    data: str
    """Folder with ids.npz, train.source, train.target and vocabulary.txt."""
    work: str
    """An empty folder for whatever the peer writes."""

    @property
    def total(self) -> int:
        return self.warmup + self.updates


def given_job() -> Job:
    """The job in the file that the command line names."""
    return Job(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))


class Meter:
    """Counts what is trained after the warm-up, by the clock on the wall."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.losses: list[float] = []
        self.tokens = 0
        self.began = time.perf_counter()
        self.seconds = self.memory = 0.0

    def update(self, tokens: int, loss: float) -> bool:
        """Note an update that ends now, its real target tokens and its loss per token → whether it was the last one."""
        now = time.perf_counter()
        self.losses.append(loss)
        done = len(self.losses)
        if done == self.job.warmup:
            self.began = now
        elif self.job.warmup < done <= self.job.total:
            self.tokens += tokens
            self.seconds = now - self.began
            self.memory = peak_memory()  # what comes after training is not counted
        return done >= self.job.total

    def report(self, parameters: int, *packages: str) -> None:
        """Write the result where the benchmark looks for it."""
        hand_back(self.job, self.tokens, self.seconds, self.losses, parameters, self.memory, packages)


def hand_back(
    job: Job,
    tokens: int,
    seconds: float,
    losses: list[float],
    parameters: int,
    memory: float,
    packages: tuple[str, ...],
) -> None:
    """Write the result where the benchmark looks for it."""
    result = {
        "tokens_per_second": tokens / seconds,
        "tokens_per_update": tokens / job.updates,
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "parameters": parameters,
        "memory": memory,
        "versions": {name: version(name) for name in packages},
    }
    (Path(job.work) / "result.json").write_text(json.dumps(result), encoding="utf-8")


def peak_memory(process: int | str = "self") -> float:
    """The most that a process ever held, resident, in MB; the kernel counts it (Linux only)."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
