"""`regard train`: from a recipe to a run folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

import regard
from regard.commands.app import (
    DataFolder,
    Overrides,
    RecipePath,
    TrainingDevice,
    app,
    command_line,
    report,
    with_device,
)
from regard.config import Recipe, task_settings
from regard.errors import DataError
from regard.notes import is_quiet


@app.command(epilog="Example: `regard train my.toml --dry-run`, then `regard train my.toml`. The same command goes on.")
def train(
    recipe: RecipePath,
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="Run folder. [runs/NAME]")] = None,
    data: DataFolder = None,
    overrides: Overrides = [],  # noqa: B006
    device: TrainingDevice = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Find mistakes, count, take two steps; train nothing.")
    ] = False,
) -> None:
    """Train a recipe, or go on where its run folder stopped; Ctrl-C saves and leaves."""
    overrides = with_device(overrides, device)
    if dry_run:
        found = regard.dry_run(recipe, overrides=overrides, data=data)
        report("\n".join(found.lines()))
        if found.mistakes:
            raise DataError("\n".join(found.mistakes))
        return
    done = regard.train(recipe, overrides=overrides, data=data, run=run, show=not is_quiet())
    if done.first:
        report_outcome(done.reason, done.folder, done.recipe)
    if done.reason == "interrupted" and "TORCHELASTIC_RUN_ID" not in os.environ:  # torchrun would start it again
        raise typer.Exit(130)  # a script should not go on with what is half trained


def report_outcome(reason: str, folder: Path, recipe: Recipe) -> None:
    if reason == "interrupted":
        report(f"stopped and saved. Go on with: {command_line()}")
        return
    how = {"patience": "no better for a while", "time": "time is up"}.get(reason, "all updates done")
    report(f"{how}. The model is {folder / 'model.safetensors'}")
    task = task_settings(recipe.task)
    given = "" if recipe.data.tests else "".join(f" --{name} FILE" for name in task.text_options)
    used = f"    or: regard {task.verb} {folder} {task.given}" if task.given else ""
    report(f"Next: regard evaluate {folder}{given}{used}")
    if recipe.training.filmed and (folder / "movie").is_dir():  # else there was no attention to film
        report(f"How its attention formed: regard view {folder} -o movie.html")
