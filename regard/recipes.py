"""Recipe files ↔ settings: reads TOML, applies `--set section.key=value`, and reports all mistakes together."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from regard.config import (
    ARCHITECTURES,
    TASKS,
    Attending,
    ClassifierTraining,
    Continuing,
    Convolutional,
    Data,
    LabelledText,
    LanguageRecipe,
    Model,
    ParallelText,
    Recipe,
    RecurrentAttention,
    TextDecoder,
    TranslationRecipe,
)
from regard.errors import ConfigError, UsageError, did_you_mean, visible
from regard.limits import AT_LEAST, AT_MOST, BELOW_ONE, CHOICES, METRICS, SIZES

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib


BUNDLED = "bundled:"
BUNDLED_FOLDER = Path(__file__).parent / "bundled"
COLUMNS: dict[type[Data], tuple[str, ...]] = {
    ParallelText: ("source_column", "target_column", "split_column"),
    LabelledText: ("text", "label", "split"),
}
FORMS: dict[type[Data], str] = {
    ParallelText: "name one TSV, or a source and a target file",
    LabelledText: "name one TSV, CSV or JSONL file",
}


def load(
    path: str | Path, overrides: Iterable[str] = (), folder: str | Path | None = None, *, finished: bool = False
) -> Recipe:
    """Read a recipe. `folder` (`--data`, REGARD_DATA) says where its data is; else `data.folder`, else its own folder.

    `bundled:NAME` is a recipe that comes with regard. `finished` is the one in a run folder: from it nothing is prepared
    or downloaded any more.
    """
    called = str(path)
    own = "" if (name := called.removeprefix(BUNDLED)) == called else BUNDLED
    path = BUNDLED_FOLDER / name if own else Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        near = sorted(path.parent.glob("*.toml")) if path.parent.is_dir() else []
        names = (f"{own}{other.name}" if own else str(other) for other in near)
        raise ConfigError([f"no recipe at {called}.{did_you_mean(called, names)}"]) from None
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
    data = replace(recipe.data, folder=str(Path(folder or path.parent / recipe.data.folder).resolve()))
    if finished:
        return replace(recipe, data=replace(data, download={}))
    said = {override.partition("=")[0].strip() for override in overrides} | ({"data.folder"} if folder else set())
    if mistakes := _elsewhere(data, path, said, Origin(path, text, overrides)):
        raise ConfigError(mistakes)
    return replace(recipe, data=data)


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


def load_translation(
    path: str | Path, overrides: Iterable[str] = (), folder: str | Path | None = None
) -> TranslationRecipe:
    """The same for what only translation has: a recipe of another task is refused."""
    recipe = load(path, overrides, folder)
    if not isinstance(recipe, TranslationRecipe):
        raise UsageError(f"this is for recipes of translation; the task of {path} is {recipe.task!r}")
    return recipe


def parse(settings: Mapping[str, Any], where: str = "settings") -> Recipe:
    """A recipe from nested dictionaries, such as those stored in a model file."""
    recipe, mistakes = _build(dict(settings), Origin(Path(where)))
    if mistakes:
        raise ConfigError(mistakes)
    return recipe


def require_data(recipe: Recipe) -> None:
    """Refuse to train without text; a recipe that is only stored or decoded with needs none."""
    held_out = isinstance(recipe.data, LabelledText) and recipe.data.hold_out > 0
    needed = ("train",) if held_out else ("train", "valid")
    if missing := [name for name in needed if not getattr(recipe.data, name)]:
        form = FORMS.get(type(recipe.data), "name its files")
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
        return TranslationRecipe(), [f"unknown task {task!r}{origin.of('task')}.{hint} Known: {', '.join(TASKS)}"]
    mistakes: list[str] = []
    name = given.get("name", "model")
    if not _plain(name):
        mistakes.append(f"name must be a text in quotes that can name a folder, not {name!r}{origin.of('name')}")
    model = given.get("model", {})
    model, architecture = _shape(dict(model) if isinstance(model, dict) else {}, task, origin, mistakes)
    classes = {**sections_of(task), "model": ARCHITECTURES[task][architecture]}
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
    recipe = TASKS[task](name=str(name), task=task, **sections)
    return recipe, mistakes or _impossible(recipe)


def sections_of(task: str) -> dict[str, Any]:
    """By name, the classes that read the sections of a task's recipes; that of [model] depends on the architecture."""
    return {name: kind for name, kind in get_type_hints(TASKS[task]).items() if name not in ("name", "task")}


def _shape(model: dict[str, Any], task: str, origin: Origin, mistakes: list[str]) -> tuple[dict[str, Any], str]:
    """`[model]` with the numbers that its size stands for, and its architecture; what is wrong is left out of it."""
    known = ARCHITECTURES[task]
    name = model.get("architecture", next(iter(known)))
    if not isinstance(name, str) or name not in known:
        where, hint = origin.of("model.architecture"), did_you_mean(str(name), known)
        mistakes.append(f"unknown architecture {name!r}{where}.{hint} Known: {', '.join(known)}")
        name = next(iter(known))
        del model["architecture"]
    sizes = SIZES.get(known[name], {})
    size = model.get("size", "base")
    if sizes and (not isinstance(size, str) or size not in sizes):
        mistakes.append(f"model.size must be one of {', '.join(sizes)}, not {size!r}{origin.of('model.size')}")
        return {key: value for key, value in model.items() if key != "size"}, name
    return {**sizes.get(size, {}), **model}, name


