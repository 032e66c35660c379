"""`regard ablate`: what each choice of a recipe is worth."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from regard.commands.app import DataFolder, Json, Overrides, RecipePath, app, errors


@app.command(
    epilog="Example: `regard ablate recipes/translate/ablate-multi30k.toml --data DIR`. The same command goes on."
)
def ablate(
    recipe: RecipePath,
    vary: Annotated[
        list[str],
        typer.Option(metavar="KEY=VALUES", help="What to vary, such as model.heads=1,2. Repeatable. [the paper's]"),
    ] = [],  # noqa: B006
    seeds: Annotated[int, typer.Option(min=1, help="Trials of each row.")] = 2,
    data: DataFolder = None,
    overrides: Overrides = [],  # noqa: B006
    run: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of run folders. [runs/NAME-ablate]")] = None,
    workers: Annotated[int, typer.Option(min=0, help="Trials side by side; 0: one for each core.")] = 0,
    only: Annotated[str | None, typer.Option("--test", metavar="NAME", help="Test set. [the first]")] = None,
    as_json: Json = False,
) -> None:
    """Train a recipe again and again with one thing changed, as in the paper's Table 3, and tell what each is worth.

    Without `--vary`: heads, key width, layers, width, feed-forward, dropout, label smoothing and positions. Ctrl-C saves
    and leaves; the same command goes on.
    """
    from regard.experiments.ablation.rows import read_rows

    rows, left_out = read_rows(recipe, overrides, data, vary)

    def say(text: str) -> None:
        errors.print(text, highlight=False, markup=False, soft_wrap=True)

    for reason in left_out:
        say(f"left out: {reason}")
    from regard.experiments.ablation.page import write_ablation
    from regard.experiments.ablation.running import Ablation, chosen_test_set
    from regard.experiments.ablation.table import draw, tabulate
    from regard.tasks.translation.workers import cores

    folder = run or Path("runs") / f"{rows[0].recipe.name}-ablate"
    test_set = chosen_test_set(rows[0].recipe, only)
    ablation = Ablation(rows, seeds, folder, test_set)
    left, workers = len(ablation.left()), workers or cores()
    say(f"{len(rows)} rows × {seeds} seeds in {folder}, {left} trials to go, {workers} at a time")
    results, stopped = ablation.run(workers)
    if results:
        table = tabulate(rows, results, test_set)
        page = write_ablation(folder, table, shlex.join(["regard", *sys.argv[1:]]))
        if as_json and not stopped:
            print(json.dumps(table.to_dict(), ensure_ascii=False, indent=1))
        elif not as_json:
            draw(table, Console())
            print(f"also as a page: {page}")
    if stopped:
        say(f"stopped and saved. Go on with: {shlex.join(['regard', *sys.argv[1:]])}")
