"""`regard quickstart`: from the bundled corpus to a trained model, its score, ten translations and a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import regard
from regard.commands.app import Overrides, TrainingDevice, app, command_line, with_device
from regard.notes import is_quiet


@app.command(epilog="Example: `regard quickstart`")
def quickstart(
    run: Annotated[Path, typer.Option(metavar="DIR", help="Run folder.")] = Path("runs/quickstart"),
    overrides: Overrides = [],  # noqa: B006
    device: TrainingDevice = None,
) -> None:
    """Train on the bundled corpus, score, translate, and write an attention page: minutes on a laptop's CPU."""
    regard.quickstart(
        run, overrides=with_device(overrides, device), console=Console(quiet=is_quiet()), command=command_line()
    )
