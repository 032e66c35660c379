"""Ctrl-C, SIGTERM and a closed terminal as a polite request: finish the update, save, leave. A second one is not polite."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType
from typing import Any

SAME = 1.0  # seconds: torchrun passes on to its processes what the terminal has sent to them already
HANG_UP = getattr(signal, "SIGHUP", None)  # Windows has none


class StopRequest:
    """Inside `with`, the first SIGINT, SIGTERM or SIGHUP only sets `asked`; one that comes later acts as usual."""

    def __init__(self) -> None:
        self.asked = False
        self._when = 0.0
        self._before: dict[int, Any] = {}
        self._terminals: list[int] = []

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():  # Python allows handlers nowhere else
            self._terminals = [output for output in (1, 2) if os.isatty(output)]
            numbers = [signal.SIGINT, signal.SIGTERM]
            if HANG_UP is not None and signal.getsignal(HANG_UP) != signal.SIG_IGN:  # else nohup wants it to go on
                numbers.append(HANG_UP)
            for number in numbers:
                self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if number == HANG_UP:
            self._stop_speaking()
        if not self.asked:
            self.asked, self._when = True, time.monotonic()
        elif time.monotonic() - self._when > SAME:
            self.__exit__()
            if signal.getsignal(number) == signal.SIG_IGN:  # as a script's jobs in the background are born
                signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
            signal.raise_signal(number)

    def _stop_speaking(self) -> None:
        """Writing to a terminal that is gone would be an error, and come before the checkpoint."""
        for output in self._terminals:
            if not os.isatty(output):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, output)
                os.close(nowhere)
