"""Tables → settings: each value in its type, within its bounds, in its section; and all that is wrong in them, told together
with where it stands and what may be meant."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from regard.config.data import is_plain
from regard.config.field import bounds_of
from regard.config.recipe import Recipe, TaskSettings
from regard.config.synonyms import explain, explain_section
from regard.config.tasks import TASKS, names
from regard.errors import did_you_mean, shown

TOO_DEEP = "nests lists or tables too deep to be a recipe"
MOST_MISTAKES = 20
"""That are told at once; whoever made more mends these first."""


@dataclass(frozen=True)
class Origin:
    """Says where a setting was given: by which `--set`, or in which line, which the TOML parser does not keep."""

    path: Path
    text: str = ""
    overrides: tuple[str, ...] = ()

    def of(self, wanted: str) -> str:
        """` (recipe.toml, line 7)` for `model.heads`, and for `data.test` also where only `data.test.news` stands."""
        for override in reversed(self.overrides):
            if f"{override.partition('=')[0].strip()}.".startswith(f"{wanted}."):
                return f" (--set {override if len(override) < 200 else override[:200] + '…'})"
        line = self._lines.get(wanted)
        return f" ({self.path}, line {line})" if line else f" ({self.path})"

    @cached_property
    def _lines(self) -> dict[str, int]:
        """By name of a setting, a table of them or a section: the first line in which it stands."""
        lines: dict[str, int] = {}
        section = ""
        for number, line in enumerate(self.text.split("\n"), start=1):
            if found := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line):
                section = name = found[1]
            elif found := re.match(r"\s*([\w.\"'-]+)\s*=", line):
                name = f"{section}.{found[1]}" if section else found[1]
            else:
                continue
            parts = re.sub("[\"']", "", name).split(".")[:4]  # no setting lies deeper
            for depth in range(len(parts)):
                lines.setdefault(".".join(parts[: depth + 1]), number)
        return lines


def build(given: dict[str, Any], origin: Origin) -> tuple[Recipe, list[str]]:
    """What is given as settings, and the mistakes in it; with any, the settings mean nothing."""
    try:
        recipe, mistakes = _build_shallow(given, origin)
        return recipe, _first(mistakes)
    except RecursionError:  # of dotted keys, which are read however deep they are, but cannot be quoted
        return Recipe(), [f"{origin.path} {TOO_DEEP}"]


def _first(mistakes: list[str]) -> list[str]:
    """As many as a person can mend at once."""
    if len(mistakes) <= MOST_MISTAKES:
        return mistakes
    return [*mistakes[:MOST_MISTAKES], f"and more: only the first {MOST_MISTAKES} mistakes are told"]


def _build_shallow(given: dict[str, Any], origin: Origin) -> tuple[Recipe, list[str]]:
    task, known = given.get("task", next(iter(TASKS))), names()
    if not isinstance(task, str) or task not in known:
        hint = did_you_mean(str(task), known)
        return Recipe(), [f"unknown task {shown(task)}{origin.of('task')}.{hint} Known: {', '.join(TASKS)}"]
    row = known[task]
    mistakes: list[str] = []
    name = given.get("name", "model")
    if not is_plain(name):
        mistakes.append(f"name must be a text in quotes that can name a folder, not {shown(name)}{origin.of('name')}")
    model = given.get("model", {})
    model, architecture = _shape(dict(model) if isinstance(model, dict) else {}, row, origin, mistakes)
    classes = {**row.sections, "model": row.architectures[architecture].settings}
    known_settings = {section: [each.name for each in fields(kind)] for section, kind in classes.items()}
    for key, value in given.items():
        if key in classes and not isinstance(value, dict):
            mistakes.append(f"'{key}' must be a section [{key}]{origin.of(key)}")
        elif key not in (*classes, "name", "task"):
            hint = did_you_mean(str(key), [*classes, "name", "task"]) or explain_section(str(key), known_settings)
            mistakes.append(f"unknown setting {shown(key)}{origin.of(key)}.{hint}")
        if len(mistakes) > MOST_MISTAKES:
            break
    sections: dict[str, Any] = {}
    for section, kind in classes.items():
        content = model if section == "model" else given.get(section, {})
        content = content if isinstance(content, dict) else {}
        hint_for = partial(explain, section, known=known_settings)
        if section == "model":
            hint_for = partial(_of_others, architecture, row, hint_for)
        sections[section] = _read_section(section, kind, content, hint_for, origin, mistakes)
    recipe = row.recipe(name=str(name), task=row.name, **sections)
    return recipe, mistakes or [*recipe.impossible(), *_unknown_metric(recipe, row)]


def _of_others(architecture: str, row: TaskSettings, hint_for: Callable[[str], str], key: str) -> str:
    """Whose a setting is that other architectures of the task have; else what may be meant."""
    theirs = [
        f'"{name}"' for name, each in row.architectures.items() if key in {own.name for own in fields(each.settings)}
    ]
    if not theirs:
        return hint_for(key)
    return f" {architecture} has none; model.architecture = {' and '.join(theirs)} {'has' if len(theirs) == 1 else 'have'} it."


def _unknown_metric(recipe: Recipe, row: TaskSettings) -> list[str]:
    metric = recipe.training.metric
    if metric in row.metrics:
        return []
    hint = did_you_mean(metric, row.metrics)
    return [f"training.metric must be one of {', '.join(row.metrics)}, not {shown(metric)}.{hint}"]


def _shape(model: dict[str, Any], row: TaskSettings, origin: Origin, mistakes: list[str]) -> tuple[dict[str, Any], str]:
    """`[model]` with the numbers that its size stands for, and its architecture; what is wrong is left out of it."""
    known = row.architectures
    name = model.get("architecture", next(iter(known)))
    if not isinstance(name, str) or name not in known:
        where, hint = origin.of("model.architecture"), did_you_mean(str(name), known)
        mistakes.append(
            f"unknown architecture {shown(name)}{where}.{hint} Known: {', '.join(known)}. "
            "One of a plug-in is known after --plugin FILE, in Python after importing it."
        )
        name = next(iter(known))
        del model["architecture"]
    sizes = known[name].sizes
    size = model.get("size", "base")
    if sizes and (not isinstance(size, str) or size not in sizes):
        mistakes.append(f"model.size must be one of {', '.join(sizes)}, not {shown(size)}{origin.of('model.size')}")
        return {key: value for key, value in model.items() if key != "size"}, name
    return {**sizes.get(size, {}), **model}, name


def _read_section(
    section: str,
    kind: type,
    content: dict[str, Any],
    hint_for: Callable[[str], str],
    origin: Origin,
    mistakes: list[str],
) -> Any:
    """`hint_for` tells of a key that no setting has what may be meant."""
    hints, known = get_type_hints(kind), {each.name: bounds_of(each) for each in fields(kind)}
    values: dict[str, Any] = {}
    for key, value in content.items():
        if len(mistakes) > MOST_MISTAKES:
            break
        name = f"{section}.{key}"
        where = origin.of(name)
        if key not in known:
            mistakes.append(f"unknown setting {shown(name)}{where}.{hint_for(str(key))}")
            continue
        try:
            values[key] = convert(value, hints[key])
        except TypeError as error:
            mistakes.append(f"{name} must be {error}, not {shown(value)}{where}")
            continue
        bounds = known[key]
        if bounds.choices and values[key] not in bounds.choices:
            hint = did_you_mean(str(value), bounds.choices)
            mistakes.append(f"{name} must be one of {', '.join(bounds.choices)}, not {shown(value)}{where}.{hint}")
        for number in values[key] if isinstance(values[key], tuple) else (values[key],):
            if limit := isinstance(number, (int, float)) and bounds.broken_by(number):
                mistakes.append(f"{name} must be {limit}, not {shown(value)}{where}")
                break
    return kind(**values)


def convert(value: Any, wanted: Any) -> Any:
    """The value in the wanted type, or TypeError with the name of what was wanted: of recipes, and of all that a model file
    says."""
    origin = get_origin(wanted)
    if origin is tuple:
        inner = get_args(wanted)
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)) or (inner[-1] is not ... and len(items) != len(inner)):
            raise TypeError("a list" if inner[-1] is ... else f"a list of {len(inner)} values")
        return tuple(convert(item, inner[0]) for item in items)
    if is_dataclass(wanted):
        return _entry(value, wanted)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise TypeError("a table")
        return {str(key): convert(item, get_args(wanted)[1]) for key, item in value.items()}
    if wanted is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if not abs(value) <= sys.float_info.max:  # inf, nan, or a whole number beyond every float
            raise TypeError("a finite number")
        return float(value)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        names = {int: "a whole number", float: "a number", str: "a text in quotes", bool: "true or false"}
        raise TypeError(names[wanted])
    return value


def _entry(value: Any, kind: Any) -> Any:
    """One table of an array of them."""
    if not isinstance(value, Mapping):
        raise TypeError("a table")
    hints = get_type_hints(kind)
    values = {}
    for key, item in value.items():
        if key not in hints:
            raise TypeError(f"a table of {', '.join(hints)} (there is no {shown(key)}.{did_you_mean(str(key), hints)})")
        try:
            values[key] = convert(item, hints[key])
        except TypeError as error:
            raise TypeError(f"a table whose {key} is {error}") from None
    return kind(**values)
