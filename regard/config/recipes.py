"""Recipe files ↔ settings: reads TOML, applies `--set section.key=value`, and reports all mistakes together."""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from regard.config.aliases import PRESENT, drop_unheeded, renamed
from regard.config.data import Data, is_plain
from regard.config.field import bounds_of
from regard.config.inheritance import take_over
from regard.config.recipe import Recipe, TaskSettings
from regard.config.stored import BUNDLED_FOLDER, stored_settings
from regard.config.synonyms import explain, explain_section
from regard.config.tasks import TASKS, names, task_settings
from regard.errors import ConfigError, RegardError, UsageError, did_you_mean, shown

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib


BUNDLED = "bundled:"
TOO_DEEP = "nests lists or tables too deep to be a recipe"
LARGEST = 10**6
"""Bytes of a recipe: some two hundred times the longest that people write."""
MOST_MISTAKES = 20
"""That are told at once; whoever made more mends these first."""
R = TypeVar("R", bound=Recipe)


def load(
    path: str | Path, overrides: Iterable[str] = (), folder: str | Path | None = None, *, finished: bool = False
) -> Recipe:
    """Read a recipe's file. `folder` (`--data`, REGARD_DATA) says where its data is; else `data.folder`, else its own folder.

    `bundled:NAME` is a recipe that comes with regard. `finished` is the one in a run folder: from it nothing is prepared
    or downloaded any more.
    """
    called = str(path)
    own = "" if (name := called.removeprefix(BUNDLED)) == called else BUNDLED
    path = BUNDLED_FOLDER / name if own else Path(path)
    if own and not path.is_file():
        names = sorted(f"{own}{other.name}" for other in BUNDLED_FOLDER.glob("*.toml"))
        known = f" Bundled are: {', '.join(names)}"
        raise ConfigError([f"no recipe at {called}.{did_you_mean(called, names)}{known}"])
    try:
        text = _text_of(path)
    except FileNotFoundError:
        near = sorted(path.parent.glob("*.toml")) if path.parent.is_dir() else []
        raise ConfigError([f"no recipe at {called}.{did_you_mean(called, map(str, near))}"]) from None
    except (OSError, ValueError) as error:  # UnicodeDecodeError, or a name that no system can hold
        raise ConfigError([f"cannot read the recipe {path}: {error}"]) from None
    try:
        given = tomllib.loads(text)
    except RecursionError:
        raise ConfigError([f"{path} {TOO_DEEP}"]) from None
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        raise ConfigError([f"{path} is not valid TOML: {error}"]) from None
    given.setdefault("name", path.stem)
    notes = renamed(given)
    if finished:
        drop_unheeded(given)
    for note in () if finished else notes:  # nobody will mend what a run wrote down
        print(f"regard: {called}: {note}", file=sys.stderr)
    origin = Origin(path, text, tuple(overrides))
    recipe = _overridden(given, origin, folder, starting=not finished)
    data = replace(recipe.data, folder=str(Path(folder or path.parent / recipe.data.folder).resolve()))
    if finished:
        return replace(recipe, data=replace(data, download={}))
    said = {override.partition("=")[0].strip() for override in origin.overrides} | (
        {"data.folder"} if folder else set()
    )
    if mistakes := _elsewhere(data, path, said, origin):
        raise ConfigError(mistakes)
    return replace(recipe, data=data)


def _text_of(path: Path) -> str:
    """All of a file of a size that a recipe can have; a pipe or a device is none, and might never end."""
    if path.exists() and not path.is_file():
        from regard.files import kind_of  # late: it brings locks, which cost every start a tenth of a second

        raise ConfigError([f"cannot read the recipe {path}: it is {kind_of(path)}"])
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ConfigError([f"{path} is too large for a recipe, which has at most {LARGEST:,} bytes"])
    return content.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")


