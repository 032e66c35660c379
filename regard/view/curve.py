"""How runs learned: their losses and scores over updates and time, in a terminal and as one HTML file."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.config import recipes
from regard.errors import RegardError, UsageError
from regard.run_log import METRICS, read_odd_metrics
from regard.view.document import DRAWN, check_name, document, write_document

SCRIPTS = ("data", "dom", "chart", "curve")
BODY = (
    """<main class="curves">
  <header id="header"></header>
  <div id="sections"></div>
  <footer><p class="muted"><code id="command"></code></p></footer>
</main>
"""
    + DRAWN
)
GROWS = ("bleu", "accuracy")  # the others are better the smaller they are
MOST_ROWS = 20
MOST_POINTS = 400
"""Of the line of a training loss; of more, each is the mean of several."""
REFRESH = 5
"""Seconds after which a run that is followed is read again, and its page looks at itself again."""


@dataclass(frozen=True)
class Curve:
    """What one run wrote down."""

    name: str
    train: list[dict[str, Any]]
    valid: list[dict[str, Any]]
    odd: tuple[int, ...] = ()
    """Lines of its metrics that are damaged, and left out."""

    @property
    def measures(self) -> list[str]:
        """What its validations measured, the loss last."""
        names = {name: None for each in self.valid for name in each if name not in ("update", "kind", "seconds")}
        return sorted(names, key=lambda name: name == "loss")

    def best(self, measure: str) -> dict[str, Any] | None:
        """The first validation that no other surpasses."""
        known = [each for each in self.valid if measure in each]
        sign = -1 if measure in GROWS else 1
        return min(known, key=lambda each: sign * each[measure], default=None)

    def to_dict(self) -> dict[str, Any]:
        """All that a page draws, as plain JSON values."""
        last = [*self.train[-1:], *self.valid[-1:]]
        return {
            "name": self.name,
            "train": thinned(self.train, MOST_POINTS),
            "valid": self.valid,
            "update": max(each["update"] for each in last),
            "seconds": max(each["seconds"] for each in last),
            "best": {measure: self.best(measure) for measure in self.measures},
        }


def load_curve(run: Path) -> Curve:
    """Of a run folder, also while it trains."""
    _require_folder(run)
    lines, odd = read_odd_metrics(run)
    by_kind = {kind: [line for line in lines if line.get("kind") == kind] for kind in ("train", "valid")}
    if not by_kind["train"] and not by_kind["valid"]:
        damaged = f"; {len(odd)} lines are damaged" if odd else ""
        raise UsageError(f"{run / METRICS} has no numbers yet; they come with the first 50 updates{damaged}")
    return Curve(run.resolve().name, **by_kind, odd=tuple(odd))


@dataclass(frozen=True)
class Curves:
    """How some runs learned."""

    runs: tuple[Curve, ...]

    def draw(self, console: Console) -> None:
        """A table of each run in a terminal."""
        draw_curves(self.runs, console)

    def write(self, path: str | Path, command: str = "") -> None:
        """All side by side on one page; `command` made it."""
        write_curves(Path(path), self.runs, command)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"runs": [run.to_dict() for run in self.runs]}


def curve(*runs: str | Path, output: str | Path | None = None, follow: bool = False, command: str = "") -> Curves:
    """How runs learned: losses and scores over updates and time, of run folders, also of runs that still train.

    With `output` they are written as a page, which `command` made. To `follow` is to write it anew while the runs train, until each
    has reached its last update, or Ctrl-C (KeyboardInterrupt) ends it; the page reads itself again every few seconds."""
    if not runs:
        raise UsageError("name at least one run folder, such as runs/NAME")
    folders = [Path(run) for run in runs]
    if follow:
        if output is None:
            raise UsageError("to follow a run is to write its page anew, which needs a name, such as -o curve.html")
        _follow(folders, Path(output), command)
    curves = Curves(tuple(map(load_curve, folders)))
    if output is not None:
        curves.write(output, command)
    return curves


def _follow(runs: Sequence[Path], path: Path, command: str, pause: Callable[[float], object] = time.sleep) -> None:
    """Write the page whenever there is something new; a run that has not begun is waited for."""
    check_name(path)
    for run in runs:
        _require_folder(run)
    shown: list[int] = []
    try:
        while not all(map(_has_ended, runs)):
            begun = [run for run in runs if read_odd_metrics(run)[0]]
            sizes = [(run / METRICS).stat().st_size for run in begun]
            if sizes != shown:
                write_document(path, render_curves([*map(load_curve, begun)], command, REFRESH))
                shown = sizes
            pause(REFRESH)
    except KeyboardInterrupt:
        pass


def _has_ended(run: Path) -> bool:
    """Whether its metrics tell of the last update that its settings ask for. What stopped before may go on."""
    try:
        updates = recipes.load(run / "config.toml", finished=True).training.updates
    except (RegardError, OSError):
        return False  # it is about to be written
    return any(line["kind"] == "valid" and line["update"] >= updates for line in read_odd_metrics(run)[0])


def _require_folder(run: Path) -> None:
    if not run.is_dir():
        raise UsageError(f"{run} is not a run folder: it is where `regard train` writes, such as runs/NAME")


def thinned(lines: Sequence[dict[str, Any]], most: int) -> list[dict[str, float]]:
    """At most so many points, each the mean of its neighbours, at the last of them."""
    each = -(-len(lines) // most) if lines else 1
    points = []
    for first in range(0, len(lines), each):
        group = lines[first : first + each]
        mean = sum(line["loss"] for line in group) / len(group)
        points.append({**{name: group[-1][name] for name in ("update", "seconds", "learning_rate")}, "loss": mean})
    return points


def draw_curves(curves: Sequence[Curve], console: Console) -> None:
    """A table of each run's validations, the best of each measure in bold."""
    for curve in curves:
        console.print(Text(curve.name, "bold"))
        console.print(_table(curve))
        if curve.odd:
            lines = ", ".join(map(str, curve.odd[:MOST_ROWS]))
            console.print(
                Text(f"left out, for they are no metrics: {len(curve.odd)} lines of {METRICS} ({lines})", "dim")
            )


def _table(curve: Curve) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    for name in ("update", "minutes", "training loss", *(f"validation {name}" for name in curve.measures)):
        table.add_column(name, justify="right")
    best = {measure: curve.best(measure) for measure in curve.measures}
    rows = curve.valid or curve.train
    step = max(1, -(-len(rows) // MOST_ROWS))
    shown = [row for place, row in enumerate(rows) if (len(rows) - 1 - place) % step == 0 or row in best.values()]
    for row in shown:
        before = [line["loss"] for line in curve.train if line["update"] <= row["update"]]
        cells = [
            Text(f"{row[name]:,.3f}" if name in row else "", "bold" if row is best[name] else "")
            for name in curve.measures
        ]
        table.add_row(f"{row['update']:,}", f"{row['seconds'] / 60:.1f}", f"{before[-1]:.3f}" if before else "", *cells)
    return table


def write_curves(path: Path, curves: Sequence[Curve], command: str = "") -> None:
    """Write the page, making its folder if need be; `command` made it."""
    check_name(path)
    write_document(path, render_curves(curves, command))


def render_curves(curves: Sequence[Curve], command: str = "", refresh: int = 0) -> str:
    """The page as text; one that is written anew reads itself again after so many seconds."""
    title = ", ".join(curve.name for curve in curves)
    data = {"runs": [curve.to_dict() for curve in curves], "command": command, "refresh": refresh}
    return document(f"{title}: how it learned · regard", BODY, ["chart"], SCRIPTS, data)
