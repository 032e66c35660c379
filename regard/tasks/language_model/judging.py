"""How language models are compared: by the perplexity of a word, each line read for itself."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.config import LanguageRecipe
from regard.data.plain import read_documents
from regard.tasks.language_model.verbs import SCORED_TOGETHER
from regard.tasks.task import Examples, Judge, Judged
from regard.tasks.texts import in_blocks
from regard.tasks.verbs import load

MOST = 700.0  # nats that a word can be unlikely by: more has no number


def test_sets(recipe: LanguageRecipe) -> list[Examples]:
    """Its tests, else its validation text."""
    sets = []
    for name, files in (recipe.data.test or {"valid": recipe.data.valid}).items():
        lines = [line for line in read_documents(files, recipe.data) if line.strip()]
        sets.append(Examples(name, lines, lines))
    return sets


def answers(run: Path, test_set: Judged) -> list[list[float]]:
    """Of each line its log-probability and its words, among which its end is one."""
    writer = load(run, task="text-generation")
    blocks = in_blocks(test_set.sources, SCORED_TOGETHER)
    return [[found.log_probability, float(found.words)] for block in blocks for found in writer.score(block)]


def counts(recipe: LanguageRecipe, answers: list[list[float]], test_set: Judged) -> NDArray[np.floating[Any]]:
    return np.array(answers, dtype=float).reshape(-1, 2)


def score(recipe: LanguageRecipe, counted: NDArray[np.floating[Any]]) -> float:
    log_probability, words = counted
    return math.exp(min(MOST, -log_probability / max(1.0, words)))


JUDGE = Judge(
    "perplexity",
    test_sets,
    answers,
    counts,
    score,
    lambda recipe: "perplexity of a word, lines read one by one",
    lower=True,
    by_validation=True,
)
