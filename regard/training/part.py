"""The unit of work between a task and the loop."""

from __future__ import annotations

from typing import Any, NamedTuple


class Part(NamedTuple):
    """A piece of an update that fits into memory at once."""

    batch: Any
    tokens: int
