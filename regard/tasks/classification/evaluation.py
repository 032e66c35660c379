"""A trained classifier against the truth: classify a test set, score it, and show what it is most confidently wrong about.

S texts · C labels
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from regard import config
from regard.data.corpus import locate
from regard.data.labelled import Example, read_examples, require_label
from regard.data.progress import progress
from regard.errors import UsageError
from regard.tasks.classification.classifier import Classifier
from regard.tasks.data_folder import require_test
from regard.tasks.label_results import LabelAnswers, LabelTest, Numbers
from regard.tasks.texts import LOOK_AHEAD, in_blocks

SHORT = 160  # characters of a text that is shown


@dataclass(frozen=True)
class LabelledSet:
    """Labelled text to test on."""

    name: str
    path: Path
    data: config.LabelledText

    def examples(self) -> Iterator[Example]:
        return read_examples(self.path, self.data, self.name)


@dataclass(frozen=True)
class Mistake:
    """A text that was given another label than it has."""

    text: str
    label: str
    given: str
    confidence: float
    line: int

    def __str__(self) -> str:
        return f"line {self.line}: {self.label}, given {self.given} with {100 * self.confidence:.1f} %: {shortened(self.text)}"


def shortened(text: str) -> str:
    """Both ends of a text that is too long to show: a review's verdict is often its last sentence."""
    return text if len(text) <= SHORT else f"{text[: SHORT // 2].rstrip()} … {text[-SHORT // 2 :].lstrip()}"


def recipe_labelled_sets(recipe: config.ClassificationRecipe) -> list[LabelledSet]:
    """The test sets that a recipe names."""
    require_test(recipe)
    data = recipe.data
    return [LabelledSet(name, locate(files[0], data), data) for name, files in data.test.items()]


def file_labelled_set(path: Path, recipe: config.ClassificationRecipe) -> LabelledSet:
    """One file with the columns that the recipe names; every row of it counts, whatever split it says."""
    return LabelledSet(path.name, path, replace(recipe.data, split=""))


def evaluate_labels(
    classifier: Classifier, test_set: LabelledSet, on_answer: Callable[[Example, str, float], None] | None = None
) -> LabelTest:
    """Classify every text with a progress bar; `on_answer` is told of each, with its label and probability."""
    answers = LabelAnswers(classifier.labels, classifier.temperature)
    empty = 0
    for example, number, logits in _classified(classifier, test_set):
        given, confidence = "", 0.0
        if logits is None:
            empty += 1
        else:
            given, confidence = answers.add(logits, number, partial(_mistake, example), example.line)
        if on_answer is not None:
            on_answer(example, given, confidence)
    if not len(answers):
        raise UsageError(f"cannot score {test_set.name}: none of its {empty:,} texts has any words")
    return answers.score(test_set.name, "texts", empty)


def _mistake(example: Example, given: str, confidence: float) -> Mistake:
    return Mistake(example.text, example.label, given, confidence, example.line)


def _classified(classifier: Classifier, test_set: LabelledSet) -> Iterator[tuple[Example, int, Numbers | None]]:
    """Each example, the number of its label, and its logits [C] if it has any words."""
    numbers = {label: number for number, label in enumerate(classifier.labels)}
    with progress() as bar:
        line = bar.add_task(f"Classifying {test_set.name}", total=None)
        for block in in_blocks(test_set.examples(), LOOK_AHEAD):
            known = [require_label(each, numbers, str(test_set.path)) for each in block]
            encoded, found = classifier.logits([each.text for each in block])
            rows = iter(found.numpy())
            for example, number, ids in zip(block, known, encoded, strict=True):
                yield example, number, next(rows) if len(ids) else None
            bar.advance(line, len(block))
