"""Recipe files ↔ settings: reads TOML, applies `--set section.key=value`, and reports all mistakes together."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from regard.config import (
    ARCHITECTURES,
    AT_LEAST,
    AT_MOST,
    BELOW_ONE,
    CHOICES,
    SIZES,
    TASKS,
    Convolutional,
    Model,
    ParallelText,
    Recipe,
    RecurrentAttention,
    Transformer,
)
from regard.errors import ConfigError, did_you_mean

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib


def load(path: str | Path, overrides: Iterable[str] = (), folder: str | Path | None = None) -> Recipe:
    """Read a recipe. `folder` (`--data`, REGARD_DATA) says where its data is; else `data.folder`, else its own folder."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        near = sorted(str(other) for other in path.parent.glob("*.toml")) if path.parent.is_dir() else []
        raise ConfigError([f"no recipe at {path}.{did_you_mean(str(path), near)}"]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([f"cannot read the recipe {path}: {error}"]) from None
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([f"{path} is not valid TOML: {error}"]) from None
    given.setdefault("name", path.stem)
    mistakes = [] if folder is None or Path(folder).is_dir() else [f"no folder {folder} to take data from"]
    overrides = tuple(overrides)
    mistakes += _override(given, overrides)
    recipe, more = _build(given, Origin(path, text, overrides))
    if mistakes + more:
        raise ConfigError(mistakes + more)
    chosen = folder or path.parent / recipe.data.folder
    return replace(recipe, data=replace(recipe.data, folder=str(Path(chosen).resolve())))


def parse(settings: Mapping[str, Any], where: str = "settings") -> Recipe:
    """A recipe from nested dictionaries, such as those stored in a model file."""
    recipe, mistakes = _build(dict(settings), Origin(Path(where)))
    if mistakes:
        raise ConfigError(mistakes)
    return recipe


def require_data(recipe: Recipe) -> None:
    """Refuse to train without text; a recipe that is only stored or decoded with needs none."""
    missing = [name for name in ("train", "valid") if not getattr(recipe.data, name)]
    if missing:
        form = "name one TSV, or a source and a target file"
        raise ConfigError(f'data.{name} is not set; {form}: {name} = ["FILE"]' for name in missing)


def to_dict(recipe: Recipe) -> dict[str, Any]:
    """Plain nested dictionaries; `parse` reads them back."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(recipe)))
    return plain


def to_toml(recipe: Recipe) -> str:
    """The resolved recipe, every setting stated."""

    def table(name: str, content: dict[str, Any]) -> list[str]:
        lines = [f"{_key(key)} = {_value(item)}" for key, item in content.items() if not isinstance(item, dict)]
        for key, item in content.items():
            if isinstance(item, dict):
                inner = f"{name}.{_key(key)}" if name else _key(key)
                lines += ["", f"[{inner}]", *table(inner, item)]
        return lines

    return "\n".join(table("", to_dict(recipe))) + "\n"


def _value(item: Any) -> str:
    """TOML of a plain value or a list of them: JSON, but for one character that TOML wants escaped."""
    return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


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
                return f" (--set {override})"
        section = ""
        for number, line in enumerate(self.text.split("\n"), start=1):
            if found := re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line):
                section = name = found[1]
            elif found := re.match(r"\s*([\w.\"'-]+)\s*=", line):
                name = f"{section}.{found[1]}" if section else found[1]
            else:
                continue
            if (re.sub("[\"']", "", name) + ".").startswith(f"{wanted}."):
                return f" ({self.path}, line {number})"
        return f" ({self.path})"


def _override(given: dict[str, Any], overrides: Iterable[str]) -> list[str]:
    """Write `section.key=value` into `given`; values are TOML, and bare words are strings."""
    mistakes = []
    for override in overrides:
        name, equals, raw = override.partition("=")
        parts = name.strip().split(".")
        if not equals or not all(parts):
            mistakes.append(f"cannot read --set {override!r}: write section.key=value, such as model.heads=4")
            continue
        try:
            value = tomllib.loads(f"value = {raw}")["value"]
        except tomllib.TOMLDecodeError:
            value = raw.strip()
        target = given
        for part in parts[:-1]:
            inner = target.setdefault(part, {})
            if not isinstance(inner, dict):
                mistakes.append(f"--set {override}: '{part}' is not a section")
                break
            target = inner
        else:
            target[parts[-1]] = value
    return mistakes


def _build(given: dict[str, Any], origin: Origin) -> tuple[Recipe, list[str]]:
    task = given.get("task", "translate")
    if not isinstance(task, str) or task not in TASKS:
        hint = did_you_mean(str(task), TASKS)
        return Recipe(), [f"unknown task {task!r}{origin.of('task')}.{hint} Known: {', '.join(TASKS)}"]
    mistakes: list[str] = []
    name = given.get("name", "model")
    if not _plain(name):
        mistakes.append(f"name must be a text in quotes that can name a folder, not {name!r}{origin.of('name')}")
    model = given.get("model", {})
    model, architecture = _shape(dict(model) if isinstance(model, dict) else {}, task, origin, mistakes)
    classes = {**TASKS[task], "model": ARCHITECTURES[task][architecture]}
    for key, value in given.items():
        if key in classes and not isinstance(value, dict):
            mistakes.append(f"'{key}' must be a section [{key}]{origin.of(key)}")
        elif key not in (*classes, "name", "task"):
            hint = did_you_mean(key, [*classes, "name", "task"])
            mistakes.append(f"unknown setting '{key}'{origin.of(key)}.{hint}")
    sections: dict[str, Any] = {}
    for section, kind in classes.items():
        content = model if section == "model" else given.get(section, {})
        sections[section] = _read_section(section, kind, content if isinstance(content, dict) else {}, origin, mistakes)
    recipe = Recipe(name=str(name), task=task, **sections)
    return recipe, mistakes or _impossible(recipe)


def _shape(model: dict[str, Any], task: str, origin: Origin, mistakes: list[str]) -> tuple[dict[str, Any], str]:
    """`[model]` with the numbers that its size stands for, and its architecture; what is wrong is left out of it."""
    known = ARCHITECTURES[task]
    name = model.get("architecture", next(iter(known)))
    if not isinstance(name, str) or name not in known:
        where, hint = origin.of("model.architecture"), did_you_mean(str(name), known)
        mistakes.append(f"unknown architecture {name!r}{where}.{hint} Known: {', '.join(known)}")
        name = next(iter(known))
        del model["architecture"]
    sizes = SIZES.get(name, {})
    size = model.get("size", "base")
    if sizes and (not isinstance(size, str) or size not in sizes):
        mistakes.append(f"model.size must be one of {', '.join(sizes)}, not {size!r}{origin.of('model.size')}")
        return {key: value for key, value in model.items() if key != "size"}, name
    return {**sizes.get(size, {}), **model}, name


def _plain(name: object) -> bool:
    """Whether a name can be that of a file or folder, and of nothing elsewhere."""
    return isinstance(name, str) and name not in ("", ".", "..") and not re.search(r"[/\\\0]", name)


def _read_section(section: str, kind: type, content: dict[str, Any], origin: Origin, mistakes: list[str]) -> Any:
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for key, value in content.items():
        name = f"{section}.{key}"
        where = origin.of(name)
        if key not in hints:
            mistakes.append(f"unknown setting '{name}'{where}.{did_you_mean(name, [f'{section}.{k}' for k in hints])}")
            continue
        try:
            values[key] = _convert(value, hints[key])
        except TypeError as error:
            mistakes.append(f"{name} must be {error}, not {value!r}{where}")
            continue
        if name in CHOICES and values[key] not in CHOICES[name]:
            hint = did_you_mean(str(value), CHOICES[name])
            mistakes.append(f"{name} must be one of {', '.join(CHOICES[name])}, not {value!r}{where}.{hint}")
        for number in values[key] if isinstance(values[key], tuple) else (values[key],):
            if limit := isinstance(number, (int, float)) and _limit(name, number):
                mistakes.append(f"{name} must be {limit}, not {value!r}{where}")
                break
    return kind(**values)


def _limit(name: str, number: float) -> str:
    """The limit that a number breaks, or nothing."""
    if number < AT_LEAST.get(name, 0):
        return f"at least {AT_LEAST.get(name, 0)}"
    if number > AT_MOST.get(name, number):
        return f"at most {AT_MOST[name]}"
    return "below 1" if name in BELOW_ONE and number >= 1 else ""


def _convert(value: Any, wanted: Any) -> Any:
    """The value in the wanted type, or TypeError with the name of what was wanted."""
    origin = get_origin(wanted)
    if origin is tuple:
        inner = get_args(wanted)
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)) or (inner[-1] is not ... and len(items) != len(inner)):
            raise TypeError("a list" if inner[-1] is ... else f"a list of {len(inner)} values")
        return tuple(_convert(item, inner[0]) for item in items)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise TypeError("a table")
        return {str(key): _convert(item, get_args(wanted)[1]) for key, item in value.items()}
    if wanted is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        if not abs(value) <= sys.float_info.max:  # inf, nan, or a whole number beyond every float
            raise TypeError("a finite number")
        return float(value)
    if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        names = {int: "a whole number", float: "a number", str: "a text in quotes", bool: "true or false"}
        raise TypeError(names[wanted])
    return value


def _impossible(recipe: Recipe) -> list[str]:
    """Combinations that are each valid alone."""
    model, data = recipe.model, recipe.data
    mistakes = [*_impossible_files(data), *_impossible_shape(model)]
    if model.tied and not recipe.tokenizer.joint:
        mistakes.append("model.tied = true needs tokenizer.joint = true: one matrix cannot serve two vocabularies")
    if data.max_pieces + 1 > model.max_positions:
        needed = data.max_pieces + 1
        mistakes.append(f"data.max_pieces = {data.max_pieces} needs model.max_positions of at least {needed}")
    if recipe.training.batch_tokens < recipe.training.accumulate:
        mistakes.append("training.accumulate cannot exceed training.batch_tokens")
    return mistakes


def _impossible_shape(model: Model) -> list[str]:
    mistakes = []
    if isinstance(model, Transformer) and model.width % model.heads:
        fitting = [heads for heads in range(1, model.width + 1) if model.width % heads == 0]
        near = min(fitting, key=lambda heads: abs(heads - model.heads))
        mistakes.append(f"model.heads = {model.heads} does not divide model.width = {model.width}; {near} would")
    if isinstance(model, Transformer) and model.positions == "sinusoidal" and model.width % 2:
        mistakes.append(f"model.width = {model.width} must be even for sinusoidal positions (sine and cosine pairs)")
    if isinstance(model, RecurrentAttention) and model.width % 2:
        mistakes.append(f"model.width = {model.width} must be even: the encoder reads both ways, half of it each")
    if isinstance(model, Convolutional) and not model.kernel % 2:
        mistakes.append(f"model.kernel = {model.kernel} must be odd, to see as far to the left as to the right")
    return mistakes


def _impossible_files(data: ParallelText) -> list[str]:
    tests = {f"data.test.{name}": files for name, files in data.test.items()}
    splits = {"data.train": data.train, "data.valid": data.valid, **tests}
    mistakes = [f"data.test.{name}: {name!r} cannot name a file" for name in data.test if not _plain(name)]
    for name, files in splits.items():
        if len(files) > 2 or (name in tests and not files):
            mistakes.append(f"{name} names {len(files)} files; give one TSV, or a source and a target file")
    names = ("source_column", "target_column", "split_column")[: 3 if data.split_column else 2]
    if len({getattr(data, name) for name in names}) < len(names) and any(len(files) == 1 for files in splits.values()):
        stated = ", ".join(f"data.{name} = {getattr(data, name)}" for name in names)
        mistakes.append(f"{stated}: these must be different columns of a TSV")
    return mistakes
