"""`regard quickstart`, `prepare` and `train`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from regard.commands.app import DataFolder, Overrides, RecipePath, app

if TYPE_CHECKING:
    from regard.config import Recipe


@app.command(epilog="Example: `regard quickstart`")
def quickstart(
    run: Annotated[Path, typer.Option(metavar="DIR", help="Run folder.")] = Path("runs/quickstart"),
    overrides: Overrides = [],  # noqa: B006
) -> None:
    """Train on the bundled corpus, score, translate, and write an attention page: minutes on a laptop's CPU."""
    from regard.quickstart import quickstart

    quickstart(run, overrides, Console())


@app.command(epilog="Example: `regard prepare recipes/translate/multi30k-en-de.toml --data DIR`")
def prepare(recipe: RecipePath, data: DataFolder = None, overrides: Overrides = []) -> None:  # noqa: B006
    """Clean and count the corpus, train the tokenizer, write memory-mapped ids; or check what is there.

    `train` prepares when needed.
    """
    settings = read_recipe(recipe, overrides, data)
    from regard.tasks.registry import prepare

    prepared = prepare(settings)
    for ids in (prepared.train, prepared.valid):
        ids.verify()
    print("\n".join([*prepared.report.lines(), f"ready in {prepared.folder}"]))


@app.command(epilog="Example: `regard train my.toml --dry-run`, then `regard train my.toml`. The same command goes on.")
def train(
    recipe: RecipePath,
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="Run folder. [runs/NAME]")] = None,
    data: DataFolder = None,
    overrides: Overrides = [],  # noqa: B006
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Find mistakes, count, take two steps; train nothing.")
    ] = False,
) -> None:
    """Train a recipe, or go on where its run folder stopped; Ctrl-C saves and leaves."""
    settings = read_recipe(recipe, overrides, data)
    if dry_run:
        from regard.rehearsal import rehearse

        rehearse(settings, Console())
        return
    from regard.runs import train

    done = train(settings, run=run)
    if done.first:
        report_outcome(done.reason, done.folder, settings)


def report_outcome(reason: str, folder: Path, recipe: Recipe) -> None:
    from regard.tasks.registry import find_task

    if reason == "interrupted":
        print(f"stopped and saved. Go on with: {shlex.join(['regard', *sys.argv[1:]])}")
        return
    how = {"patience": "no better for a while", "time": "time is up"}.get(reason, "all updates done")
    print(f"{how}. The model is {folder / 'model.safetensors'}")
    given = "--source FILE --target FILE" if recipe.task == "translation" else "--file FILE"
    verb = find_task(recipe.task).verb
    print(
        f"Next: regard evaluate {folder}{'' if recipe.data.test else f' {given}'}    or: regard {verb} {folder} 'some text'"
    )
    if getattr(recipe.training, "probes", 0):
        print(f"How its attention formed: regard view {folder} -o movie.html")


def read_recipe(path: Path, overrides: list[str], data: Path | None) -> Recipe:
    from regard.config import recipes

    recipe = recipes.load(path, overrides, folder=data)
    recipes.require_data(recipe)
    return recipe
