"""A race from beginning to end: line up, train one after another, measure, compare, write the page.

Each entrant is an ordinary run folder inside the race's, so that what was killed goes on, and what is finished is not
repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from regard import config
from regard.dry_runs import mistakes_in_files
from regard.errors import DataError, UsageError, did_you_mean
from regard.experiments.race.comparison import compare_entrants, judge_of
from regard.experiments.race.entrants import Budget, Entrant, build_entrants
from regard.experiments.race.measures import RESULTS, measure, write_json
from regard.experiments.race.page import draw_race, write_race
from regard.files import alone_in
from regard.runs import check_same_run, make_folder, train
from regard.tasks.task import Judged
from regard.view.document import check_name

PAGE = "race.html"


@dataclass(frozen=True)
class Race:
    """What a race came to."""

    folder: Path
    """Holds the run folder of each entrant."""
    page: Path
    finished: bool
    """Whether all entrants came to their end; if not, the same call goes on."""
    comparison: Mapping[str, Any] = field(default_factory=dict)
    """All that the page shows; docs/race.md describes it."""

    def draw(self, console: Console) -> None:
        """The tables in a terminal, the best first."""
        draw_race(self.comparison, console)

    def write(self, path: str | Path) -> None:
        """The page."""
        write_race(Path(path), self.comparison)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(self.comparison)


def race(
    recipe: str | Path,
    architectures: Sequence[str] | None = None,
    *,
    parameters: int | None = None,
    minutes: float | None = None,
    overrides: Sequence[str] = (),
    data: str | Path | None = None,
    run: str | Path | None = None,
    output: str | Path | None = None,
    test: str | None = None,
    console: Console | None = None,
    command: str = "",
) -> Race:
    """Train architectures on the same text with the same budget, or go on with that, and write a page that compares them.

    The recipe is one that translates, classifies texts or writes on; unless named, all architectures of its task run.
    The budget is that of `parameters`, or of `minutes` of training; without either, the parameters of the recipe's model.
    `overrides` are settings of all, or of one: `conv:training.clip=0.1`. `run` is the folder of the race, `output` its page,
    `test` the test set that judges; `console` hears how it goes, and `command` is what the page says made it.
    """
    console, path = console or Console(quiet=True), Path(recipe)
    page = None if output is None else Path(output)
    if page is not None:
        check_name(page)
    budget = Budget(parameters, minutes)
    entrants, budget = build_entrants(path, architectures, overrides, budget, None if data is None else Path(data))
    settings = entrants[0].recipe
    folder = Path(run) if run is not None else Path("runs") / f"{settings.name}-race"
    page = page or folder / PAGE
    test_set = find_test_set(settings, path, test)
    for entrant in entrants:
        check_same_run(folder / entrant.name, entrant.recipe)
    make_folder(folder)
    with alone_in(folder):
        comparison = run_and_compare(entrants, folder, test_set, budget, console, command)
    if comparison is None:
        return Race(folder, page, finished=False)
    write_json(folder / RESULTS, comparison)
    found = Race(folder, page, True, comparison)
    found.write(page)
    return found


def run_and_compare(
    entrants: Sequence[Entrant], folder: Path, test_set: Judged, budget: Budget, console: Console, command: str
) -> dict[str, Any] | None:
    """The comparison, or None if somebody stopped an entrant, which saved itself."""

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    again = f" Go on with: {command}" if command else ""
    try:
        if not run_all(entrants, folder, console):
            say(f"stopped and saved.{again}")
            return None
        found = measure(entrants, folder, test_set, say)
        return compare_entrants(entrants, found, test_set, budget, command)
    except KeyboardInterrupt:  # between two entrants, or while measuring: what is finished is kept
        say(f"stopped; what is finished is kept.{again}")
        raise


def find_test_set(recipe: config.Recipe, path: Path, name: str | None) -> Judged:
    """What the entrants are judged by: the test set of that name, or the recipe's first; all files must be there."""
    judge = judge_of(recipe)
    if not (recipe.data.tests or judge.by_validation):
        raise UsageError(
            f"{path} names no test set, which a race is judged by; add [data.test] and "
            f'NAME = ["FILE"]: {recipe.data.FORM}'
        )
    if mistakes := mistakes_in_files(recipe):
        raise DataError("\n".join(mistakes))
    sets = {each.name: each for each in judge.test_sets(recipe)}
    if name is not None and name not in sets:
        raise UsageError(f"no test set {name!r}.{did_you_mean(name, sets)} There are: {', '.join(sets)}")
    return next(iter(sets.values())) if name is None else sets[name]


def run_all(entrants: Sequence[Entrant], folder: Path, console: Console) -> bool:
    """Train each entrant with the whole machine to itself → whether all came to their end."""
    for number, entrant in enumerate(entrants, start=1):
        console.rule(f"{entrant.name}, {number} of {len(entrants)}: width {entrant.recipe.model.width}, "
                     f"{entrant.parameters:,} parameters", align="left")  # fmt: skip
        if train(entrant.recipe, run=folder / entrant.name, show=console).reason == "interrupted":
            return False
    return True
