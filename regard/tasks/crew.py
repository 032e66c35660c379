"""Decoding on every core: one process of one thread each, which beats one process of many threads.

The processes are forked from the one that loaded the model, so that they share the memory of its weights and start at
once. Where forking is not safe (everywhere but on Linux) the engine works alone.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import torch

from regard import config
from regard.decoding.batches import in_batches
from regard.decoding.engine import Engine
from regard.decoding.options import Hypothesis, Search
from regard.errors import UsageError
from regard.tasks.decode import Native


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class Crew:
    """An engine that shares the batches of another among processes."""

    def __init__(self, engine: Engine, workers: int) -> None:
        self.engine = engine
        self.workers = workers if sys.platform == "linux" else 1
        self._pool: ProcessPoolExecutor | None = None

    def decode(
        self,
        sources: Sequence[Sequence[int]],
        options: Search,
        settings: config.Decoding,
        prefixes: Sequence[Sequence[int]] | None = None,
    ) -> list[list[Hypothesis]]:
        """One sentence, or few, are not worth a process."""
        batches = in_batches([len(source) + 1 for source in sources], settings.batch_tokens, options.width)
        if self.workers == 1 or len(batches) == 1:
            return self.engine.decode(sources, options, settings, prefixes)
        prefixes = [()] * len(sources) if prefixes is None else prefixes
        found: list[list[Hypothesis]] = [[] for _ in sources]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of forking beside a progress bar's thread
                answers = [
                    self._processes().submit(
                        _decode, [sources[index] for index in batch], options, settings, [prefixes[index] for index in batch]
                    )
                    for batch in batches
                ]  # fmt: skip
            for batch, answer in zip(batches, answers, strict=True):
                for index, hypotheses in zip(batch, answer.result(), strict=True):
                    found[index] = hypotheses
        except BaseException as error:
            self.close()  # nobody waits for what is left
            if isinstance(error, BrokenProcessPool):
                raise UsageError(
                    "a process that decodes died, perhaps for want of memory; --workers 1 needs the least"
                ) from None
            raise
        return found

    def close(self) -> None:
        """End the processes at once, in the middle of a batch if need be: Python would wait for them at its own end."""
        if self._pool is not None:
            processes = list(self._pool._processes.values())
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
            for process in processes:
                process.kill()  # a handler of SIGTERM would be inherited

    def _processes(self) -> ProcessPoolExecutor:
        if self._pool is None:
            fork = multiprocessing.get_context("fork")
            self._pool = ProcessPoolExecutor(self.workers, fork, _begin, (self.engine,))
        return self._pool


def native_of(engine: Engine) -> Native | None:
    """The search of our own that decodes, be it shared among processes; None if another program does."""
    inner = engine.engine if isinstance(engine, Crew) else engine
    return inner if isinstance(inner, Native) else None


# In a worker process: the engine it was born with.
_own: list[Engine] = []


def _begin(engine: Engine) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent answers Ctrl-C, once
    torch.set_num_threads(1)
    _own.append(engine)


def _decode(
    sources: Sequence[Sequence[int]], options: Search, settings: config.Decoding, prefixes: Sequence[Sequence[int]]
) -> list[list[Hypothesis]]:
    return _own[0].decode(sources, options, settings, prefixes)
