"""Recipe files ↔ settings: reads TOML, applies `--set section.key=value`, and reports all mistakes together."""

from __future__ import annotations

import copy
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from regard.config.aliases import PRESENT, drop_unheeded, renamed
from regard.config.data import Data
from regard.config.inheritance import take_over
from regard.config.paths import BUNDLED
from regard.config.recipe import Recipe
from regard.config.sections import TOO_DEEP, Origin, build
from regard.config.shipped import shipped_recipes
from regard.config.stored import BUNDLED_FOLDER, stored_settings
from regard.config.tasks import TASKS, names, task_settings
from regard.errors import ConfigError, RegardError, UsageError, did_you_mean, shown

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib


LARGEST = 10**6
"""Bytes of a recipe: some two hundred times the longest that people write."""
R = TypeVar("R", bound=Recipe)


def load(
    path: str | Path, overrides: Iterable[str] = (), folder: str | Path | None = None, *, finished: bool = False
) -> Recipe:
    """Read a recipe's file. `folder` (`--data`, REGARD_DATA) says where its data is; else `data.folder`, else its own folder.

    `bundled:NAME` is a recipe of the package, and the bare NAME of one that comes with regard means it where no such file is: its
    data is then looked for here, and not beside it. `finished` is the one in a run folder: from it nothing is prepared
    or downloaded any more.
    """
    called = str(path)
    own = "" if (name := called.removeprefix(BUNDLED)) == called else BUNDLED
    path = BUNDLED_FOLDER / name if own else Path(path)
    named = None if own or finished or path.suffix or path.exists() else shipped_recipes().get(called)
    path = path if named is None else named.path
    if own and not path.is_file():
        names = sorted(f"{own}{other.name}" for other in BUNDLED_FOLDER.glob("*.toml"))
        known = f" Bundled are: {', '.join(names)}"
        raise ConfigError([f"no recipe at {called}.{did_you_mean(called, names)}{known}"])
    try:
        text = _text_of(path)
    except FileNotFoundError:
        near = [str(each) for each in sorted(path.parent.glob("*.toml"))] if path.parent.is_dir() else []
        hint = did_you_mean(called, [*near, *shipped_recipes()])
        raise ConfigError(
            [f"no recipe at {called}.{hint} `regard recipes` lists those that come with regard"]
        ) from None
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
    beside = (
        path.parent if named is None else Path()
    )  # the package is no place to look for data, nor to download it into
    data = replace(recipe.data, folder=str(Path(folder or beside / recipe.data.folder).resolve()))
    if finished:
        return replace(recipe, data=replace(data, download={}))
    said = {override.partition("=")[0].strip() for override in origin.overrides} | (
        {"data.folder"} if folder else set()
    )
    if mistakes := _elsewhere(data, beside, said, origin):
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


def _elsewhere(data: Data, own: Path, said: set[str], origin: Origin) -> list[str]:
    """Folders that the recipe would write to though no person named them: the recipe may be a stranger's."""
    own, here = own.resolve(), Path().resolve()
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
    recipe, more = build(given, origin)
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
    recipe, mistakes = build(given, Origin(Path(where)))
    if mistakes:
        raise ConfigError(mistakes)
    return recipe


def require_data(recipe: Recipe) -> None:
    """Refuse to train without data; a recipe that is only stored or decoded with needs none."""
    data = recipe.data
    if missing := [name for name in data.needed if not getattr(data, name)]:
        raise ConfigError(f'data.{name} is not set; {data.FORM}: {name} = ["FILE"]' for name in missing)


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