def _elsewhere(data: Data, path: Path, said: set[str], origin: Origin) -> list[str]:
    """Folders that the recipe would write to though no person named them: the recipe may be a stranger's."""
    own, here = path.parent.resolve(), Path().resolve()
    prepared, folder = Path(data.prepared).resolve(), Path(data.folder)
    mistakes = []
    if "data.prepared" not in said and not (prepared.is_relative_to(own) or prepared.is_relative_to(here)):
        mistakes.append(
            f"data.prepared = {data.prepared!r}{origin.of('data.prepared')} is neither below the recipe's folder nor below "
            f"this one; if you want to write there, say so: --set data.prepared={data.prepared}"
        )
    missing = [name for name in data.download if not (folder / name).is_file()]
    if missing and "data.folder" not in said and not folder.is_relative_to(own):
        mistakes.append(
            f"{missing[0]} would be downloaded into {folder}, which is not below the recipe's folder"
            f"{origin.of('data.folder')}; if you want that, say so: --data {folder}"
        )
    return mistakes


def read(
    recipe: Recipe | str | Path | Mapping[str, Any],
    overrides: Mapping[str, Any] | Iterable[str] = (),
    folder: str | Path | None = None,
) -> Recipe:
    """A recipe to train with: by its file (see `load`), as nested tables, or as it is; overrides also as `{"model.heads": 4}`."""
    if isinstance(overrides, Mapping):
        overrides = list(_stated(overrides))
    if isinstance(recipe, (str, Path)):
        found = load(recipe, overrides, folder)
    elif isinstance(recipe, (Recipe, Mapping)):
        try:
            given = _stated_in(recipe) if isinstance(recipe, Recipe) else copy.deepcopy(dict(recipe))
        except RecursionError:
            raise ConfigError([f"the recipe {TOO_DEEP}"]) from None
        renamed(given)
        found = _overridden(given, Origin(Path("the recipe"), overrides=tuple(overrides)), folder)
        found = replace(found, data=replace(found.data, folder=str(Path(folder or found.data.folder).resolve())))
    else:
        raise UsageError(f"a recipe is a TOML file, nested tables or a Recipe, not {shown(recipe)}")
    require_data(found)
    return found


def _overridden(given: dict[str, Any], origin: Origin, folder: str | Path | None, *, starting: bool = True) -> Recipe:
    """The recipe that is given, with its overrides and what it takes over from its start; all that is wrong is said at
    once."""
    mistakes = [] if folder is None or Path(folder).is_dir() else [f"no folder {folder} to take data from"]
    mistakes += _override(given, origin.overrides)
    if starting:
        mistakes += _start(given, origin)
    recipe, more = _build(given, origin)
    if mistakes + more:
        raise ConfigError(mistakes + more)
    return recipe


def _start(given: dict[str, Any], origin: Origin) -> list[str]:
    """Take over what the model says that training starts from."""
    training, task = given.get("training"), given.get("task", next(iter(TASKS)))
    start = training.get("start") if isinstance(training, dict) else None
    row = names().get(task) if isinstance(task, str) else None
    if not start or not isinstance(start, str) or row is None:
        return []
    try:
        return take_over(given, parse(stored_settings(start), start), row, origin.of)
    except (RegardError, RecursionError) as error:
        return [f"training.start = {shown(start)}{origin.of('training.start')}: {error}"]


def _stated_in(recipe: Recipe) -> dict[str, Any]:
    """What a Recipe says; where it starts from a model, what nobody changed in it is left for the model to say."""
    given = to_dict(recipe)
    if recipe.training.start:
        for name in {"model", "tokenizer", "decoding"} & given.keys():
            default = json.loads(json.dumps(asdict(type(getattr(recipe, name))())))
            kept = {key: value for key, value in given[name].items() if key == "architecture" or value != default[key]}
            given[name] = kept
    return given


def _stated(overrides: Mapping[str, Any], section: str = "") -> Iterator[str]:
    """`{"model": {"heads": 4}}` and `{"model.heads": 4}` as `model.heads=4`."""
    for name, value in overrides.items():
        if isinstance(value, Mapping):
            yield from _stated(value, f"{section}{name}.")
        else:
            yield f"{section}{name}={_value(list(value) if isinstance(value, tuple) else value)}"


