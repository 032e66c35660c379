"""How classifiers are compared: by accuracy, the share of texts whose label is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.config import ClassificationRecipe
from regard.tasks.classification.evaluation import recipe_labelled_sets
from regard.tasks.task import Examples, Judge, Judged
from regard.tasks.verbs import load


def test_sets(recipe: ClassificationRecipe) -> list[Examples]:
    found = []
    for each in recipe_labelled_sets(recipe):
        examples = list(each.examples())
        found.append(Examples(each.name, [one.text for one in examples], [one.label for one in examples]))
    return found


def answers(run: Path, test_set: Judged) -> list[str]:
    return [found.label for found in load(run, task="text-classification").stream(test_set.sources)]


def counts(recipe: ClassificationRecipe, answers: list[str], test_set: Judged) -> NDArray[np.floating[Any]]:
    """Of each text, whether it is right, and that it is one."""
    pairs = zip(answers, test_set.references, strict=True)
    return np.array([(given == wanted, 1) for given, wanted in pairs], dtype=float).reshape(-1, 2)


def score(recipe: ClassificationRecipe, counted: NDArray[np.floating[Any]]) -> float:
    right, texts = counted
    return float(100 * right / max(1, texts))


JUDGE = Judge("accuracy", test_sets, answers, counts, score, lambda recipe: "% of texts with the right label")
