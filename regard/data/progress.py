"""The progress bar of everything here that may take longer than a moment; on stderr, so that output stays clean."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from regard.notes import is_quiet


def progress(show: bool | None = None) -> Progress:
    """A bar to use in a `with`; None shows it only to a terminal."""
    return Progress(
        TextColumn("{task.description}", markup=False),  # a name may hold brackets
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=is_quiet() or not (sys.stderr.isatty() if show is None else show),
    )
