"""What every bench of a claim comes to: panels, each a table, a figure and a sentence that is read off their numbers.

A panel is drawn three times from the same numbers: as a table in a terminal (here), and as table and figure of a page
(charts.py, claim_page.py). No bench draws anything itself.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.config.field import bounds_of
from regard.errors import UsageError
from regard.experiments.bench.layers import memory_of_machine
from regard.experiments.bench.page import INSTEAD
from regard.files import replacing
from regard.view.document import check_name
from regard.view.report import Both

Found: TypeAlias = dict[str, dict[str, list[float]]]
"""What was measured → whose → one value for each place."""
HELD: Both = ("The claim holds here.", "이 측정에서 주장이 성립합니다.")
HELD_PARTLY: Both = ("The claim holds here only in part.", "이 측정에서는 주장이 일부만 성립합니다.")
FAILED: Both = ("The claim does not hold here.", "이 측정에서는 주장이 성립하지 않습니다.")
UNITS = {" T": 1e12, " G": 1e9, " M": 1e6}
MOST_COLUMNS = 9  # of a table; a figure shows every point


def number(value: float | None) -> str:
    """With three figures; millions and more as M, G, T, and what is far below 1 with an exponent."""
    if value is None:
        return "–"
    if value and abs(value) < 1e-3:
        mantissa, _, power = f"{value:.1e}".partition("e")
        return f"{mantissa}e{int(power)}"
    unit, size = next(((unit, size) for unit, size in UNITS.items() if abs(value) >= size), ("", 1.0))
    if value == int(value) and not unit:
        return f"{int(value):,}"
    scaled = value / size
    return f"{scaled:,.{max(0, 2 - math.floor(math.log10(abs(scaled))))}f}{unit}"


@dataclass(frozen=True)
class Line:
    """A row of a table, and a line of a figure."""

    key: str
    """In JSON."""
    name: Both
    values: tuple[float | None, ...]
    """One for each place of the panel; None: there is none."""
    colour: int = 0
    """Its number among the colours of a figure."""
    dashed: bool = False


@dataclass(frozen=True)
class Panel:
    """One finding."""

    key: str
    title: Both
    axis: Both
    """What the places are."""
    places: tuple[float, ...] | tuple[str, ...]
    """Numbers make a figure besides the table, names do not."""
    lines: tuple[Line, ...]
    reading: Both
    """One sentence, made from the numbers."""
    form: str = ""
    """How a number is written, as `format` spells it; else with three figures."""
    logarithmic: tuple[bool, bool] = (False, False)
    """Across, and upwards."""

    def columns(self) -> list[int]:
        """The places that a table has room for: the first, the last, and some between."""
        last = len(self.places) - 1
        if last < MOST_COLUMNS:
            return list(range(last + 1))
        return [round(last * step / (MOST_COLUMNS - 1)) for step in range(MOST_COLUMNS)]

    def shown(self, value: float | None) -> str:
        return number(value) if value is None or not self.form else format(value, self.form)

    def named(self, column: int) -> str:
        """A place as it stands above its column."""
        place = self.places[column]
        return place if isinstance(place, str) else f"{place:,.6g}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "key": self.key, "title": self.title[0], "axis": self.axis[0], "places": list(self.places),
            "lines": {each.key: list(each.values) for each in self.lines}, "reading": self.reading[0],
        }  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """What a bench of a claim measured: the same numbers for the same settings and seed."""

    name: str
    """As in `regard bench NAME`."""
    heading: Both
    claim: Both
    """What texts on attention say."""
    panels: tuple[Panel, ...]
    reading: Both
    """What you see, in one sentence; it says so if the claim does not hold."""
    holds: bool
    """Whether the numbers bear the whole claim out."""
    settings: dict[str, Any]
    partly: bool = False
    """Whether they bear out a part of it, if not the whole."""
    seconds: float = 0.0
    """That it took; neither page nor JSON tell, so that both are the same each time."""

    @property
    def verdict(self) -> Both:
        """The claim holds here, in part, or not."""
        return HELD if self.holds else HELD_PARTLY if self.partly else FAILED

    def __getitem__(self, key: str) -> dict[str, tuple[float | None, ...]]:
        """The numbers of a panel: line → one value for each place."""
        for panel in self.panels:
            if panel.key == key:
                return {line.key: line.values for line in panel.lines}
        known = ", ".join(panel.key for panel in self.panels)
        raise UsageError(f"bench {self.name} has no panel {key!r}; it has {known}")

    def draw(self, console: Console) -> None:
        """The tables in a terminal, and what they say."""
        console.print(Text(f"The claim: {self.claim[0]}"))
        for panel in self.panels:
            over = "" if isinstance(panel.places[0], str) else f", by {panel.axis[0]}"
            console.print(Text(f"\n{panel.title[0]}{over}", "bold"))
            console.print(_table(panel), Text(panel.reading[0], "dim"))
        console.print(Text.assemble(("\nWhat you see: ", "bold"), f"{self.reading[0]} {self.verdict[0]}"))
        console.print(Text(f"({self.seconds:.1f} seconds)", "dim"))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "bench": self.name, "claim": self.claim[0], "holds": self.holds, "partly": self.partly, "reading": self.reading[0],
            "settings": self.settings, "panels": [each.to_dict() for each in self.panels],
        }  # fmt: skip

    def write(self, path: str | Path, command: str = "") -> None:
        """One page with tables and figures in English and Korean; `command` made it."""
        from regard.experiments.bench.claim_page import write_claim

        write_claim(Path(path), self, command)


def _table(panel: Panel) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("", no_wrap=True)
    for column in panel.columns():
        table.add_column(panel.named(column), justify="right")
    for line in panel.lines:
        table.add_row(line.name[0], *(panel.shown(line.values[column]) for column in panel.columns()))
    return table


def check(asked: Any) -> None:
    """Say which setting is out of its bounds before anything is measured; settings state them (config/field.py)."""
    assert is_dataclass(asked), "settings are dataclasses"
    for each in fields(asked):
        name, value = each.name, getattr(asked, each.name)
        usual: Any = each.default
        several = isinstance(usual, tuple)
        values = tuple(value) if several else (value,)
        whole = not isinstance(usual[0] if several else usual, float)
        kinds = int if whole else (int, float)
        if not values or not all(isinstance(one, kinds) and not isinstance(one, bool) for one in values):
            wanted = f"{'whole ' if whole else ''}number{'s' if several else ''}"
            raise UsageError(f"`{name}` must be {'' if several else 'a '}{wanted}, not {value!r}")
        for one in values:
            if wrong := bounds_of(each).broken_by(one) if one == one else "a number":
                raise UsageError(f"`{name}` must be {wrong}, not {one}")
        if list(values) != sorted(set(values)):
            raise UsageError(f"`{name}` must rise, each named once; not {', '.join(map(str, values))}")


def check_memory(numbers: int, smaller: str) -> None:
    """Refuse what would need more memory than the machine has: so many numbers at once, four bytes each and as much again."""
    needed, there = 8 * numbers, memory_of_machine()
    if there and needed > there:
        raise UsageError(
            f"this would need some {needed / 1e9:,.0f} GB, and this machine has {there / 1e9:,.0f}; choose {smaller}"
        )


def measured(
    run: Callable[[], Measured], output: str | Path | None = None, numbers: str | Path | None = None, command: str = ""
) -> Measured:
    """Run a bench and write its page (`output`) and its JSON (`numbers`), having looked first whether that can be."""
    if output is not None:
        check_name(Path(output), INSTEAD)
    for path in (output, numbers):
        if path is not None:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    found = run()
    found = replace(found, seconds=time.perf_counter() - began)
    if numbers is not None:
        with replacing(Path(numbers)) as temporary:
            temporary.write_text(json.dumps(found.to_dict(), indent=1, allow_nan=False), encoding="utf-8")
    if output is not None:
        found.write(output, command)
    return found


def settings_of(asked: Any, **more: Any) -> dict[str, Any]:
    """As JSON and the head of a page tell them."""
    return {
        **{name: list(value) if isinstance(value, tuple) else value for name, value in asdict(asked).items()},
        **more,
    }


def lines_of(
    names: Mapping[str, Both], values: Mapping[str, Sequence[float | None]], dashed: Sequence[str] = ()
) -> tuple[Line, ...]:
    """A line for each name, in this order, each with its colour."""
    return tuple(
        Line(key, name, tuple(values[key]), colour, key in dashed) for colour, (key, name) in enumerate(names.items())
    )


def series(first: Iterable[str], second: Iterable[str]) -> Found:
    """Where values are gathered."""
    names = tuple(second)
    return {what: {name: [] for name in names} for what in first}