def load_as(kind: type[R], path: str | Path, overrides: Iterable[str] = (), folder: str | Path | None = None) -> R:
    """The same for what only one task has: a recipe of another is refused."""
    recipe = load(path, overrides, folder)
    if not isinstance(recipe, kind):
        raise UsageError(f"this is for recipes of {kind().task!r}; the task of {path} is {recipe.task!r}")
    return recipe


def parse(settings: Mapping[str, Any], where: str = "settings") -> Recipe:
    """A recipe as a model file stores it: nested dictionaries, that nobody overrides or trains with."""
    given = dict(settings)
    renamed(given)
    recipe, mistakes = _build(given, Origin(Path(where)))
    if mistakes:
        raise ConfigError(mistakes)
    return recipe


def require_data(recipe: Recipe) -> None:
    """Refuse to train without data; a recipe that is only stored or decoded with needs none."""
    data = recipe.data
    if missing := [name for name in data.needed if not getattr(data, name)]:
        raise ConfigError(f'data.{name} is not set; {data.FORM}: {name} = ["FILE"]' for name in missing)


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


def to_dict(recipe: Recipe) -> dict[str, Any]:
    """Plain nested dictionaries; `parse` reads them back."""
    plain: dict[str, Any] = json.loads(json.dumps(asdict(recipe)))
    return plain


def to_toml(recipe: Recipe) -> str:
    """The resolved recipe, every setting stated."""

    def table(name: str, content: dict[str, Any]) -> list[str]:
        lines = [f"{_key(key)} = {_value(item)}" for key, item in content.items() if not _is_table(item)]
        for key, item in content.items():
            if isinstance(item, list) and _is_table(item):
                for each in item:
                    lines += ["", f"[[{name}.{_key(key)}]]", *table(f"{name}.{_key(key)}", each)]
            if isinstance(item, dict):
                inner = f"{name}.{_key(key)}" if name else _key(key)
                lines += ["", f"[{inner}]", *table(inner, item)]
        return lines

    return "\n".join(table("", to_dict(recipe))) + "\n"


def _is_table(item: Any) -> bool:
    """Or several of them."""
    return isinstance(item, dict) or (isinstance(item, list) and bool(item) and isinstance(item[0], dict))


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


def _override(given: dict[str, Any], overrides: Iterable[str]) -> list[str]:
    """Write `section.key=value` into `given`; values are TOML, and bare words are strings."""
    mistakes = []
    for override in overrides:
        name, equals, raw = override.partition("=")
        parts = PRESENT.get(name.strip(), name.strip()).split(".")
        if not equals or not all(parts):
            mistakes.append(f"cannot read --set {shown(override)}: write section.key=value, such as model.heads=4")
            continue
        try:
            value = tomllib.loads(f"value = {raw}")["value"]
        except RecursionError:
            mistakes.append(f"--set {name.strip()} {TOO_DEEP}")
            continue
        except ValueError:
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
        sections[section] = _read_section(section, kind, content, hint_for, origin, mistakes)
    recipe = row.recipe(name=str(name), task=row.name, **sections)
    return recipe, mistakes or [*recipe.impossible(), *_unknown_metric(recipe, row)]


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


def shape_name(recipe: Recipe) -> str:
    """What to call a model: its size's name only where it has that size, and not where its numbers were changed."""
    model, row = recipe.model, task_settings(recipe.task)
    size = row.architectures[model.architecture].sizes.get(model.size)
    if size is None:
        return model.architecture
    changed = {key: getattr(model, key) for key, value in size.items() if getattr(model, key) != value}
    if not changed:
        return f"{model.architecture} {model.size}"
    return f"{model.architecture} of {', '.join(f'{key} {value}' for key, value in changed.items())}"
