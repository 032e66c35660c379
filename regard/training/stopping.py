"""Ctrl-C and SIGTERM as a polite request: finish the update, save, leave. A second one is not polite."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType
from typing import Any

SAME = 1.0  # seconds: torchrun passes on to its processes what the terminal has sent to them already


class StopRequest:
    """Inside `with`, the first SIGINT or SIGTERM only sets `asked`; one that comes later acts as usual."""

    def __init__(self) -> None:
        self.asked = False
        self._when = 0.0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():  # Python allows handlers nowhere else
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if not self.asked:
            self.asked, self._when = True, time.monotonic()
        elif time.monotonic() - self._when > SAME:
            self.__exit__()
            signal.raise_signal(number)
