"""How good a translator is on what it has not nearly seen: test sentences that are unlike all training text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from regard import config
from regard.data.mixture import read_split
from regard.data.near_duplicates import closest
from regard.data.progress import progress
from regard.errors import UsageError
from regard.evaluation.scores import Score, score
from regard.tasks.provenance import told_count
from regard.tasks.translation.evaluation import TestSet, TranslationTest


def rows_unlike(test_set: TestSet, data: config.ParallelText, most: float, provenance: Mapping[str, Any]) -> list[int]:
    """The sentences of which neither side shares so large a part of its 5-grams of characters with one training sentence."""
    read = 0

    def side(number: int) -> Iterator[str]:
        nonlocal read
        read = 0
        for pair in read_split(data, "train"):
            read += 1
            yield pair[number]

    with progress() as bar:
        texts = (test_set.sources, test_set.references)
        shares = [
            closest(each, bar.track(side(number), description="Comparing with training"))
            for number, each in enumerate(texts)
        ]
    learned = told_count(provenance, "training_examples", 0)
    if read < learned:
        raise UsageError(
            f"the training text here has {read:,} pairs, and the model learned from {learned:,}; say by `data` where all of it is"
        )
    return np.flatnonzero(np.maximum(*shares) < most).tolist()


def scores_unlike(test: TranslationTest, rows: list[int], most: float, language: str) -> list[Score]:
    """Of these sentences alone; the signature says which and how many they are."""
    if not rows:
        raise UsageError(f"no sentence of {test.name!r} is so unlike the training text; raise `unlike` = {most:g}")
    found = score([test.texts[row] for row in rows], [test.references[row] for row in rows], target_language=language)
    told = f"split:{test.scores[0].signature.partition('|split:')[2]}|unlike:{most:g}|sentences:{len(rows)}"
    return [Score(f"{each.name} unlike training", each.value, f"{each.signature}|{told}") for each in found]
