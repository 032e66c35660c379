"""How threads wait for each other: awake for a moment, then asleep.

A thread that waits for others may ask again and again whether they are done. OpenMP's do so for milliseconds, since to sleep and to
be woken takes longer than to ask. Beside any other program that is wrong: one of the threads has lost its core to it, and those
that ask keep theirs from whoever could work. Most waits of a training step are shorter than a fifth of a millisecond; whoever
waits longer sleeps.
"""

from __future__ import annotations

import os
import sys

POLITE = {
    "GOMP_SPINCOUNT": "10000",  # GNU's OpenMP (Linux): how often a thread asks before it sleeps
    "KMP_BLOCKTIME": "1",  # LLVM's and Intel's (macOS, Windows): milliseconds, instead of 200
}
CHOSEN = ("OMP_WAIT_POLICY", *POLITE)  # who sets one of these has decided it


def wait_politely() -> None:
    """Before torch is imported, which reads it then; nothing that is computed depends on it."""
    if "torch" not in sys.modules and not any(name in os.environ for name in CHOSEN):
        os.environ.update(POLITE)
