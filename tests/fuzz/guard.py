"""One hostile case in a process of its own: what it said, how long it took and how much memory, and whether that is clear."""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from regard.errors import RegardError

MEGA = 2**20
ROOM = 160 * MEGA
"""Bytes that a case may take …"""
MULTIPLE = 4
"""… besides this many times what lies in its folder."""
SECONDS = 20
"""Of computing. A busy machine may take …"""
PATIENCE = 180
MOST = 4 * 2**30  # bytes of addresses that a case may add before the system refuses them: a bomb harms nobody
LONGEST = 4_000  # characters of a message


@dataclass(frozen=True)
class Case:
    """Files that somebody was sent, what is done with them, and what should come of it."""

    name: str
    make: Callable[[Path], Any]
    """Writes the files into a folder of their own."""
    use: Callable[[Path], Any]
    """What a person would do with them."""
    expected: Literal["refused", "accepted", "either"] = "either"
    told: str = ""
    """What must be said, in an error or among what `use` returns."""
    room: int = ROOM
    """Bytes that it may take besides a multiple of its files."""
    seconds: int = SECONDS


@dataclass(frozen=True)
class Verdict:
    case: str
    outcome: str
    """`accepted`, `refused`, or what went wrong."""
    message: str
    seconds: float
    megabytes: int

    @property
    def bad(self) -> bool:
        return self.outcome not in ("accepted", "refused")


def try_case(case: Case, base: int = 0) -> Verdict:
    """Make its files, use them in a forked process, and judge. `base` is what an honest case takes, in megabytes."""
    folder = Path(tempfile.mkdtemp(prefix="hostile-")).resolve()
    try:
        (folder / "case").mkdir()
        case.make(folder / "case")
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
        return _judge(case, *_watch(case, folder / "case"), size, base)
    finally:
        for path in folder.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(folder)


def _watch(case: Case, folder: Path) -> tuple[dict[str, str], float, int]:
    """What the process reported, its seconds, and the bytes that it took at most."""
    receive, send = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if not child:
        os.close(receive)
        _in_child(case, folder, send)
    os.close(send)
    answer, ended = b"", False
    while not ended and (left := PATIENCE - (time.monotonic() - began)) > 0:
        if select.select([receive], [], [], left)[0]:
            block = os.read(receive, 1 << 16)
            answer, ended = answer + block, not block
    os.close(receive)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status, used = os.wait4(child, 0)
    seconds, taken = time.monotonic() - began, used.ru_maxrss * 1024
    if not ended:
        return {"outcome": f"no end after {PATIENCE} s", "message": "", "length": "0"}, seconds, taken
    seconds = used.ru_utime + used.ru_stime
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        return {"outcome": f"computed for more than {case.seconds} s", "message": "", "length": "0"}, seconds, taken
    if not answer:
        return {"outcome": f"died, status {status}", "message": "", "length": "0"}, seconds, taken
    return json.loads(answer), seconds, taken


def _in_child(case: Case, folder: Path, send: int) -> None:
    """Never returns."""
    try:
        resource.setrlimit(resource.RLIMIT_AS, (_addresses() + MOST, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_CPU, (case.seconds, case.seconds + 5))
        os.chdir(folder)
        try:
            said = {"outcome": "accepted", "message": str(case.use(folder) or "")}
        except RegardError as error:
            said = {"outcome": "refused", "message": str(error)}
        except BaseException as error:
            trace = "".join(traceback.format_exception(error)[-6:])
            said = {"outcome": f"{type(error).__name__}: {str(error)[:200]}", "message": trace[-3000:]}
        said["length"], said["message"] = str(len(said["message"])), said["message"][:50_000]
        with os.fdopen(send, "w") as answer:
            json.dump(said, answer)
    finally:
        os._exit(0)


def _judge(case: Case, said: dict[str, str], seconds: float, taken: int, size: int, base: int) -> Verdict:
    taken = max(0, taken - base * MEGA)
    outcome, message = said["outcome"], said["message"]
    if outcome == "refused" and not message.strip():
        outcome = "refused without a word"
    elif outcome == "refused" and int(said["length"]) > LONGEST:
        outcome = f"a message of {int(said['length']):,} characters"
    elif outcome in ("accepted", "refused") and case.expected not in (outcome, "either"):
        outcome = f"{outcome}, not {case.expected}"
    elif outcome in ("accepted", "refused") and case.told not in message:
        outcome = f"{outcome} without saying {case.told!r}"
    elif taken > case.room + MULTIPLE * size:
        outcome = f"took {taken // MEGA:,} MB for {size / MEGA:,.1f} MB"
    return Verdict(case.name, outcome, message, seconds, taken // MEGA)


def _addresses() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
