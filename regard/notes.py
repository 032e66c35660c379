"""What is worth a word besides the answer: told to whoever listens to the logger `regard.notes`, as the command line does."""

from __future__ import annotations

import logging

log = logging.getLogger("regard.notes")


def note(text: str) -> None:
    """A sentence for people. An option is written as Python spells it, in backticks: `max_ratio`."""
    log.info("%s", text)


def detail(text: str) -> None:
    """The same for those who asked to be told more."""
    log.debug("%s", text)
