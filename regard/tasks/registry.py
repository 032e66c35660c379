"""The rows of all tasks, by the names of config/tasks.py."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from torch import nn

from regard import config
from regard.config.tasks import TASKS as SETTINGS
from regard.config.tasks import names, task_settings
from regard.data.prepare import Prepared
from regard.data.prepare import prepare as prepare_with
from regard.errors import UsageError
from regard.models.outline import outline

if TYPE_CHECKING:
    from regard.tasks.task import Task

_given: dict[str, Task] = {}  # rows from outside of the package


def find_task(name: str) -> Task:
    """The row of a task, by its name or an alias; its room is opened when first asked for."""
    settings = task_settings(name)
    if settings.name in _given:
        return _given[settings.name]
    row: Task = import_module(f"regard.tasks.{settings.room}.task").TASK
    return row


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


def build(settings: config.Model, *sizes: int) -> Any:
    """An untrained model of whatever task has these settings."""
    for row in all_tasks():
        if type(settings) in row.models:
            return row.build(settings, sizes)
    raise UsageError(f"no task has an architecture with settings of the class {type(settings).__name__}")


def prepare(recipe: config.Recipe, *, workers: int | None = None, show: bool = True) -> Prepared:
    """Open the prepared corpus of a recipe, as its task builds it; build it first if settings or data are new."""
    return prepare_with(recipe, find_task(recipe.task).data, workers=workers, show=show)


def count_parameters(settings: config.Model, *sizes: int) -> int:
    """How many numbers such a model learns; it is built without any memory for them."""
    with outline():
        model: nn.Module = build(settings, *sizes)
        return sum(parameter.numel() for parameter in model.parameters())


def foreign_option(row: Task, door: str, option: str, model: str) -> UsageError:
    """What to say of an option that was given, though only models of other tasks understand it."""
    of = [repr(each.name) for each in all_tasks() if each.understands(door, option)]
    whose = f"is of the task {' or '.join(of)}" if of else "is of no task"
    return UsageError(f"{option} {whose}; the task of {model} is {row.name!r}")
