"""The checker of the pages' JavaScript reads `pages/*.json`: each names the scripts of one page, as Python puts them in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.experiments.race import page as race
from regard.serve import app
from regard.tasks.image_classification import page as picture
from regard.tasks.text_to_image import live_page as painter
from regard.tasks.text_to_image import page as painting
from regard.view import curve, playground, portable, scenes
from regard.view import map as vector_map

ROOT = Path(__file__).parents[2]
ASSETS = "regard/view/assets"
PAGES = {
    "attention": scenes.SCRIPTS,
    "race": race.SCRIPTS,
    "curve": curve.SCRIPTS,
    "map": vector_map.SCRIPTS,
    "picture": (*picture.SCRIPTS, "report"),
    "painting": painting.SCRIPTS,
    "painting_inside": painter.INSIDE_SCRIPTS,
    "painter": painter.PROGRAM,
    "ask": app.ASK_SCRIPTS,
    "report": ("report",),
    "playground": playground.SCRIPTS,
    "portable": portable.PROGRAM,
}
CHECKED = {name: [f"{ASSETS}/{each}.js" for each in scripts] for name, scripts in PAGES.items()}
CHECKED["docs"] = [f"{ASSETS}/dom.js", f"{ASSETS}/key.js", "regard/serve/docs.js"]


@pytest.mark.parametrize("name", CHECKED)
def test_a_page_is_checked_with_the_scripts_that_it_has(name: str) -> None:
    types, *scripts = json.loads((ROOT / "pages" / f"{name}.json").read_text(encoding="utf-8"))["files"]
    assert types == "types.d.ts"
    assert scripts == [f"../{each}" for each in CHECKED[name]]


def test_every_page_and_every_script_is_checked() -> None:
    referred = json.loads((ROOT / "tsconfig.json").read_text(encoding="utf-8"))["references"]
    assert {each["path"] for each in referred} == {f"pages/{name}.json" for name in CHECKED}
    assert {f"pages/{path.name}" for path in (ROOT / "pages").glob("*.json")} == {each["path"] for each in referred}
    there = {path.relative_to(ROOT).as_posix() for path in (ROOT / "regard").rglob("*.js")}
    assert there == {each for scripts in CHECKED.values() for each in scripts}


def test_the_page_of_the_api_has_its_scripts_and_no_other_page_of_the_package_has_any() -> None:
    shown = app._docs_page()
    places = [shown.index((ROOT / each).read_text(encoding="utf-8")) for each in CHECKED["docs"]]
    assert places == sorted(places)
    for path in (ROOT / "regard").rglob("*.html"):
        markup = path.read_text(encoding="utf-8")
        for script in markup.split("<script>")[1:]:
            inside = script.partition("</script>")[0]
            assert inside.split() == ['"use', 'strict";', "/*SCRIPT*/"], f"{path} has a script that nothing checks"


def test_the_lock_names_no_host() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    assert len(packages) > 1
    assert not [name for name, facts in packages.items() if "resolved" in facts]
    assert all("integrity" in facts for name, facts in packages.items() if name)


def test_the_lock_is_complete_on_every_platform() -> None:
    packages = json.loads((ROOT / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    wanted = {each for facts in packages.values() for each in facts.get("optionalDependencies", {})}
    assert wanted
    assert not [each for each in wanted if f"node_modules/{each}" not in packages]
