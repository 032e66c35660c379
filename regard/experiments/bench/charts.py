"""Lines over numbers as SVG: what the figures of all benches share. The colours are those of the page's style."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import NamedTuple

from regard.view.report import Both, both

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 380, 280, 54, 38, 8, 10
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MOST_TICKS = 9
Point = tuple[float, float]


class Scale(NamedTuple):
    """Numbers to places on paper, as they are or by their logarithms."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = True

    def __call__(self, value: float) -> float:
        share = (
            math.log(value / self.low) / math.log(self.high / self.low)
            if self.logarithmic
            else (value - self.low) / (self.high - self.low)
        )
        return self.start + (self.end - self.start) * share


class Curve(NamedTuple):
    """A line to draw; `extra` is markup beneath it."""

    style: str
    name: str
    points: Sequence[Point]
    extra: str = ""


def across(sizes: Sequence[float], logarithmic: bool = True) -> Scale:
    """From the first size to the last."""
    return Scale(sizes[0], sizes[-1], LEFT, WIDTH - RIGHT, logarithmic)


def upwards(values: Sequence[float], logarithmic: bool = True) -> Scale:
    """From a round number below all values to one above; not by logarithms from 0, if all are above it."""
    if logarithmic:
        low, high = (10.0**power for power in (math.floor(_log(min(values))), math.ceil(_log(max(values)))))
        return Scale(low, high if high > low else 10 * low, HEIGHT - BOTTOM, TOP)
    step = _step(max(*values, 0.0) - min(*values, 0.0))
    low, high = step * math.floor(min(*values, 0.0) / step + 1e-9), step * math.ceil(max(*values, 0.0) / step - 1e-9)
    return Scale(low, high if high > low else low + step, HEIGHT - BOTTOM, TOP, False)


def _log(value: float) -> float:
    """Rounded, so that 1000 is not a little above itself."""
    return round(math.log10(value), 9)


def _step(span: float, parts: int = 5) -> float:
    """A round number of which some five make up the span."""
    if span <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / parts))
    return power * next(each for each in STEPS if each * power * parts >= span * (1 - 1e-9))


def ticks(scale: Scale) -> list[float]:
    """Where the frame has lines across: powers of ten, or round numbers."""
    if not scale.logarithmic:
        return rounds(scale, 5)
    first, last = round(math.log10(scale.low)), round(math.log10(scale.high))
    every = -(-(last - first + 1) // MOST_TICKS)
    return [10.0**power for power in range(first, last + 1, every)]


def figure(
    title: Both, axis: Both, unit: Both, sizes: Sequence[float], curves: Sequence[Curve], over: Scale, up: Scale
) -> str:
    """A figure of curves over sizes."""
    drawn = "".join(f"<g class='{each.style}'>{each.extra}{_line(each, over, up)}</g>" for each in curves)
    return (
        f"<figure><figcaption>{both(title)}</figcaption><svg viewBox='0 0 {WIDTH} {HEIGHT}' role='img' "
        f"aria-label='{html.escape(title[0])}'>{_frame(over, up, sizes, axis, unit)}{drawn}</svg></figure>"
    )


def key(style: str, name: Both) -> str:
    """An entry of a legend."""
    sample = "<svg viewBox='0 0 28 10' aria-hidden='true'><path class='line' d='M0 5H28'/></svg>"
    return f"<li class='key {style}'>{sample}{both(name)}</li>"


def _line(curve: Curve, over: Scale, up: Scale) -> str:
    places = [(over(size), up(value)) for size, value in curve.points]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    dots = "".join(
        f"<circle class='dot' cx='{x:.1f}' cy='{y:.1f}' r='2.5'>"
        f"<title>{html.escape(curve.name)}: {size:,.6g} → {value:.3g}</title></circle>"
        for (x, y), (size, value) in zip(places, curve.points, strict=True)
    )
    return f"<path class='line' d='M{path}'/>{dots}" if places else ""


def _frame(over: Scale, up: Scale, sizes: Sequence[float], axis: Both, unit: Both) -> str:
    parts = []
    for size in sizes if over.logarithmic or len(sizes) <= MOST_TICKS else rounds(over, 8):
        x = f"{over(size):.1f}"
        parts.append(f"<path class='frame' d='M{x} {TOP}V{HEIGHT - BOTTOM}'/>")
        parts.append(f"<text x='{x}' y='{HEIGHT - BOTTOM + 14}' text-anchor='middle'>{size:g}</text>")
    for value in ticks(up):
        y = up(value)
        parts.append(f"<path class='frame' d='M{LEFT} {y:.1f}H{WIDTH - RIGHT}'/>")
        parts.append(f"<text x='{LEFT - 6}' y='{y + 4:.1f}' text-anchor='end'>{_short(value)}</text>")
    for code, name, of in zip(("en", "ko"), axis, unit, strict=True):
        parts.append(
            f"<text lang='{code}' x='{(LEFT + WIDTH) / 2}' y='{HEIGHT - 6}' text-anchor='middle'>{html.escape(name)}</text>"
        )
        middle = (TOP + HEIGHT - BOTTOM) / 2
        parts.append(
            f"<text lang='{code}' x='10' y='{middle}' text-anchor='middle' "
            f"transform='rotate(-90 10 {middle})'>{html.escape(of)}</text>"
        )
    return "".join(parts)


def rounds(scale: Scale, parts: int) -> list[float]:
    """Some round numbers on a scale that is not by logarithms."""
    step = _step(scale.high - scale.low, parts)
    first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
    return [step * place for place in range(first, last + 1)]


def _short(value: float) -> str:
    if 1e-4 <= abs(value) < 1e6 or value == 0:
        return f"{value:g}"
    mantissa, _, power = f"{value:.0e}".partition("e")
    return f"{mantissa}e{int(power)}"
