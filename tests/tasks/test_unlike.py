"""Test sentences that training holds almost word for word are told apart from those that it does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard import config
from regard.data.near_duplicates import closest, grams, normalised
from regard.errors import UsageError
from regard.evaluation.scores import score
from regard.tasks.translation.evaluation import TestSet, TranslationTest
from regard.tasks.translation.unlike import rows_unlike, scores_unlike

TRAINING = [
    ("Tom wohnt in Boston.", "Tom lives in Boston."),
    ("Der Schneider näht eine Weste.", "The tailor is sewing a waistcoat."),
    ("Ja.", "Yes."),
]
TEST = [
    ("Maria wohnt in Boston!", "Mary lives in Boston!"),  # almost the same
    ("Das Wasser kocht schon lange.", "The tailor is sewing a waistcoat"),  # the same on one side
    ("Kinetische Energie wird zu Wärme.", "Kinetic energy becomes heat."),
    ("ja", "Yeah"),
]
WORDS = st.lists(
    st.sampled_from(["Tom", "wohnt", "in", "Boston", "a", "ja.", "Schneider"]), min_size=1, max_size=6
).map(" ".join)


@pytest.fixture
def data(tmp_path: Path) -> config.ParallelText:
    (tmp_path / "train.tsv").write_text("".join("\t".join(pair) + "\n" for pair in TRAINING), encoding="utf-8")
    return config.ParallelText(train=(str(tmp_path / "train.tsv"),))


@given(st.lists(WORDS, min_size=1, max_size=5), st.lists(WORDS, max_size=8))
@settings(deadline=None)
def test_the_closest_is_found_as_if_all_were_compared(texts: list[str], training: list[str]) -> None:
    def parts(text: str) -> set[str]:
        (plain,) = normalised([text])
        return grams(plain) or {plain}

    def shared(one: str, other: str) -> float:
        return len(parts(one) & parts(other)) / len(parts(one) | parts(other))

    expected = [max((shared(text, each) for each in training), default=0.0) for text in texts]
    assert closest(texts, training).tolist() == pytest.approx(expected)


def test_a_sentence_stays_only_if_neither_side_is_like_training(data: config.ParallelText) -> None:
    test_set = TestSet("test", [source for source, _ in TEST], [target for _, target in TEST])
    assert rows_unlike(test_set, data, 0.5, {"training_examples": 3}) == [2]  # "ja" is "Ja.", without case and mark
    assert rows_unlike(test_set, data, 1.0, {}) == [0, 2]
    with pytest.raises(UsageError, match="the training text here has 3 pairs, and the model learned from 4"):
        rows_unlike(test_set, data, 0.5, {"training_examples": 4})


def test_the_signature_says_which_and_how_many() -> None:
    answers = ["Mary lives in Boston!", "x", "Kinetic energy is heat.", "Yeah"]
    references = [target for _, target in TEST]
    signed = [replace(each, signature=f"{each.signature}|split:1") for each in score(answers, references)]
    test = TranslationTest("test", signed, [source for source, _ in TEST], answers, references)
    found = scores_unlike(test, [2], 0.5, "en")
    assert [each.value for each in found] == [each.value for each in score(answers[2:3], references[2:3])]
    assert {each.signature.partition("|split:")[2] for each in found} == {"1|unlike:0.5|sentences:1"}
    assert found[0].name == "BLEU unlike training"
    with pytest.raises(UsageError, match="no sentence of 'test' is so unlike"):
        scores_unlike(test, [], 0.5, "en")
