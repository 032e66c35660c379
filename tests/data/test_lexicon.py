"""Which token translates which is found from sentences alone, even where tokens always come together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from regard.data.ids import MANIFEST, PairIds, PairWriter
from regard.data.lexicon import WIDTH, lexicon, translation_probabilities
from regard.data.tokenizer import PAD
from regard.files import replacing

SIZE = 50


def pairs(tmp_path: Path, sentences: list[tuple[list[int], list[int]]]) -> PairIds:
    with PairWriter(tmp_path, "train", "<u2") as writer:
        ids = np.array([each for source, target in sentences for each in (*source, *target)], dtype=np.int64)
        writer.add(ids, np.array([[len(source), len(target)] for source, target in sentences]))
        described = writer.finish()
    with replacing(tmp_path / MANIFEST) as temporary:
        temporary.write_text(json.dumps({"splits": {"train": described}}))
    return PairIds.open(tmp_path, "train")


def random_pairs(seed: int = 0, count: int = 400) -> list[tuple[list[int], list[int]]]:
    """Token n is translated by token 53 - n, in another order, and 20 follows every target."""
    chance = np.random.default_rng(seed)
    sources = [chance.integers(4, 16, size=chance.integers(1, 7)).tolist() for _ in range(count)]
    return [(source, [*(53 - each for each in source[::-1]), 20]) for source in sources]


def test_the_likeliest_translation_comes_first(tmp_path: Path) -> None:
    table, _ = lexicon(pairs(tmp_path, random_pairs()), SIZE, SIZE, common=0)
    assert table.shape == (SIZE, WIDTH)
    assert table[4:16, 0].tolist() == [53 - each for each in range(4, 16)]
    assert (table[30:] == PAD).all(), "what was never seen has no translation"


def test_the_most_frequent_are_apart(tmp_path: Path) -> None:
    sentences = random_pairs()
    table, frequent = lexicon(pairs(tmp_path, sentences), SIZE, SIZE, common=3)
    counts = np.bincount([each for _, target in sentences for each in target], minlength=SIZE)
    assert frequent[0] == 20
    assert counts[frequent].tolist() == sorted(counts, reverse=True)[:3]
    assert not np.isin(table, frequent).any()
    _, everything = lexicon(pairs(tmp_path, sentences), SIZE, SIZE)
    assert set(everything.tolist()) == set(counts.nonzero()[0].tolist()), "only what was seen is frequent"


def test_probabilities_are_probabilities() -> None:
    sources, targets = zip(*random_pairs(), strict=True)
    source, _, probability = translation_probabilities(
        [np.array(each) for each in sources], [np.array(each) for each in targets], SIZE
    )
    assert np.bincount(source, probability)[4:16] == pytest.approx(np.ones(12))


def test_a_part_of_a_large_corpus_is_enough(tmp_path: Path) -> None:
    table, _ = lexicon(pairs(tmp_path, random_pairs(count=2_000)), SIZE, SIZE, pairings=4_000, common=0)
    assert table[4:16, 0].tolist() == [53 - each for each in range(4, 16)]
