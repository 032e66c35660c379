"""Memory that is given back to the system must be asked for and cleared again, at every update or decoding step."""

from __future__ import annotations

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # as malloc.h numbers them
LARGEST = 1 << 30


def keep_memory() -> None:
    """Tell glibc to keep what tensors free for the next ones: otherwise each update and each step asks for it anew."""
    if sys.platform != "linux":
        return
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return
    set_option(TRIM_THRESHOLD, LARGEST)
    set_option(MMAP_THRESHOLD, LARGEST)
