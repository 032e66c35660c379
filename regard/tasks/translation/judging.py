"""How runs that translate are compared: by BLEU, whose counts of each sentence add up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.config import TranslationRecipe
from regard.evaluation.compare import counts_of, score_of
from regard.evaluation.scores import bleu_for
from regard.tasks.task import Judge, Judged, Metric
from regard.tasks.translation.evaluation import TestSet, recipe_test_sets, sets_to_test
from regard.tasks.translation.translator import Translator
from regard.tasks.verbs import load


def examples_of(
    translator: Translator,
    model: str | Path,
    data: str | Path | None,
    *,
    source: str | Path | None = None,
    target: str | Path | None = None,
) -> list[TestSet]:
    """Those of its recipe, or the one that two files make up."""
    return sets_to_test(translator, model, data, source, target)


def answers(run: Path, test_set: Judged) -> list[str]:
    return [translation.text for translation in load(run, task="translation").stream(test_set.sources, scores=False)]


def quick(translator: Translator, sources: list[str]) -> Iterator[str]:
    """Greedily."""
    return (translation.text for translation in translator.stream(sources, beam=1))


def counts(recipe: TranslationRecipe, answers: list[str], test_set: Judged) -> NDArray[np.floating[Any]]:
    return counts_of(bleu_for(recipe.data.target_language), answers, test_set.references).astype(float)


def score(recipe: TranslationRecipe, counted: NDArray[np.floating[Any]]) -> float:
    return score_of(bleu_for(recipe.data.target_language), counted.astype(np.int64))


def signature(recipe: TranslationRecipe) -> str:
    return signature_of(bleu_for(recipe.data.target_language))


def signature_of(metric: BLEU | CHRF) -> str:
    counts_of(metric, ["one"], ["one"])  # it has no signature before it knows how many references there are
    found: str = metric.get_signature().format()
    return found


def chrf_counts(recipe: TranslationRecipe, answers: list[str], test_set: Judged) -> NDArray[np.floating[Any]]:
    return counts_of(CHRF(), answers, test_set.references).astype(float)


def chrf_score(recipe: TranslationRecipe, counted: NDArray[np.floating[Any]]) -> float:
    return score_of(CHRF(), counted.astype(np.int64))


def chrf_signature(recipe: TranslationRecipe) -> str:
    return signature_of(CHRF())


CHRF2 = Metric("chrF2", chrf_counts, chrf_score, chrf_signature)
JUDGE = Judge("BLEU", recipe_test_sets, answers, quick, counts, score, signature, also=(CHRF2,))
