"""glibc keeps what tensors free, as far as it lets itself be told; another C library is left alone."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from regard.allocator import LARGEST, MMAP_THRESHOLD, SMALLEST, TRIM_THRESHOLD, keep_memory

MEBIBYTE = 1 << 20


def stand_in(monkeypatch: pytest.MonkeyPatch, takes: Callable[[int, int], bool]) -> dict[int, int]:
    """A C library whose mallopt takes only some values → the options that it has taken."""
    taken: dict[int, int] = {}

    def mallopt(option: int, value: int) -> int:
        if not takes(option, value):
            return 0
        taken[option] = value
        return 1

    monkeypatch.setattr(ctypes, "CDLL", lambda _: SimpleNamespace(mallopt=mallopt))
    monkeypatch.setattr(sys, "platform", "linux")
    return taken


@pytest.mark.parametrize("most", [LARGEST, 32 * MEBIBYTE, 512 << 10])
def test_the_largest_threshold_that_glibc_takes(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Before 2.35 it refuses an mmap threshold above half a heap: 32 MiB, or 512 KiB on 32 bits."""
    taken = stand_in(monkeypatch, lambda option, value: option == TRIM_THRESHOLD or value <= most)
    assert keep_memory()
    assert taken == {TRIM_THRESHOLD: LARGEST, MMAP_THRESHOLD: most}


def test_one_that_takes_nothing_is_not_asked_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    taken = stand_in(monkeypatch, lambda option, value: bool(asked.append(value)))  # type: ignore[func-returns-value]
    assert not keep_memory()
    assert not taken
    assert min(asked) >= SMALLEST


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: object())
    assert not keep_memory()


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_another_system_is_left_alone(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    taken = stand_in(monkeypatch, lambda option, value: True)
    monkeypatch.setattr(sys, "platform", platform)
    assert not keep_memory()
    assert not taken


FAULTS = """
import ctypes, json, resource, sys
from regard.allocator import keep_memory

library = ctypes.CDLL(None)
library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
library.free.argtypes = [ctypes.c_void_p]
size, rounds = 16 << 20, 50

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        place = library.malloc(size)
        ctypes.memset(place, 1, size)
        library.free(place)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

if sys.argv[1] == "keep":
    assert keep_memory()
    faults()  # the first time, memory must be asked for
else:  # the fixed threshold that glibc begins with: it raises its own at the first free, but never above 32 MiB
    library.mallopt(-3, 128 << 10)
print(json.dumps([faults(), rounds * size // resource.getpagesize()]))
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "gnu_get_libc_version"), reason="only glibc is told"
)
def test_freed_memory_is_not_asked_for_again() -> None:
    """As a tensor's memory that is written, freed and needed again: the system hands out each page at most once."""

    def faults(how: str) -> tuple[int, int]:
        found = subprocess.run([sys.executable, "-c", FAULTS, how], capture_output=True, text=True, check=True)
        asked, pages = json.loads(found.stdout)
        return asked, pages

    given_back, pages = faults("give back")
    kept, _ = faults("keep")
    if given_back < pages // 2:
        pytest.skip("this system hands out more than a page at a time, so that faults tell nothing")
    assert kept < pages // 50, "fewer than one round's"
