"""Decoding on every core: one process of one thread each, which beats one process of many threads.

The processes are started afresh, on every system. Forked ones would start at once, but a fork copies whatever locks
other threads hold at that moment (OpenMP's, a progress bar's, a server's), and waits for ever for those that are not
copied with it. So they import torch, which takes seconds, and map the weights from a file, so that all share one memory
of them; meanwhile the process that started them works itself.
"""

from __future__ import annotations

import multiprocessing
import shutil
import signal
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from tempfile import mkdtemp

import torch
from torch import Tensor

from regard import config
from regard.allocator import keep_memory
from regard.data.batching import in_batches
from regard.decoding.options import Engine, Hypothesis, Search
from regard.errors import UsageError
from regard.models.sharing import copy_for_processes
from regard.tasks.translation.native import Native

Answers = list[list[Hypothesis]]


class WorkerPool:
    """An engine that shares the batches of another among processes."""

    def __init__(self, engine: Engine, workers: int) -> None:
        self.engine, self.workers, self.about = engine, workers, "native"
        self._pool: ProcessPoolExecutor | None = None
        self._forget: Callable[[], object] = lambda: None  # what the processes were told of

    def decode(
        self,
        sources: Sequence[Sequence[int]],
        options: Search,
        settings: config.Decoding,
        prefixes: Sequence[Sequence[int]] | None = None,
    ) -> Answers:
        """One sentence, or few, are not worth a process."""
        batches = in_batches([len(source) + 1 for source in sources], settings.batch_tokens, options.width)
        if self.workers == 1 or len(batches) == 1:
            return self.engine.decode(sources, options, settings, prefixes)
        prefixes = [()] * len(sources) if prefixes is None else prefixes
        found: Answers = [[] for _ in sources]
        work = [
            ([sources[index] for index in batch], options, settings, [prefixes[index] for index in batch])
            for batch in batches
        ]
        try:
            for batch, answers in zip(batches, self._share(work), strict=True):
                for index, hypotheses in zip(batch, answers, strict=True):
                    found[index] = hypotheses
        except BaseException as error:
            self.close()  # nobody waits for what is left
            if isinstance(error, BrokenProcessPool):
                raise UsageError(
                    "a process that decodes died: for want of memory, or started from a script without"
                    ' `if __name__ == "__main__":`. One worker (`workers` 1) needs neither'
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
                process.kill()
        self._forget()

    def _share(self, work: Sequence[Work]) -> list[Answers]:
        """Batches, the longest first → their answers. Until a process is there, this one works from the other end."""
        pool = self._processes()
        begun = pool.submit(_has_begun)
        left, own = list(work), list[Answers]()
        while left and not begun.done():  # handed out only then: Python 3.11 stumbles over what is taken back
            own.append(self.engine.decode(*left.pop()))
        waiting: list[Future[Answers]] = [pool.submit(_decode, *batch) for batch in left]
        return [future.result() for future in waiting] + own[::-1]

    def _processes(self) -> ProcessPoolExecutor:
        if self._pool is None:
            folder = Path(mkdtemp(prefix="regard-"))  # which only this person can read
            afresh = multiprocessing.get_context("spawn")
            told: SimpleQueue[Engine | UsageError] = afresh.SimpleQueue()
            self._forget = weakref.finalize(self, _forget, folder, told)  # at the latest at the end
            sent = copy_for_processes(self.engine, _tensors(self.engine), folder / "tensors")
            # A thread tells them: a pipe holds little, and who sends more to a process that cannot start waits for ever.
            threading.Thread(target=_tell, args=(told, sent, self.workers), daemon=True).start()
            self._pool = ProcessPoolExecutor(self.workers, afresh, _begin, (told,))
        return self._pool


Work = tuple[Sequence[Sequence[int]], Search, config.Decoding, Sequence[Sequence[int]]]


def _tensors(engine: Engine) -> list[Tensor]:
    """Those of which one copy in memory is enough; any others are sent as they are."""
    if not isinstance(engine, Native) or not isinstance(engine.model, torch.nn.Module):
        return []
    lists = engine.shortlists
    return [*engine.model.parameters(), *engine.model.buffers(), *((*lists.lexicon, lists.weight) if lists else ())]


def _tell(told: SimpleQueue[Engine | UsageError], engine: Engine | UsageError, workers: int) -> None:
    """To as many as there will be; a plug-in's model may hold what cannot be sent, and then they are told so."""
    try:
        for _ in range(workers):
            told.put(engine)
    except OSError:
        return  # closed meanwhile: nobody wants to know any more
    except Exception as error:
        why = UsageError(f"the model cannot be sent to other processes ({error}); `workers` 1 needs none")
        _tell(told, why, workers)


def _forget(folder: Path, told: SimpleQueue[Engine | UsageError]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    told.close()


# In a worker process: the engine that it was told of, or why there is none.
_own: list[Engine | UsageError] = []


def _begin(told: SimpleQueue[Engine | UsageError]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent answers Ctrl-C, once
    torch.set_num_threads(1)
    keep_memory()
    _own.append(told.get())


def _has_begun() -> bool:
    return bool(_engine())


def _engine() -> Engine:
    if isinstance(_own[0], UsageError):
        raise _own[0]
    return _own[0]


def _decode(
    sources: Sequence[Sequence[int]], options: Search, settings: config.Decoding, prefixes: Sequence[Sequence[int]]
) -> Answers:
    return _engine().decode(sources, options, settings, prefixes)
