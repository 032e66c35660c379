"""Work that can be called off: whoever computes in steps asks between two of them whether anybody still waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from regard.errors import RegardError

_stop: ContextVar[Callable[[], bool] | None] = ContextVar("stop", default=None)


class Cancelled(RegardError):  # noqa: N818
    """What was computed was called off before it was done."""


@contextmanager
def cancellable(stop: Callable[[], bool]) -> Iterator[None]:
    """`with cancellable(stop):` what this thread computes ends with `Cancelled` soon after `stop()` is true.

    It is asked at every step of a search and between batches, so it should be quick.
    """
    before = _stop.set(stop)
    try:
        yield
    finally:
        _stop.reset(before)


def check_cancelled() -> None:
    """Between two steps: go on, unless that was called off."""
    stop = _stop.get()
    if stop is not None and stop():
        raise Cancelled("this was called off before it was done")
