"""`regard curve`: how runs learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import regard
from regard.commands.app import app, command_line, report


@app.command(epilog="Examples: `regard curve runs/x`, `regard curve runs/x runs/y -o curve.html`")
def curve(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, also of runs that still train.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write a page.")] = None,
) -> None:
    """How runs learned: losses and scores over updates and time, as a table or side by side on one page."""
    found = regard.curve(*runs)
    if output is None:
        found.draw(Console())
        return
    found.write(output, command_line())
    report(f"wrote {output}")
