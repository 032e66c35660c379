"""`regard curve`: how runs learned."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import regard
from regard.commands.app import app, command_line, report


@app.command(
    epilog="Examples: `regard curve runs/x`, `regard curve runs/x runs/y -o curve.html`, `regard curve runs/x -o curve.html --follow`"
)
def curve(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, also of runs that still train.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write a page.")] = None,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Write the page anew while the runs train; an open page shows it by itself."),
    ] = False,
) -> None:
    """How runs learned: losses and scores over updates and time, as a table or side by side on one page."""
    if follow and output is not None:
        report(f"{output} is written anew while the runs train; Ctrl-C ends that")
    found = regard.curve(*runs, output=output, follow=follow, command=command_line())
    if output is None:
        found.draw(Console())
        return
    report(f"wrote {output}")
