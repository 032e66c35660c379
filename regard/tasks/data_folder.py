"""Where the text lies that a model's recipe names: a model file does not say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from regard.config import Recipe, recipes, task_settings
from regard.config.paths import BUNDLED
from regard.config.stored import BUNDLED_FOLDER, find_model
from regard.errors import UsageError, did_you_mean
from regard.files import below
from regard.tasks.ensembles import ModelNames, first_of

R = TypeVar("R", bound=Recipe)

BUNDLED_TESTS = {"demo": "quickstart.toml"}
"""Bundled models whose test text is bundled as well, and the recipe that names it."""


def with_data_folder(recipe: R, model: ModelNames, data: str | Path | None) -> R:
    """A model file does not say where data lay; the recipe in its run folder, or whoever names a folder, does.

    What a model file calls its data is read only below the folder that a person named, and never downloaded. What a bundled
    model was tested on is bundled as well, in the quickstart's corpus.
    """
    file = find_model(first_of(model))
    if data is None and file.parent == BUNDLED_FOLDER and file.stem in BUNDLED_TESTS:
        return replace(recipe, data=recipes.load(BUNDLED_FOLDER / BUNDLED_TESTS[file.stem]).data)
    stored = file.parent / "config.toml"
    if stored.is_file():
        return replace(recipe, data=recipes.load(stored, folder=data, finished=True).data)
    files = [file for files in recipe.data.tests.values() for file in files if not file.startswith(BUNDLED)]
    if files and data is None:
        raise UsageError(
            f"a model file does not hold its test set, and that of {first_of(model)} is {', '.join(files)}. Say in which folder "
            f"with `data`{or_other_text(recipe, ', or')}"
        )
    if data is None:
        return recipe
    for each in (*(each for each in recipe.data.inputs if each not in recipe.data.train), *files):
        if not each.startswith(BUNDLED):
            below(Path(data), each)
    return replace(recipe, data=replace(recipe.data, folder=str(Path(data).resolve())))


def or_other_text(recipe: Recipe, joint: str) -> str:
    """The options that give a model of this task other text, as the end of a message; nothing, where there are none."""
    named = " and ".join(f"`{name}`" for name in task_settings(recipe.task).text_options)
    return f"{joint} give other text with {named}" if named else ""


def require_test(recipe: Recipe) -> None:
    """Refuse to test on what a recipe does not name."""
    if not recipe.data.tests:
        raise UsageError(f"the model's recipe names no test set{or_other_text(recipe, ';')}")


def choose_test(names: Iterable[str], test: str | None, other: object = None) -> list[str]:
    """The one test set that was asked for by name, or all; `other` is text that was given in their place."""
    known = list(names)
    if test is None:
        return known
    if other is not None:
        raise UsageError(f"`test` is one of the recipe's test sets, and {other} none of them: give one or the other")
    if test not in known:
        raise UsageError(f"no test set {test!r}.{did_you_mean(test, known)} There are: {', '.join(known)}")
    return [test]


def keep_apart(answers: Iterable[Path], read: Iterable[Path]) -> None:
    """Refuse to write answers over text that is read."""
    files = {file.resolve() for file in read}
    for answer in answers:
        if answer.resolve() in files:
            raise UsageError(f"the answers would overwrite {answer}, which is tested on; give `output` another folder")
