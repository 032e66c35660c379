"""A model's names and shapes, without its numbers: what it would be is known before any memory is spent on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

DRAWING = {
    "uniform_", "normal_", "zero_", "zeros_", "ones_", "fill_", "constant_", "xavier_uniform_", "kaiming_uniform_",
}  # fmt: skip


@contextmanager
def outline() -> Iterator[None]:
    """Models built inside have no numbers (they are on `meta`), and nothing is drawn for them."""
    with torch.device("meta"), _Undrawn():
        yield


class _Undrawn(TorchFunctionMode):
    """Drawing numbers that are not there takes most of the time; a thousand layers are built in seconds without."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any = (), options: Any = None
    ) -> Any:
        options = options or {}
        if function.__name__ in DRAWING:
            return arguments[0] if arguments else options["tensor"]
        return function(*arguments, **options)
