"""What the measurements say: how fast time and memory grow with n and d, and where self-attention loses to recurrence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.experiments.bench.layers import KINDS, Findings
from regard.experiments.bench.routes import LENGTHS as ROUTE_LENGTHS

FEWEST = 3  # points of a fit, where there are so many
MEASURES = {"forward": "forward", "both": "+ backward", "memory": "memory"}
ATTENTIONS = {"self-attention": "whole", "self-attention alone": "alone"}
PAPER = {  # sequential operations, longest path, and where the paper states it
    "self-attention": ("1", "1", "Table 1"),
    "recurrent": ("n", "n", "Table 1"),
    "convolution": ("1", "n/k", "section 4"),
    "convolution, dilated": ("1", "logₖ n", "Table 1"),
    "restricted": ("1", "n/r", "Table 1"),
}


ABOUT_GROWTH = (
    "products: the exponent of all multiplications in matrix products, at the same points. The paper counts the attention "
    "operation alone; a whole layer adds projections, 4·n·d², that hide n²·d until n is beyond 2d."
)
ABOUT_ROUTES = (
    "chain: operations of one layer that wait for each other. layers: until the last output has a gradient at every input. "
    "path: chain × layers, as information passes through a recurrent layer's every step. Table 1's path of a convolution, "
    "logₖ n, is that of dilated kernels; for plain ones section 4 says n/k."
)


class Growth(NamedTuple):
    """How a kind of layer grows along one axis, as exponents: 2 means that twice the size costs four times as much."""

    kind: str
    axis: str
    """`length` or `width`."""
    fixed: int
    """The other one, which stays the same."""
    points: tuple[int, ...]
    """Sizes that the fit goes through."""
    theory: int
    """What the paper's formula says."""
    counted: float | None
    """What this layer's multiplications say at these sizes, projections and all; None: too few points."""
    forward: float | None
    both: float | None
    memory: float | None


class Crossing(NamedTuple):
    """Up to which length self-attention is faster than the recurrent layer, at one width."""

    width: int
    kind: str
    measure: str
    length: float | None
    """Interpolated; None: it wins at all lengths, or at none."""
    wins: bool
    """Whether it is faster up to there; without a crossing, whether it wins at all lengths."""
    tried: tuple[int, int]
    """The shortest and the longest length that was measured."""


def growths(found: Findings) -> list[Growth]:
    """Exponents of every kind in n and in d, through the middle of the grid."""
    asked = found.settings
    return [
        growth(found, kind, axis, fixed)
        for axis, fixed in (("length", asked.at_width), ("width", asked.at_length))
        for kind in KINDS
    ]


def growth(found: Findings, kind: str, axis: str, fixed: int) -> Growth:
    measured = series(found, kind, axis, fixed)
    points = upper(list(measured))
    forward, both, memory = (exponent(points, [measured[size][name] for size in points]) for name in MEASURES)
    places = [(size, fixed) if axis == "length" else (fixed, size) for size in points]
    counted = exponent(points, [KINDS[kind].products(found.settings, n, d) for n, d in places])
    theory = KINDS[kind].theory[0 if axis == "length" else 1]
    return Growth(kind, axis, fixed, points, theory, counted, forward, both, memory)


def series(found: Findings, kind: str, axis: str, fixed: int) -> dict[int, dict[str, float]]:
    """What was measured of a kind along an axis: size → measure → value."""
    other = "width" if axis == "length" else "length"
    return {
        getattr(cell, axis): {name: getattr(cell, name) for name in MEASURES}
        for cell in found.cells
        if cell.kind == kind and getattr(cell, other) == fixed
    }


