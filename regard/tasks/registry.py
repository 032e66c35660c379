"""What a recipe's `task` stands for: the one table of tasks, a row for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from regard.data import labelled, plain
from regard.tasks.classification import training as classify
from regard.tasks.classification.classifier import Classifier
from regard.tasks.language_model import training as language
from regard.tasks.language_model.generator import TextWriter
from regard.tasks.translation import training as translate
from regard.tasks.translation.translator import Translator
from regard.training.loss import Loss
from regard.training.task import Task


class Row(NamedTuple):
    """The sides of a task."""

    verb: str
    """What the command line calls it at work."""
    training: Callable[..., Task]
    """What the loop trains with: of a recipe, its prepared text, the parts of an update and a device."""
    working: Callable[..., Translator | Classifier | TextWriter]
    """What `regard.load` returns."""
    read: Callable[[Any, str], Iterator[Any]]
    """(`[data]`, name of a split) → its texts."""
    rehearsed_loss: Callable[[Any, Any, int], tuple[Loss, int]]
    """(recipe, model, tokens) → the loss of about so many made-up tokens, and what it is a sum over."""


TASKS = {
    "translate": Row(
        "translate", translate.TranslationTask, Translator, translate.read_split, translate.rehearsed_loss
    ),
    "classify": Row("classify", classify.ClassificationTask, Classifier, labelled.read_split, classify.rehearsed_loss),
    "language-model": Row("generate", language.LanguageTask, TextWriter, plain.read_split, language.rehearsed_loss),
}
