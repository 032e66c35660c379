"""A race from beginning to end: line up, train one after another, measure, judge, write the page.

Each lane is an ordinary run folder inside the race's, so that what was killed goes on, and what is finished is not
repeated.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from regard import config
from regard.errors import DataError, UsageError
from regard.experiments.race.lanes import Budget, Lane, line_up
from regard.experiments.race.measures import RESULTS, measure, write_json
from regard.experiments.race.page import draw_race, write_race
from regard.experiments.race.verdict import judge
from regard.rehearsal import mistakes_in_files
from regard.runs import check_same_run, make_folder, train
from regard.tasks.translation.evaluation import TestSet, choose, recipe_test_sets
from regard.view.document import check_name

PAGE = "race.html"


def race(
    path: Path,
    names: Sequence[str],
    overrides: Sequence[str],
    budget: Budget,
    console: Console,
    *,
    data: Path | None = None,
    folder: Path | None = None,
    page: Path | None = None,
    test: str | None = None,
) -> None:
    """Run the race, or go on with it; `page` is where its page goes, if not into its folder."""

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    if page is not None:
        check_name(page)
    lanes, budget = line_up(path, names, overrides, budget, data)
    recipe = lanes[0].recipe
    folder = folder or Path("runs") / f"{recipe.name}-race"
    test_set = find_test_set(recipe, path, test)
    for lane in lanes:
        check_same_run(folder / lane.name, lane.recipe)
    make_folder(folder)
    again = shlex.join(["regard", *sys.argv[1:]])
    try:
        if not run_all(lanes, folder, console):
            say(f"stopped and saved. Go on with: {again}")
            return
        found = measure(lanes, folder, test_set, say)
        verdict = judge(lanes, found, test_set, budget, again)
    except KeyboardInterrupt:  # between two lanes, or while measuring: what is finished is kept
        say(f"stopped; what is finished is kept. Go on with: {again}")
        raise
    write_json(folder / RESULTS, verdict)
    draw_race(verdict, console)
    page = page or folder / PAGE
    write_race(page, verdict)
    say(f"wrote {page}")


def find_test_set(recipe: config.TranslationRecipe, path: Path, name: str | None) -> TestSet:
    """What the lanes are judged by: the test set of that name, or the recipe's first; all files must be there."""
    if not recipe.data.test:
        raise UsageError(
            f"{path} names no test set, which a race is judged by; add [data.test] and NAME = [FILE, FILE]"
        )
    if mistakes := mistakes_in_files(recipe):
        raise DataError("\n".join(mistakes))
    return choose(recipe_test_sets(recipe), name)[0]


def run_all(lanes: Sequence[Lane], folder: Path, console: Console) -> bool:
    """Train each lane with the whole machine to itself → whether all came to their end."""
    for number, lane in enumerate(lanes, start=1):
        console.rule(f"{lane.name}, {number} of {len(lanes)}: width {lane.recipe.model.width}, "
                     f"{lane.parameters:,} parameters", align="left")  # fmt: skip
        if train(lane.recipe, run=folder / lane.name, show=console).reason == "interrupted":
            return False
    return True
