"""How classifiers are compared: by accuracy, the share of texts whose label is right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.config import ClassificationRecipe
from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.evaluation import LabelledSet, file_labelled_set, recipe_labelled_sets
from regard.tasks.data_folder import with_data_folder
from regard.tasks.task import Examples, Judge, Judged
from regard.tasks.verbs import load


def test_sets(recipe: ClassificationRecipe) -> list[Examples]:
    return [in_memory(each) for each in recipe_labelled_sets(recipe)]


def in_memory(labelled: LabelledSet) -> Examples:
    examples = list(labelled.examples())
    return Examples(labelled.name, [one.text for one in examples], [one.label for one in examples])


def examples_of(
    classifier: Classifier, model: str | Path, data: str | Path | None, *, file: str | Path | None = None
) -> list[Examples]:
    """Those of its recipe, or one labelled file."""
    if file is not None:
        return [in_memory(file_labelled_set(Path(file), classifier.recipe))]
    return test_sets(with_data_folder(classifier.recipe, model, data))


def answers(run: Path, test_set: Judged) -> list[str]:
    return list(quick(load(run, task="text-classification"), test_set.sources))


def quick(classifier: Classifier, sources: list[str]) -> Iterator[str]:
    return (found.label for found in classifier.stream(sources))


def counts(recipe: ClassificationRecipe, answers: list[str], test_set: Judged) -> NDArray[np.floating[Any]]:
    """Of each text, whether it is right, and that it is one."""
    pairs = zip(answers, test_set.references, strict=True)
    return np.array([(given == wanted, 1) for given, wanted in pairs], dtype=float).reshape(-1, 2)


def score(recipe: ClassificationRecipe, counted: NDArray[np.floating[Any]]) -> float:
    right, texts = counted
    return float(100 * right / max(1, texts))


JUDGE = Judge("accuracy", test_sets, answers, quick, counts, score, lambda recipe: "% of texts with the right label")
