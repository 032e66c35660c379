"""Paths in a recipe: which of them may be told to others, or be believed when others tell them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from regard.config.field import bounds_of
from regard.config.recipe import Recipe
from regard.config.tasks import task_settings

BUNDLED = "bundled:"
"""Before the name of a file that comes with regard."""
R = TypeVar("R", bound=Recipe)


def without_paths(recipe: R) -> R:
    """A recipe that says nothing of the machine it is on.

    So it is written into a model file, since where data lay is nobody else's business; and so it is read from one, since a
    stranger's file may not say where this machine reads and writes.
    """
    sections: dict[str, Any] = {}
    for name in task_settings(recipe.task).sections:
        section = getattr(recipe, name)
        changes: dict[str, Any] = {}
        for each in fields(section):
            if (kind := bounds_of(each).path) == "file":
                changes[each.name] = _all_inside(getattr(section, each.name))
            elif kind == "place":
                changes[each.name] = getattr(type(section)(), each.name)
        sections[name] = replace(section, **changes)
    return replace(recipe, **sections)


def _all_inside(files: Any) -> Any:
    """Each path of a setting as `inside` leaves it: a name, several, or several by the name of their test set."""
    if isinstance(files, Mapping):
        return {name: _all_inside(each) for name, each in files.items()}
    if isinstance(files, tuple):
        return tuple(_all_inside(each) for each in files)
    if is_dataclass(files) and not isinstance(files, type):
        paths = [each.name for each in fields(files) if bounds_of(each).path == "file"]
        return replace(files, **{name: _all_inside(getattr(files, name)) for name in paths})
    return inside(files)


def inside(path: str) -> str:
    """The path, or only its last name if it leads out of the folder in which it starts."""
    found = Path(path)
    if path.startswith(BUNDLED) or not (found.anchor or ".." in found.parts):
        return path
    return "" if found.name == ".." else found.name
