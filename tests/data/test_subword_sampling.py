"""Words in other tokens: the same text, the tokenizer's own way where nothing is left to chance, and always the same chance."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations, pairwise
from math import exp
from pathlib import Path
from random import Random

import numpy as np
import pytest

from regard import config
from regard.data.placeholders import PLACEHOLDERS
from regard.data.subword_sampling import LONGEST, SubwordSampling, draw, merge
from regard.data.tokenizer import Tokenizer, train_tokenizer
from tests.training.toy import contents, train, write_corpus

LINES = [
    "The tailor of Gloucester sews a waistcoat.",
    "Tailors sew, and waistcoats are sewn.",
    "Wo wohnt der Schneider, der die Weste näht?",
    "재봉사는 조끼를 만들고, 조끼는 만들어졌습니다.",
    "A wanderer wandered and wondered.",
]
UNSEEN = [
    *LINES,
    "Snow 雪, ☃ and a wander wardrobe; 조끼가 wandert.",
    "",
    "x",
    f"Fly {PLACEHOLDERS[0]} {PLACEHOLDERS[1]}.",
]
KINDS = pytest.mark.parametrize("kind", ["bpe", "unigram"])


@cache
def tokenizer(kind: str, joint: bool = True) -> Tokenizer:
    settings = config.Tokenizer(kind=kind, vocabulary=400 if kind == "bpe" else 320, coverage=1.0, joint=joint)
    return train_tokenizer(LINES, LINES, settings).with_placeholders().with_tags(["<bt>"])


def sampled(kind: str, strength: float, chance: int = 1, seed: int = 1) -> list[list[int]]:
    sampling, random = SubwordSampling(tokenizer(kind), kind, strength, seed), Random(chance)
    lines = [np.array(tokenizer(kind).encode(line), dtype="<u2") for line in UNSEEN]
    return [sampling.sample(ids, "source", random).tolist() for ids in lines]


def test_without_dropout_merging_is_the_tokenizers_own() -> None:
    assert sampled("bpe", 0.0) == [tokenizer("bpe").encode(line) for line in UNSEEN]


def test_with_a_high_exponent_only_the_most_probable_way_is_drawn() -> None:
    assert sampled("unigram", 1_000.0) == [tokenizer("unigram").encode(line) for line in UNSEEN]


@KINDS
def test_the_text_stays_what_it_was(kind: str) -> None:
    for strength in (0.1, 0.5, 1.0):
        assert [tokenizer(kind).decode(ids, "source") for ids in sampled(kind, strength)] == [
            tokenizer(kind).normalize(line) for line in UNSEEN
        ]


@KINDS
def test_what_comes_of_a_word_follows_from_seed_and_chance(kind: str) -> None:
    strength = 0.3
    assert sampled(kind, strength) == sampled(kind, strength)
    assert sampled(kind, strength, chance=2) != sampled(kind, strength) != sampled(kind, strength, seed=2)
    sampling, ids = SubwordSampling(tokenizer(kind), kind, strength, 1), np.array(tokenizer(kind).encode(LINES[0]))
    random = Random(0)
    for _ in range(500):  # what is remembered changes nothing
        sampling.sample(ids, "source", random)
    assert sampling.sample(ids, "source", Random(1)).tolist() == sampled(kind, strength)[0]
    ways = {tuple(sampling.sample(ids, "source", random).tolist()) for _ in range(200)}
    assert len(ways) > 10


def test_without_any_merge_words_are_spelled() -> None:
    (tokens,) = (tokenizer("bpe").tokens(ids, "source") for ids in sampled("bpe", 1.0)[:1])
    assert set(map(len, tokens)) == {1}
    assert len(tokens) > len(tokenizer("bpe").encode(LINES[0]))


def test_a_merge_is_left_out_as_often_as_asked() -> None:
    """Of two letters there is one merge: it is left out in one of four times."""
    random = Random(1)
    counts = Counter(tuple(merge("ab", {"a": 0, "b": 0, "ab": 0}, 0.25, random)) for _ in range(4_000))
    assert counts["a", "b"] / 4_000 == pytest.approx(0.25, abs=0.03)


def test_ways_to_cut_are_drawn_as_often_as_they_are_probable() -> None:
    scores = {"a": -3.0, "b": -2.5, "ab": -4.0, "ba": -4.5, "aba": -5.0}
    text, alpha, random = "abab", 0.7, Random(1)
    ways = {}
    for number in range(len(text)):
        for cuts in combinations(range(1, len(text)), number):
            tokens = tuple(text[begin:end] for begin, end in pairwise([0, *cuts, len(text)]))
            if all(token in scores for token in tokens):
                ways[tokens] = exp(alpha * sum(scores[token] for token in tokens))
    counts = Counter(tuple(draw(text, scores, alpha, random)) for _ in range(20_000))
    assert set(counts) == set(ways)
    for tokens, weight in ways.items():
        assert counts[tokens] / 20_000 == pytest.approx(weight / sum(ways.values()), abs=0.02)


def test_no_token_is_longer_than_what_is_looked_at() -> None:
    long = "incomprehensibilities"
    learned = train_tokenizer([long] * 9, [long] * 9, config.Tokenizer(vocabulary=290, coverage=1.0))
    assert max(map(len, learned.scores("source"))) <= LONGEST


def test_each_side_has_its_own_tokens_where_there_are_two() -> None:
    both = tokenizer("bpe", joint=False)
    sampling, ids = SubwordSampling(both, "bpe", 0.5, 1), np.array(both.encode(LINES[3], "target"))
    found = sampling.sample(ids, "target", Random(1)).tolist()
    assert both.decode(found, "target") == LINES[3]


def test_a_stopped_run_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    recipe = write_corpus(tmp_path)
    asked = ("training.subword_sampling=0.3", "data.join=0.2", "data.copy=0.3", "training.validate_every=4")
    for run, stops in (("straight", (8,)), ("stopped", (4, 8))):
        for updates in stops:
            train(recipe, tmp_path / run, *asked, f"training.updates={updates}")
    train(recipe, tmp_path / "plain", *asked, "training.subword_sampling=0", "training.updates=8")
    stopped, straight, plain = (contents(tmp_path / run) for run in ("stopped", "straight", "plain"))
    del stopped["metrics.jsonl"], straight["metrics.jsonl"]  # a run that ended at update 4 said so there
    assert stopped == straight
    assert plain["model.safetensors"] != straight["model.safetensors"]
    assert len(list((tmp_path / "prepared").iterdir())) == 1  # the ids on disk are the same for all
