"""Memory that is given back to the system must be asked for and cleared again, at every update or decoding step: it is
kept while there is work, and given back when there is none."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # as malloc.h numbers them
LARGEST, SMALLEST = 1 << 30, 1 << 18  # SMALLEST is twice what glibc begins with: less would be no gain


def keep_memory() -> bool:
    """Tell glibc to keep what tensors free for the next ones: otherwise each update and each step asks for it anew.

    → whether it does. Before 2.35 glibc takes no mmap threshold above 32 MiB (512 KiB on 32 bits), and answers 0: then
    it gets the largest power of two that it takes.
    """
    if sys.platform != "linux":
        return False
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    taken = [_largest_taken(set_option, option) for option in (TRIM_THRESHOLD, MMAP_THRESHOLD)]
    return all(taken)


def release_memory() -> bool:
    """Give back to the system what was freed and kept; → whether there was any. It takes milliseconds: for a quiet moment."""
    if sys.platform != "linux":
        return False
    try:
        return bool(ctypes.CDLL(None).malloc_trim(0))
    except (OSError, AttributeError):  # another C library
        return False


def _largest_taken(set_option: Callable[[int, int], int], option: int) -> int:
    """The value that an option has now; 0 if it takes none."""
    value = LARGEST
    while value >= SMALLEST and not set_option(option, value):
        value //= 2
    return value if value >= SMALLEST else 0
