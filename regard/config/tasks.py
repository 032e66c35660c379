"""The one table of tasks: a line for each. Its room (`regard/tasks/ROOM`) says the rest."""

from __future__ import annotations

from regard.config import classification, image_classification, image_codes, language_model, text_to_image, translation
from regard.config.recipe import TaskSettings
from regard.errors import UsageError, did_you_mean, shown

TASKS: dict[str, TaskSettings] = {
    each.name: each
    for each in (
        translation.SETTINGS,
        classification.SETTINGS,
        language_model.SETTINGS,
        image_classification.SETTINGS,
        image_codes.SETTINGS,
        text_to_image.SETTINGS,
    )
}


def names() -> dict[str, TaskSettings]:
    """Tasks by name and by each alias."""
    return {name: each for each in TASKS.values() for name in (each.name, *each.aliases)}


def task_settings(name: str) -> TaskSettings:
    """The task of that name or alias."""
    known = names()
    if name not in known:
        raise UsageError(f"unknown task {shown(name)}.{did_you_mean(name, known)} Known: {', '.join(TASKS)}")
    return known[name]
