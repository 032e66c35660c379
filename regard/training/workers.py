"""Training on several cores: each has a process of one thread, which computes its rows of every batch.

Threads that share each small operation wait for each other some thousand times an update; where another program holds one of
the cores, that is as often as long as the system lets it. Processes wait once, for each other's gradients. Nor do they share
Python's lock, or a generator of random numbers. The first is the one that trains; the others are forked from it, so they have its
model and its data, and the weights stand in memory that is the same for all. Only Linux forks safely: elsewhere, on a
GPU and under torchrun, threads share each operation.

What is computed depends on how many workers there are, and on nothing else: which rows are whose, whose random numbers,
and in which order gradients are added.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NoReturn

import torch
from torch import Tensor, nn

from regard.config import Training
from regard.errors import ProcessError
from regard.products import is_large
from regard.training.distributed import ALONE, Processes, threads_of_a_process
from regard.training.memory import whole_memory
from regard.training.trainable import MicroBatch
from regard.training.update import add_gradients

LINE = 64  # bytes: where a tensor begins
OWN_MEMORY = 100 << 20  # bytes of a worker besides gradients
SHARE_OF_MEMORY = 0.25  # that workers may take of the machine's
ASKED_TO_STOP = (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))


def count_workers(model: nn.Module, settings: Training, processes: Processes) -> int:
    """As many as there are threads to use, if their gradients have room."""
    forks = sys.platform == "linux" and not torch.cuda.is_available()  # a GPU's threads would not be forked along
    if not forks or processes.count > 1 or settings.compile:
        return 1
    room = int(whole_memory() * SHARE_OF_MEMORY)
    most = 1 + room // worker_memory(model) if room else sys.maxsize
    return min(settings.threads or threads_of_a_process(), most)


def worker_memory(model: nn.Module) -> int:
    """Bytes that each worker but the first takes besides its share of the batch."""
    return OWN_MEMORY + sum(parameter.nbytes for parameter in trained(model))


class Workers:
    """The workers of a training; inside `with`, those besides this process are there."""

    def __init__(self, objective: nn.Module, count: int) -> None:
        self.objective, self.count = objective, count
        self._parameters = trained(objective)
        self._large = is_large(objective)  # so threads help with what only the first does: adding, stepping, validating
        self._threads = 1  # of this process, before
        self._processes: list[int] = []
        self._pipes: list[Connection] = []
        self._gradients: list[list[Tensor]] = []  # of each worker but the first, in memory that both see

    def __enter__(self) -> Workers:
        if self.count > 1:
            for parameter, common in zip(self._parameters, in_common(self._parameters), strict=True):
                parameter.data = common.copy_(parameter.detach())
        self._threads = torch.get_num_threads()
        try:
            for worker in range(1, self.count):
                self._gradients.append(in_common(self._parameters))
                self._fork(worker)
        except OSError as error:
            self.__exit__()
            raise ProcessError(
                f"cannot start worker {worker} of {self.count}: {error.strerror}; training.threads sets how many there are"
            ) from None
        if self._pipes and not self._large:
            torch.set_num_threads(1)
        return self

    def __exit__(self, *_: object) -> None:
        for process, pipe in zip(self._processes, self._pipes, strict=True):
            pipe.close()
            with suppress(ProcessLookupError, ChildProcessError):  # it holds nothing that must be put away
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
        self._processes, self._pipes, self._gradients = [], [], []
        torch.set_num_threads(self._threads)

    def add_gradients(
        self,
        objective: nn.Module,
        micro_batches: Sequence[MicroBatch],
        settings: Training,
        number: int,
        processes: Processes,
    ) -> float:
        """What `update.add_gradients` does, done by all."""
        if not self._pipes:
            return add_gradients(objective, micro_batches, settings, number, processes)
        for worker, pipe in enumerate(self._pipes, start=1):
            self._ask(worker, pipe, (settings, number, rows_of(micro_batches, worker, self.count)))
        torch.set_num_threads(1)
        try:
            loss = add_gradients(objective, rows_of(micro_batches, 0, self.count), settings, number, processes)
        finally:
            torch.set_num_threads(self._threads if self._large else 1)
        return loss + sum(self._add_those_of(worker, pipe) for worker, pipe in enumerate(self._pipes, start=1))

    def _ask(self, worker: int, pipe: Connection, what: Any) -> None:
        try:
            pipe.send(what)
        except OSError:
            raise self._lost(worker) from None

    def _add_those_of(self, worker: int, pipe: Connection) -> float:
        """A worker's gradients to this process's → its loss."""
        try:
            loss, error, found = pipe.recv()
        except (EOFError, OSError):
            raise self._lost(worker) from None
        if error:
            raise ProcessError(f"worker {worker} of {self.count} failed: {error}")
        gradients = self._gradients[worker - 1]
        for index in found:
            parameter = self._parameters[index]
            if parameter.grad is None:
                parameter.grad = gradients[index].clone()
            else:
                parameter.grad += gradients[index]
        return float(loss)

    def _lost(self, worker: int) -> ProcessError:
        return ProcessError(
            f"worker {worker} of {self.count} was killed, perhaps for want of memory: training.threads sets how many there are, "
            "training.accumulate how much each computes at a time. What is saved is whole, and the same command goes on from there"
        )

    def _fork(self, worker: int) -> None:
        here, there = Pipe()
        signal.pthread_sigmask(signal.SIG_BLOCK, ASKED_TO_STOP)  # until it ignores them
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # that other threads are not forked along
                process = os.fork()
            if not process:
                self._begin(worker, there)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ASKED_TO_STOP)
        there.close()
        self._processes.append(process)
        self._pipes.append(here)

    def _begin(self, worker: int, pipe: Connection) -> NoReturn:
        """In a process of its own, until the first one closes the pipe or ends."""
        try:
            for number in ASKED_TO_STOP:  # a terminal tells them to all, and the first decides
                signal.signal(number, signal.SIG_IGN)
            close_all_but(pipe.fileno())
            self._work(worker, pipe)
        finally:
            os._exit(0)  # without what others have registered to be done at the end

    def _work(self, worker: int, pipe: Connection) -> None:
        torch.set_num_threads(1)
        self.objective.train()
        while True:
            settings, number, micro_batches = pipe.recv()
            for parameter in self._parameters:
                parameter.grad = None
            loss, error, found = 0.0, "", []
            try:
                loss = add_gradients(self.objective, micro_batches, settings, number, ALONE, worker)
                for index, (parameter, common) in enumerate(zip(self._parameters, self._gradients[-1], strict=True)):
                    if parameter.grad is not None:
                        common.copy_(parameter.grad)
                        found.append(index)
            except Exception as raised:
                error = f"{type(raised).__name__}: {raised}"
            pipe.send((loss, error, found))


def trained(model: nn.Module) -> list[nn.Parameter]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


def rows_of(micro_batches: Sequence[MicroBatch], worker: int, count: int) -> list[MicroBatch]:
    """Every `count`-th row of each, for neighbours are of similar length; they still count as parts of the whole."""
    return [MicroBatch(every(each.batch, worker, count), each.tokens) for each in micro_batches]


def every(batch: Any, first: int, step: int) -> Any:
    """Rows of a batch, which is a sequence of them or has it as `rows`; None: there are none. What has no rows is the first's."""
    rows = getattr(batch, "rows", batch)
    if not hasattr(rows, "__getitem__") or isinstance(rows, tuple | dict):
        return None if first else batch
    if first >= len(rows):
        return None
    return rows[first::step] if rows is batch else batch._replace(rows=rows[first::step])


def in_common(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Of the same shapes and types, in memory that is not copied by a fork. (What has a name in /dev/shm may be limited to 64 MB.)"""
    ends = list(accumulate(-(-each.nbytes // LINE) * LINE for each in tensors))
    memory = mmap.mmap(-1, ends[-1])
    return [
        torch.frombuffer(memory, dtype=each.dtype, count=each.numel(), offset=begin).view(each.shape)
        for each, begin in zip(tensors, [0, *ends], strict=False)
    ]


def close_all_but(kept: int) -> None:
    """What a forked process need not hold: locks, pipes of others, the terminal."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nowhere, standard)
    for number in map(int, os.listdir("/proc/self/fd")):
        if number > 2 and number != kept:
            with suppress(OSError):
                os.close(number)