def _plain(name: object) -> bool:
    """Whether a name can be that of a file or folder, and of nothing elsewhere."""
    return (
        isinstance(name, str)
        and name not in ("", ".", "..")
        and not re.search(r"[/\\\n\t]", name)
        and visible(name) == name  # nor may it command a terminal
        and Path(name).name == name  # on Windows, C:name would be elsewhere
    )


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
    mistakes = [*_impossible_files(recipe.data), *_impossible_shape(recipe.model), *_impossible_pieces(recipe)]
    if isinstance(recipe, TranslationRecipe) and recipe.model.tied and not recipe.tokenizer.joint:
        mistakes.append("model.tied = true needs tokenizer.joint = true: one matrix cannot serve two vocabularies")
    needed = recipe.data.max_pieces + 1
    if needed > recipe.model.max_positions:
        mistakes.append(f"data.max_pieces = {needed - 1} needs model.max_positions of at least {needed}")
    if isinstance(recipe, LanguageRecipe) and isinstance(recipe.model, TextDecoder) and recipe.model.pointer:
        reasons = {
            "label_smoothing": "it says itself how sure it is",
            "word_dropout": "it can point only at what it reads",
        }
        mistakes += [
            f"model.pointer = true needs training.{setting} = 0: {reason}"
            for setting, reason in reasons.items()
            if getattr(recipe.training, setting)
        ]
    training, metrics = recipe.training, METRICS[recipe.task]
    if training.probes and recipe.task != "translate":
        mistakes.append("training.probes films how translations align; leave it 0 for other tasks")
    if isinstance(training, ClassifierTraining) and training.patience and training.masked_epochs:
        mistakes.append(
            "training.patience needs training.masked_epochs = 0: while pieces are guessed, no validation gets better"
        )
    if training.batch_tokens < training.accumulate:
        mistakes.append("training.accumulate cannot exceed training.batch_tokens")
    if training.metric not in metrics:
        hint = did_you_mean(training.metric, metrics)
        mistakes.append(f"training.metric must be one of {', '.join(metrics)}, not {training.metric!r}.{hint}")
    return mistakes


def _impossible_pieces(recipe: Recipe) -> list[str]:
    """A vocabulary of sub-words holds 4 special pieces and 256 bytes besides; one of words only the special ones."""
    kind, pieces = recipe.tokenizer.kind, recipe.tokenizer.pieces
    least = 5 if kind == "words" else 260
    if kind == "words" and isinstance(recipe, TranslationRecipe):
        return [
            'tokenizer.kind = "words" has no bytes to spell what it lacks, so it cannot translate; bpe or unigram can'
        ]
    if pieces >= least or (kind == "words" and pieces == 0):
        return []
    return [f"tokenizer.pieces must be at least {least}, not {pieces}"]


def _impossible_shape(model: Model) -> list[str]:
    mistakes = []
    if isinstance(model, Attending) and model.width % model.heads:
        fitting = [heads for heads in range(1, model.width + 1) if model.width % heads == 0]
        near = min(fitting, key=lambda heads: abs(heads - model.heads))
        mistakes.append(f"model.heads = {model.heads} does not divide model.width = {model.width}; {near} would")
    if isinstance(model, Attending) and model.positions == "sinusoidal" and model.width % 2:
        mistakes.append(f"model.width = {model.width} must be even for sinusoidal positions (sine and cosine pairs)")
    if isinstance(model, RecurrentAttention) and model.width % 2:
        mistakes.append(f"model.width = {model.width} must be even: the encoder reads both ways, half of it each")
    if isinstance(model, Convolutional) and not model.kernel % 2:
        mistakes.append(f"model.kernel = {model.kernel} must be odd, to see as far to the left as to the right")
    if isinstance(model, Continuing) and any(low >= high for low, high in pairwise(model.cutoffs)):
        mistakes.append(f"model.cutoffs = {list(model.cutoffs)} must rise")
    return mistakes


def _impossible_files(data: Data) -> list[str]:
    tests = {f"data.test.{name}": files for name, files in data.test.items()}
    splits = {"data.train": data.train, "data.valid": data.valid, **tests}
    mistakes = [f"data.test.{name}: {name!r} cannot name a file" for name in data.test if not _plain(name)]
    paths = [data.folder, data.prepared, *data.download, *(file for files in splits.values() for file in files)]
    mistakes += [f"{path!r} in [data] cannot name a file" for path in paths if "\0" in path]
    most = {ParallelText: 2, LabelledText: 1}.get(type(data))
    for name, files in splits.items():
        if (most and len(files) > most) or (name in tests and not files):
            form = FORMS.get(type(data), "name at least one").replace("name ", "give ")
            mistakes.append(f"{name} names {len(files)} files; {form}")
    return [*mistakes, *_impossible_columns(data, splits)]


def _impossible_columns(data: Data, splits: Mapping[str, tuple[str, ...]]) -> list[str]:
    names = COLUMNS.get(type(data), ())
    columns = [(name, value) for name in names if (value := getattr(data, name))]
    if len({value for _, value in columns}) == len(columns) or all(len(files) != 1 for files in splits.values()):
        return []
    stated = ", ".join(f"data.{name} = {value!r}" for name, value in columns)
    return [f"{stated}: these must be different columns"]
