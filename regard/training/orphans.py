"""Processes of a killed torchrun would go on without anybody to tell, or wait for ever for those that it can no longer start."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

GRACE = 30.0  # seconds between asking and ending, as torchrun itself gives


@contextmanager
def ending_with_parent(grace: float = GRACE, look_every: float = 1.0) -> Iterator[None]:
    """Inside, once the process that started this one is gone: SIGTERM to who handles it, which saves and leaves; then end."""
    parent, over = os.getppid(), threading.Event()

    def watch() -> None:
        while os.getppid() == parent:  # a child whose parent ends gets another
            if over.wait(look_every):
                return
        if signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:  # else it would end at once, perhaps while it leaves
            os.kill(os.getpid(), signal.SIGTERM)
        if not over.wait(grace):  # it may wait for a process that is gone too, where no signal is heard
            os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
    try:
        yield
    finally:
        over.set()
