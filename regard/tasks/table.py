"""What a recipe's `task` stands for: the one table of tasks, a row for each."""

from __future__ import annotations

from typing import NamedTuple

from regard.tasks.translate import TranslationTask
from regard.tasks.translator import Translator


class Row(NamedTuple):
    """The two sides of a task."""

    training: type[TranslationTask]
    """What the loop trains with."""
    working: type[Translator]
    """What `regard.load` returns."""


TASKS = {"translate": Row(TranslationTask, Translator)}
