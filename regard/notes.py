"""What is worth a word besides the answer: told to whoever listens to the logger `regard.notes`, as the command line does."""

from __future__ import annotations

import logging

log = logging.getLogger("regard.notes")
_told = {"quiet": False}


def be_quiet(wanted: bool) -> None:
    """Say nothing besides the answers, and show no bars: for this process."""
    _told["quiet"] = wanted


def is_quiet() -> bool:
    return _told["quiet"]


def note(text: str) -> None:
    """A sentence for people. An option is written as Python spells it, in backticks: `max_ratio`."""
    if not is_quiet():
        log.info("%s", text)


def detail(text: str) -> None:
    """The same for those who asked to be told more."""
    if not is_quiet():
        log.debug("%s", text)
