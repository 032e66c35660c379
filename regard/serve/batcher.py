"""The threads that compute, one unless the models can do with more: requests put jobs into their queue, and those that go together
are done together."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import torch

from regard.allocator import release_memory
from regard.cancellation import Cancelled, cancellable
from regard.errors import RegardError
from regard.serve.limits import Limits, Refusal

log = logging.getLogger(__name__)

QUIET, BUSY = 0.5, 10.0  # seconds after which memory is given back: without work, and while there is no end of it


@dataclass(eq=False)
class Job:
    """One text to be answered, alone or in company."""

    key: Hashable
    """Jobs of equal keys may share a batch."""
    item: Any
    cost: int
    """In tokens; see `Limits.cost`."""
    run: Callable[[list[Any]], list[Any]]
    """All items of a batch → their answers. No answer may depend on the company."""
    turn: int = 0
    """When it should be done, in tokens: what costs much, and the later texts of a long request, wait for what others ask
    meanwhile."""
    dropped: bool = False
    """Whether nobody waits for it any more."""
    future: Future[Any] = field(default_factory=Future)


class Batcher:
    """A queue and the threads behind it."""

    def __init__(
        self,
        limits: Limits,
        threads: int | None = None,
        on_batch: Callable[[int], None] = lambda texts: None,
        side_by_side: int = 1,
    ) -> None:
        """`threads` are torch's in each batch, `side_by_side` the batches that are computed at the same time."""
        self.limits, self.threads, self.on_batch = limits, threads, on_batch
        self._busy: dict[str, list[Job]] = {}  # by the name of the thread
        self._queue: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closing = self._given_up = False
        self._turn = 0  # whose it is
        self._pace = 0.0  # seconds per token, as of late
        self._threads = [
            threading.Thread(target=self._work, name=f"regard-inference-{number}", daemon=True)
            for number in range(side_by_side)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Finish what waits, if the time allows it, and end."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        end = time.monotonic() + self.limits.shutdown_seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        self._given_up = True

    @property
    def alive(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    @property
    def busy(self) -> list[Job]:
        """What is being computed."""
        return [job for batch in list(self._busy.values()) for job in batch]

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def retry_after(self) -> int:
        """Whole seconds after which the queue should be empty, for `Retry-After`."""
        waiting = sum(job.cost for job in list(self._queue))
        return min(max(1, math.ceil(waiting * self._pace)), math.ceil(self.limits.answer_seconds))

    def put(self, jobs: Sequence[Job]) -> None:
        """Queue the jobs of one request: all or none."""
        with self._changed:
            if len(self._queue) + len(jobs) > self.limits.waiting:
                raise Refusal(
                    429,
                    f"{len(self._queue)} texts are waiting, and at most {self.limits.waiting} may; "
                    f"with the {len(jobs)} of this request they would be more. Try again in {self.retry_after} s.",
                    {"Retry-After": str(self.retry_after)},
                )
            turn = self._turn
            for job in jobs:
                turn += job.cost
                job.turn = turn
            self._queue = deque(sorted([*self._queue, *jobs], key=lambda job: job.turn))  # of equals the older first
            self._changed.notify_all()

    def drop(self, jobs: Sequence[Job]) -> None:
        """Forget what nobody waits for any more; what has begun ends at its next step, unless others share its batch."""
        if all(job.future.done() for job in jobs):
            return
        with self._changed:
            for job in jobs:
                job.dropped = True
                job.future.cancel()
            self._queue = deque(job for job in self._queue if not job.future.cancelled())

    def _work(self) -> None:
        # One core is left to those who talk to the clients.
        torch.set_num_threads(self.threads or max(1, torch.get_num_threads() - 1))
        released, name = time.perf_counter(), threading.current_thread().name
        while batch := self._take():
            began, self._busy[name] = time.perf_counter(), batch
            self.on_batch(len(batch))
            self._answer(batch)
            self._busy[name], cost = [], max(1, sum(job.cost for job in batch))
            self._pace = 0.8 * self._pace + 0.2 * (time.perf_counter() - began) / cost
            if began - released > BUSY:
                release_memory()
                released = began

    def _take(self) -> list[Job]:
        """The job whose turn it is and those that can go with it, once there is one; nothing once all is done."""
        batch: list[Job] = []
        patience: float | None = QUIET
        while not batch:
            with self._changed:
                waited = self._changed.wait_for(lambda: self._queue or self._closing, patience)
                if self._queue:
                    batch = self._split()
                elif self._closing:
                    break
            if not waited:  # without the lock: whoever asks meanwhile need not wait
                release_memory()
                patience = None
        return batch

    def _split(self) -> list[Job]:
        """Take a batch out of the queue; the others keep their order."""
        batch: list[Job] = []
        others: deque[Job] = deque()
        room = self.limits.batch_cost
        for job in self._queue:
            if batch and (job.key != batch[0].key or job.cost > room):
                others.append(job)
            elif job.future.set_running_or_notify_cancel():
                batch.append(job)
                room -= job.cost
        self._queue = others
        self._turn = batch[0].turn if batch else self._turn
        return batch

    def _answer(self, batch: list[Job]) -> None:
        """A batch that fails is tried again one by one, so that a text can only spoil its own answer."""
        try:
            with cancellable(lambda: self._given_up or all(job.dropped for job in batch)):
                answered = list(zip(batch, batch[0].run([job.item for job in batch]), strict=True))
        except Cancelled as error:
            for job in batch:
                job.future.set_exception(error)
        except Exception as error:
            if len(batch) == 1:
                batch[0].future.set_exception(error)
                return
            if not isinstance(error, RegardError):
                log.warning("a batch of %d failed; its texts are tried one by one", len(batch), exc_info=error)
            for job in batch:
                self._answer([job])
        else:
            for job, answer in answered:
                job.future.set_result(answer)
