"""The rows of all tasks, by the names of config/tasks.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from regard import config
from regard.config import recipes
from regard.config.model_file import read_whole
from regard.config.stored import find_model, stored_task
from regard.config.tasks import TASKS as SETTINGS
from regard.config.tasks import names, task_settings
from regard.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from torch import nn

    from regard.data.prepare import Prepared
    from regard.tasks.task import Task

M = TypeVar("M", bound="nn.Module")

_given: dict[str, Task] = {}  # rows from outside of the package


def find_task(name: str) -> Task:
    """The row of a task, by its name or an alias; its room is opened when first asked for."""
    settings = task_settings(name)
    if settings.name in _given:
        return _given[settings.name]
    row: Task = import_module(f"regard.tasks.{settings.room}.task").TASK
    return row


def load_quickly(model: str | Path, wanted: str | None, options: Mapping[str, Any]) -> Any:
    """What the room of a model's task loads without torch, on a CPU; None if it cannot: then the row's `load` does it.

    Such a room has a module `quick`, whose `load` is given what the model file says, the model's name and options.
    """
    settings = names().get(stored_task(model))
    if settings is None or settings.name in _given or wanted not in (None, settings.name):
        return None
    room = f"regard.tasks.{settings.room}"
    if find_spec(f"{room}.quick") is None:
        return None
    load = import_module(f"{room}.quick").load
    if not options.keys() <= signature(load).parameters.keys():
        return None
    stored = read_whole(find_model(model))
    return None if stored is None else load(stored, model, **options)


def all_tasks() -> list[Task]:
    """In the order of the table."""
    return [find_task(name) for name in SETTINGS]


def register_task(row: Task) -> None:
    """Add a task from outside of the package: what recipes, loop, files, pages and service then know it by."""
    if taken := {row.name, *row.settings.aliases} & set(names()):
        raise UsageError(f"there is a task {sorted(taken)[0]!r} already; give this one another name")
    _given[row.name] = row
    SETTINGS[row.name] = row.settings


def forget_task(name: str) -> None:
    """Take back what `register_task` did."""
    del _given[name], SETTINGS[name]


def register_architecture(
    name: str,
    *,
    settings: type[config.Model],
    task: str = "translation",
    sizes: Mapping[str, Mapping[str, Any]] | None = None,
) -> Callable[[type[M]], type[M]]:
    """Above the class of a model: recipes with `architecture = NAME` mean it, in this process (docs/plug-ins.md).

    `settings` is its `[model]`, a frozen dataclass derived from that of the task, and `sizes` what `model.size` stands for.
    To register the same class again, as a notebook's cell does that is run twice, replaces it.
    """
    from torch import nn  # late, as below: a model may be at work without torch

    row = find_task(task)
    _check_architecture(name, settings, row)

    def register(model: type[M]) -> type[M]:
        if not (isinstance(model, type) and issubclass(model, nn.Module)):
            raise UsageError(f"the architecture {name!r} must be a class of torch.nn.Module, not {model!r}")
        if before := row.settings.architectures.get(name):
            del row.models[before.settings]
        row.settings.architectures[name] = config.Architecture(settings, dict(sizes or {}))
        row.models[settings] = model
        return model

    return register


def forget_architecture(name: str, task: str = "translation") -> None:
    """Take back what `register_architecture` did."""
    row = find_task(task)
    del row.models[row.settings.architectures.pop(name).settings]


def _check_architecture(name: str, settings: type[config.Model], row: Task) -> None:
    """Say what is wrong with a registration before anything knows of it."""
    base = get_type_hints(row.settings.recipe)["model"]
    called = getattr(settings, "__name__", repr(settings))
    if not (isinstance(settings, type) and issubclass(settings, base)):
        raise UsageError(
            f"settings of an architecture of {row.name!r} must derive from config.{base.__name__}; {called} does not"
        )
    parameters = vars(settings).get("__dataclass_params__")  # its own, not what it inherits
    if parameters is None or not parameters.frozen:
        raise UsageError(f"{called} must be a dataclass itself: write @dataclass(frozen=True) above it")
    if settings().architecture != name:
        raise UsageError(f'{called} must say which architecture it is of: architecture: str = "{name}"')
    before = row.settings.architectures.get(name)
    if before is not None and _place(before.settings) != _place(settings):
        raise UsageError(f"{row.name} has an architecture {name!r} already; give this one another name")
    if before is None and settings in row.models:
        raise UsageError(f"{called} has the settings of another architecture already; derive a class for this one")


def _place(kind: type) -> tuple[str, str]:
    return kind.__module__, kind.__qualname__


def build(settings: config.Model, *sizes: int) -> Any:
    """An untrained model of whatever task has these settings."""
    for row in all_tasks():
        if type(settings) in row.models:
            return row.build(settings, sizes)
    raise UsageError(f"no task has an architecture with settings of the class {type(settings).__name__}")


def prepare(
    recipe: config.Recipe | str | Path | Mapping[str, Any],
    *,
    overrides: Mapping[str, Any] | Iterable[str] = (),
    data: str | Path | None = None,
    workers: int | None = None,
    show: bool = True,
    verify: bool = False,
) -> Prepared:
    """Open the prepared corpus of a recipe, as its task builds it; build it first if settings or data are new.

    Recipe, `overrides` and `data` are what `regard.train` takes. `verify` reads all of what was there to see whether it is damaged.
    """
    settings = recipes.read(recipe, overrides, data)
    from regard.data.prepare import prepare as prepare_with
    from regard.tasks.starting import read_start  # late: it needs this file

    start = read_start(settings)
    tokenizer = start.tokenizer if start is not None else None
    prepared = prepare_with(settings, find_task(settings.task).data, workers=workers, show=show, tokenizer=tokenizer)
    for ids in (prepared.train, prepared.valid) if verify else ():
        ids.verify()
    return prepared


def count_parameters(settings: config.Model, *sizes: int) -> int:
    """How many numbers such a model learns; it is built without any memory for them."""
    from regard.models.outline import outline

    with outline():
        model: nn.Module = build(settings, *sizes)
        return sum(parameter.numel() for parameter in model.parameters())


def foreign_option(row: Task, door: str, option: str, model: str) -> UsageError:
    """What to say of an option that was given, though only models of other tasks understand it."""
    of = [repr(each.name) for each in all_tasks() if each.understands(door, option)]
    if not of:
        return UsageError(f"there is no option `{option}`.{did_you_mean(option, row.options(door))}")
    return UsageError(f"`{option}` is of the task {' or '.join(of)}; the task of {model} is {row.name!r}")


def own_options(row: Task, door: str, given: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Those of the options that a door of this task takes. One that is of other tasks is refused, unless it is empty or asks
    for what they assume anyway: whoever passes on all options, as the command line does, has not asked for these."""
    own = {name: value for name, value in given.items() if row.understands(door, name)}
    for name in (name for name in given if name not in own):
        assumed = [each.options(door)[name] for each in all_tasks() if each.understands(door, name)]
        if given[name] not in (*assumed, None, False):  # False is 0, too
            raise foreign_option(row, door, name, model)
    return own
