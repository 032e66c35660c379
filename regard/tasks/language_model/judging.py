"""How language models are compared: by the perplexity of a word, each line read for itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.config import LanguageRecipe
from regard.data.plain import read_documents
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.language_model.verbs import SCORED_TOGETHER, texts_of
from regard.tasks.task import Examples, Judge, Judged
from regard.tasks.texts import in_blocks
from regard.tasks.verbs import load

MOST = 700.0  # nats that a word can be unlikely by: more has no number


def test_sets(recipe: LanguageRecipe) -> list[Examples]:
    """Its tests, else its validation text."""
    files = recipe.data.test or {"valid": recipe.data.valid}
    return [in_memory(name, read_documents(each, recipe.data)) for name, each in files.items()]


def examples_of(
    writer: TextGenerator, model: str | Path, data: str | Path | None, *, file: str | Path | None = None
) -> list[Examples]:
    """Those of its recipe, or one file."""
    return [in_memory(name, lines) for name, lines in texts_of(writer, model, file, data)]


def in_memory(name: str, documents: Iterable[str]) -> Examples:
    lines = [line for line in documents if line.strip()]
    return Examples(name, lines, lines)


def answers(run: Path, test_set: Judged) -> list[list[float]]:
    """Of each line its log-probability and its words, among which its end is one."""
    return list(quick(load(run, task="text-generation"), test_set.sources))


def quick(writer: TextGenerator, sources: list[str]) -> Iterator[list[float]]:
    for block in in_blocks(sources, SCORED_TOGETHER):
        yield from ([found.log_probability, float(found.words)] for found in writer.score(block))


def counts(recipe: LanguageRecipe, answers: list[list[float]], test_set: Judged) -> NDArray[np.floating[Any]]:
    return np.array(answers, dtype=float).reshape(-1, 2)


def score(recipe: LanguageRecipe, counted: NDArray[np.floating[Any]]) -> float:
    log_probability, words = counted
    return math.exp(min(MOST, -log_probability / max(1.0, words)))


JUDGE = Judge(
    "perplexity",
    test_sets,
    answers,
    quick,
    counts,
    score,
    lambda recipe: "perplexity of a word, lines read one by one",
    lower=True,
    by_validation=True,
)
