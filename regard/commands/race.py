"""`regard race`: architectures against each other on the same track."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import regard
from regard.commands.app import DataFolder, RecipePath, TrainingDevice, app, command_line, report, with_device
from regard.notes import is_quiet


@app.command(epilog="Example: `regard race recipes/translate/tiny.toml --minutes 1`. The same command goes on.")
def race(
    recipe: RecipePath,
    architectures: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Who runs, separated by commas. [all of the task]")
    ] = None,
    parameters: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Most parameters of each. [those of the recipe's model]")
    ] = None,
    minutes: Annotated[
        float | None, typer.Option(min=0.001, metavar="M", help="Instead, minutes of training for each.")
    ] = None,
    data: DataFolder = None,
    overrides: Annotated[
        list[str],
        typer.Option(
            "--set", metavar="[NAME:]KEY=VALUE",
            help="Override a setting of all, or of one: conv:training.clip=0.1. Repeatable.",
        ),
    ] = [],  # noqa: B006
    device: TrainingDevice = None,
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the race. [runs/NAME-race]")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The page. [race.html in that folder]")
    ] = None,
    test: Annotated[str | None, typer.Option("--test", metavar="NAME", help="This test set. [the first]")] = None,
) -> None:  # fmt: skip
    """Train architectures on the same text with the same budget, and write one page that compares them.

    Each entrant is a run folder inside that of the race; Ctrl-C saves and leaves.
    """
    names = None if architectures is None else [name.strip() for name in architectures.split(",") if name.strip()]
    found = regard.race(
        recipe, names, parameters=parameters, minutes=minutes, overrides=with_device(overrides, device), data=data, run=run, output=output,
        test=test, console=Console(quiet=is_quiet()), command=command_line(),
    )  # fmt: skip
    if found.finished:
        found.draw(Console())
        report(f"wrote {found.page}")
