"""`regard ablate`: what each choice of a recipe is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import regard
from regard.commands.app import (
    DataFolder,
    Json,
    Overrides,
    RecipePath,
    TrainingDevice,
    app,
    command_line,
    print_json,
    report,
    say,
    with_device,
)


@app.command(
    epilog="Example: `regard ablate recipes/translate/ablate-multi30k.toml --data DIR`. The same command goes on."
)
def ablate(
    recipe: RecipePath,
    vary: Annotated[
        list[str],
        typer.Option(metavar="KEY=VALUES", help="What to vary, such as model.heads=1,2. Repeatable. [the paper's]"),
    ] = [],  # noqa: B006
    preset: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Without --vary: paper (its Table 3), parts (the Transformer without each), or regularization.",
        ),
    ] = "paper",
    seeds: Annotated[int, typer.Option(min=1, help="Trials of each row.")] = 2,
    data: DataFolder = None,
    overrides: Overrides = [],  # noqa: B006
    device: TrainingDevice = None,
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of run folders. [runs/NAME-ablate]")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Trials side by side; 0: one for each core.")] = 0,
    test: Annotated[str | None, typer.Option("--test", metavar="NAME", help="Test set. [the first]")] = None,
    as_json: Json = False,
) -> None:
    """Train a recipe of any task again and again with one thing changed, and tell what each is worth.

    Without `--vary`: heads, key width, layers, width, feed-forward, dropout, label smoothing and positions, as in the paper's
    Table 3. `--preset parts`: what does each part do? Without positions, residual, norm, scale, feed-forward, biases.
    `--preset regularization`: what helps where text is scarce? Ctrl-C saves and leaves; the same command goes on.
    """
    found = regard.ablate(
        recipe, vary, seeds=seeds, overrides=with_device(overrides, device), data=data, run=run, workers=workers, test=test, preset=preset,
        command=command_line(),
    )  # fmt: skip
    if found.table is not None and as_json and found.finished:
        print_json(found.to_dict())
    elif found.table is not None and not as_json:
        found.draw(Console())
        report(f"also as a page: {found.page}")
    if not found.finished:
        say(f"stopped and saved. Go on with: {command_line()}")
