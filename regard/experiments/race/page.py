"""What a race found, as a table in the terminal and as one HTML file that needs nothing else.

`comparison` is what regard/experiments/race/comparison.py gives: plain JSON values, which the page carries along.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.view.document import DRAWN, check_name, document, write_document
from regard.view.report import Both

CHANCE = 0.05
SCRIPTS = ("data", "dom", "chart", "race")
BODY = (
    """<main class="race">
  <header id="header"></header>
  <div id="sections"></div>
  <footer id="footer"></footer>
</main>
"""
    + DRAWN
)
MEGA = 1_000_000

Comparison = Mapping[str, Any]


def headline(comparison: Comparison) -> Both:
    """Who won, by how much, and whether chance could have done it."""
    first, *others = ranked(comparison)
    best = first["scores"][0]
    score = f"{best['name']} {best['value']:.2f}"
    if not others:
        return f"{first['name']}: {score}", f"{first['name']}: {score}"
    second = others[0]
    ahead = abs(best["value"] - second["scores"][0]["value"])
    p_value = p_value_of(comparison, first["name"], second["name"])
    more, korean = ("less", "낮습니다") if comparison["lower"] else ("more", "높습니다")
    verb = "is ahead" if p_value < CHANCE else "is ahead, though chance could have done it"
    doubt = "" if p_value < CHANCE else " 다만 우연히 생길 수 있는 차이입니다."
    return (
        f"{first['name']} {verb}: {score}, {ahead:.2f} {more} than {second['name']} (p = {p_value:.3f})",
        f"{first['name']} 1위: {score}, {second['name']}보다 {ahead:.2f} {korean}(p = {p_value:.3f}).{doubt}",
    )


def ranked(comparison: Comparison) -> list[dict[str, Any]]:
    """The entrants, the best first."""
    sign = 1 if comparison["lower"] else -1
    return sorted(comparison["entrants"], key=lambda entrant: sign * entrant["scores"][0]["value"])


def p_value_of(comparison: Comparison, one: str, other: str) -> float:
    """How often chance alone would separate two equal entrants as far in what decides."""
    (pair,) = (each for each in comparison["pairs"] if {each["a"], each["b"]} == {one, other})
    return float(pair["metrics"][0]["p_value"])


def draw_race(comparison: Comparison, console: Console) -> None:
    """The tables in a terminal, the best first: what each entrant scored, and what it cost."""
    first, *_ = entrants = ranked(comparison)
    costs = ("parameters", "updates", "minutes", f"{first['unit']}/s", "answers/s", "memory")
    scores = [f"{each['name']}, 95 %" for each in first["scores"]]
    results, efforts = table_of(*scores, f"p against {first['name']}"), table_of(*costs)
    for entrant in entrants:
        found = [f"{each['value']:.2f} [{each['low']:.1f}, {each['high']:.1f}]" for each in entrant["scores"]]
        p_value = "" if entrant is first else f"{p_value_of(comparison, first['name'], entrant['name']):.3f}"
        results.add_row(entrant["name"], *found, p_value)
        speed = entrant["trained_per_second"]
        efforts.add_row(
            entrant["name"], f"{entrant['parameters']:,}", f"{entrant['updates']:,}", f"{entrant['seconds'] / 60:.1f}",
            "–" if speed is None else f"{speed:,.0f}", f"{entrant['speed']['texts_per_second']:,.0f}",
            f"{entrant['memory'] / MEGA:,.0f} MB",
        )  # fmt: skip
    console.print(Text(f"\n{headline(comparison)[0]}", "bold"))
    console.print(results)
    for each in first["scores"]:
        console.print(Text(f"{each['name']}: {each['signature']}", "dim"), soft_wrap=True)
    console.print()
    console.print(efforts)


def table_of(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("entrant", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def write_race(path: Path, comparison: Comparison) -> None:
    """Write the page, making its folder if need be."""
    check_name(path)
    write_document(path, render_race(comparison))


def render_race(comparison: Comparison) -> str:
    """The page as text."""
    english, korean = headline(comparison)
    data = {**comparison, "headline": {"en": english, "ko": korean}}
    return document(f"{comparison['name']}: a race · regard", BODY, ["chart", "race"], SCRIPTS, data)
