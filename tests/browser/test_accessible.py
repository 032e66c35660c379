"""Every page can be read by everyone: axe-core finds nothing, and text has 4.5 to 1 on whatever it stands, in light and dark."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page

import regard
from regard.experiments.race.page import write_race
from regard.tasks.heads_page import write_heads
from regard.view.curve import load_curve, write_curves
from regard.view.scenes import write_page
from tests.bench.claims import MADE
from tests.browser.conftest import Open
from tests.browser.reading import go_to, tabs_of
from tests.tasks.shapes import shapes
from tests.tasks.shapes import untrained as eye
from tests.tasks.test_head_patterns import found_in
from tests.tasks.test_heads import made_up
from tests.tasks.writers import mixed_tokenizer, recipe_of, untaught
from tests.view.pages import seen
from tests.view.races import comparison
from tests.view.test_classification import decision
from tests.view.test_curve import run_of

AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
RULES = {"light": ["wcag2a", "wcag2aa", "wcag21aa"], "dark": ["color-contrast"]}  # no more depends on the scheme
RUN = """(rules) => {
    axe.configure({ checks: [{ id: "color-contrast", options: { ignoreLength: true } }] });  // a digit is text, too
    return axe.run(document, { resultTypes: ["violations"], runOnly: rules });
}"""


@pytest.fixture(scope="session")
def axe() -> str:
    if not AXE.is_file() and not os.environ.get("REGARD_NEEDS_NODE"):
        pytest.skip("axe-core is not installed: `make check` does it, with npm")
    return AXE.read_text(encoding="utf-8")


def violations(page: Page, rules: list[str]) -> list[str]:
    return [
        f"{found['id']}: {node['target'][0]} {node['failureSummary']}"
        for found in page.evaluate(RUN, rules)["violations"]
        for node in found["nodes"]
    ]


def translation(path: Path) -> None:
    write_page(path, [regard.load("demo").attention("Guten Tag.")])


def language_model(path: Path) -> None:
    untaught(mixed_tokenizer(), recipe_of("transformer", context=32)).look("not bad").save(path)


def picture(path: Path) -> None:
    regard.load(eye(path.parent / "model.safetensors", "vit")).look(shapes(1, 1)[0][0]).write(path, "regard view x")


def painting(path: Path, live: bool) -> None:
    regard.view("painter", "a green coat", output=path, live=live)


PAGES: dict[str, Callable[[Path], None]] = {
    "translation": translation,
    "language_model": language_model,
    "classifier": lambda path: write_page(path, [decision()]),
    "race": lambda path: write_race(path, comparison()),
    "heads": lambda path: write_heads(path, made_up([0.9, 0.5, 0.04, 0.01]), "regard heads m"),
    "patterns": lambda path: found_in(seen().to_dict(walk=False)).write(path, "regard heads m --corpus x"),
    "bench": lambda path: MADE["scaling"]().write(path, "regard bench scaling"),
    "curve": lambda path: write_curves(path, [load_curve(run_of(path.parent / name)) for name in "ab"], "regard curve"),
    "picture": picture,
    "painting": lambda path: painting(path, live=False),
    "painter inside": lambda path: painting(path, live=True),
    "playground": regard.playground,
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "heads" else pytest.mark.slow) for name in PAGES]
)
def test_nobody_is_left_out(open_page: Open, tmp_path: Path, axe: str, name: str) -> None:
    PAGES[name](tmp_path / "page.html")
    page = open_page(tmp_path / "page.html")
    page.evaluate(axe)
    for tab in tabs_of(page) or [""]:
        if tab:
            go_to(page, tab)
        for scheme, rules in RULES.items():
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert violations(page, rules) == [], f"{tab}, {scheme}"