def upper(sizes: Sequence[int]) -> tuple[int, ...]:
    """The larger half of the sizes: at small ones the fixed cost of calling anything hides how it grows."""
    return tuple(sizes)[-max(FEWEST, (len(sizes) + 1) // 2) :]


def exponent(sizes: Sequence[int], values: Sequence[float]) -> float | None:
    """The slope of a straight line through the logarithms, by least squares; None for fewer than two points."""
    if len(sizes) < 2:
        return None
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def crossings(found: Findings) -> list[Crossing]:
    """For each width, with projections and without, forward and with backward."""
    return [
        crossing(
            width, kind, measure, series(found, kind, "length", width), series(found, "recurrent", "length", width)
        )
        for width in found.settings.widths
        for kind in ATTENTIONS
        for measure in ("forward", "both")
        if series(found, kind, "length", width)
    ]  # fmt: skip


def crossing(
    width: int,
    kind: str,
    measure: str,
    attention: Mapping[int, Mapping[str, float]],
    recurrent: Mapping[int, Mapping[str, float]],
) -> Crossing:
    """The last length where a lead is lost: a straight line between the logarithms of two neighbours."""
    lengths = list(attention)
    tried = lengths[0], lengths[-1]
    behind = [math.log(attention[each][measure] / recurrent[each][measure]) for each in lengths]
    lost = [place for place in range(1, len(lengths)) if behind[place - 1] < 0 <= behind[place]]
    if behind[-1] < 0 or not lost:
        return Crossing(width, kind, measure, None, behind[-1] < 0, tried)
    one, other = lost[-1] - 1, lost[-1]
    share = behind[one] / (behind[one] - behind[other])
    return Crossing(width, kind, measure, lengths[one] * (lengths[other] / lengths[one]) ** share, True, tried)


def report(found: Findings) -> dict[str, Any]:
    """Measurements and what they say, for JSON and for the page."""
    return {
        **found.to_dict(),
        "kinds": {name: {"cost": kind.cost, "alone": kind.alone} for name, kind in KINDS.items()},
        "paper": PAPER,
        "growths": [each._asdict() for each in growths(found)],
        "crossings": [each._asdict() for each in crossings(found)],
    }


def draw(found: Findings, console: Console) -> None:
    """The tables in a terminal."""
    asked, where = found.settings, found.machine
    console.print(Text(f"{where['processor']}, {where['threads']} of {where['cores']} cores, torch {where['torch']}"))
    console.print(Text(
        f"batch {asked.batch}, {asked.heads} heads, kernel k = {asked.kernel}, window r = {asked.window}; "
        f"medians of {asked.repeats}", "dim"
    ))  # fmt: skip
    if not found.complete:
        console.print(Text("Interrupted: what follows was measured until then.", "yellow"))
    if found.cells:
        grown = growths(found)
        for axis in ("length", "width"):
            console.print("", growth_table([each for each in grown if each.axis == axis]))
        console.print(Text(ABOUT_GROWTH, "dim"))
        console.print("", time_table(found), "", crossing_table(found))
    if found.routes:
        console.print("", route_table(found), Text(ABOUT_ROUTES, "dim"))


def growth_table(grown: Sequence[Growth]) -> Table:
    first = grown[0]
    letter, other = ("n", "d") if first.axis == "length" else ("d", "n")
    points = ", ".join(map(str, first.points))
    table = _table(f"Exponent of {letter} at {other} = {first.fixed}, fitted through {letter} = {points}")
    for name in ("cost", "paper", "products", *MEASURES.values()):
        table.add_column(name, justify="left" if name == "cost" else "right")
    for each in grown:
        numbers = (each.counted, each.forward, each.both, each.memory)
        table.add_row(each.kind, KINDS[each.kind].cost, str(each.theory), *map(shown, numbers))
    return table


def time_table(found: Findings) -> Table:
    width = found.settings.at_width
    table = _table(f"Milliseconds forward + backward at d = {width}, for n =")
    for length in found.settings.lengths:
        table.add_column(str(length), justify="right")
    for kind in KINDS:
        measured = series(found, kind, "length", width)
        table.add_row(kind, *(milliseconds(each["both"]) for each in measured.values()))
    return table


def crossing_table(found: Findings) -> Table:
    table = _table("Self-attention is faster than the recurrent layer up to n =")
    columns = [(kind, measure) for measure in ("forward", "both") for kind in ATTENTIONS]
    for kind, measure in columns:
        table.add_column(f"{MEASURES[measure]}, {ATTENTIONS[kind]}", justify="right")
    crossed = {(each.width, each.kind, each.measure): until(each) for each in crossings(found)}
    for width in found.settings.widths:
        table.add_row(f"d = {width}", *(crossed.get((width, *column), "–") for column in columns))
    return table


def route_table(found: Findings) -> Table:
    table = _table(f"Sequential operations and path length at n = {', '.join(map(str, ROUTE_LENGTHS))}")
    for name in ("paper", "stated in", "chain", "layers", "path"):
        table.add_column(name, justify="right")
    for kind, (sequential, path, where) in PAPER.items():
        rows = [each for each in found.routes if each.kind == kind]
        counts = (", ".join(str(getattr(each, name)) for each in rows) for name in ("chain", "layers", "path"))
        table.add_row(kind, f"{sequential}, {path}", where, *counts)
    return table


def until(each: Crossing) -> str:
    """A crossing as people read it."""
    if each.length is not None:
        return f"{each.length:,.0f}"
    return f"> {each.tried[1]:,}" if each.wins else f"< {each.tried[0]:,}"


def shown(number: float | None) -> str:
    return "–" if number is None else f"{number:.2f}"


def milliseconds(seconds: float) -> str:
    """Three figures."""
    return f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:,.0f}"


def _table(title: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", title=title, title_justify="left", title_style="bold")
    table.add_column("", no_wrap=True)
    return table
