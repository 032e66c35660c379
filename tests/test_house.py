"""A house with one room per task: no stage asks which task it serves, and no task reaches into another's room."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from regard import config
from tests.test_imports import MODULES, PACKAGE, all_imports

ROOMS = {each.room for each in config.TASKS.values()}
NAMES = {name for each in config.TASKS.values() for name in (each.name, *each.aliases)}
RECIPES = {each.recipe.__name__ for each in config.TASKS.values()}
OWN = {PACKAGE / "config" / f"{room}.py" for room in ROOMS}  # where the rows' other halves are


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[2] if parts[:2] == ["regard", "tasks"] and len(parts) > 2 and parts[2] in ROOMS else None


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_opens_no_other(room: str) -> None:
    reached = [
        f"{module}, line {each.line}: {each.name}"
        for module in MODULES
        if room_of(module) == room
        for each in all_imports(module)
        if room_of(each.name) not in (None, room)
    ]
    assert not reached, "what two tasks need stands beside their rooms:\n" + "\n".join(reached)


def branches(path: Path) -> list[str]:
    """Comparisons with a task's name, and questions whether a recipe is of a task."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            constants = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            if constants & NAMES and "task" in ast.unparse(node):
                found.append(f"{path.relative_to(PACKAGE)}, line {node.lineno}: {ast.unparse(node)}")
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            if any(name in ast.unparse(node.args[1]) for name in RECIPES):
                found.append(f"{path.relative_to(PACKAGE)}, line {node.lineno}: {ast.unparse(node)}")
    return found


def test_nobody_asks_which_task_it_is() -> None:
    outside = [path for module, path in MODULES.items() if room_of(module) is None and path not in OWN]
    found = [each for path in outside for each in branches(path)]
    assert not found, "let the task's row say it:\n" + "\n".join(found)


def test_the_counter_of_branches_can_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = PACKAGE / "nowhere.py"
    text = "if recipe.task == 'translation': pass\nisinstance(recipe, config.LanguageRecipe)\nif verb == 'x': pass\n"
    monkeypatch.setattr(Path, "read_text", lambda self, encoding: text)
    assert len(branches(path)) == 2


def test_no_module_is_called_like_another() -> None:
    """Rooms have the same doors on purpose, and commands the names of what they call; elsewhere one name means one thing."""
    named = defaultdict(list)
    for module in MODULES:
        leaf = module.rpartition(".")[2]
        if (
            room_of(module) is None
            and MODULES[module].name != "__init__.py"
            and not module.startswith("regard.commands.")
        ):
            named[leaf].append(module)
    double = {leaf: modules for leaf, modules in named.items() if len(modules) > 1 and leaf not in SHARED}
    assert not double


SHARED = {
    "app",
    "classification",
    "image_codes",
    "language_model",
    "layers",
    "page",
    "tasks",
    "text_to_image",
    "training",
    "translation",
}
"""Names of one idea that more than one stage has a side of: its settings, its model, its page."""


def test_no_script_hides_a_module_of_python() -> None:
    """A script's own folder is looked in first: beside a `warnings.py`, torch would import that."""
    scripts = [path for folder in ("benchmarks", "examples") for path in (PACKAGE.parent / folder).glob("*.py")]
    assert scripts
    assert not {path.stem for path in scripts} & sys.stdlib_module_names


LONGEST = 400


def test_no_file_is_longer_than_one_reads_at_a_sitting() -> None:
    lengths = {
        str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES.values()
    }
    longer = {name: lines for name, lines in lengths.items() if lines >= LONGEST}
    assert not longer, "cut along its ideas"
