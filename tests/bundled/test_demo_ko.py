"""`demo-ko`: what it must get right, in both languages, and how much of a first minute."""

from __future__ import annotations

import pytest

import regard
from regard.checkpoint import find_model
from tests.bundled.first_minute import measure, right_by_kind
from tests.bundled.first_minute_ko import SENTENCES

MOST_BYTES = 12_000_000
LEAST = 37
"""Of the sixty, those that must be right. `demo-ko` has 42, and no two CPUs round alike."""


def test_the_list_is_what_it_says() -> None:
    assert [len(sentences) for sentences in SENTENCES.values()] == [10] * 6
    assert all(answers for sentences in SENTENCES.values() for answers in sentences.values())


def test_thanks_go_both_ways() -> None:
    """Whoever types one of these first must be answered right; the letters tell which way."""
    assert find_model("demo-ko").stat().st_size <= MOST_BYTES
    model = regard.load("demo-ko", task="translation")
    found = [each.text for each in model.translate(["감사합니다.", "고맙습니다.", "Thank you.", "THANK YOU."])]
    assert found[:2] == ["Thank you.", "Thank you."]
    assert all(each in ("감사합니다.", "고맙습니다.") for each in found[2:])
    assert model.translate("Thank you.", to="ko").text == found[2]


@pytest.mark.slow
def test_the_first_minute_of_demo_ko() -> None:
    found = measure(regard.load("demo-ko", task="translation"), SENTENCES)
    wrong = [f"{each.sentence} → {each.answer}" for each in found if not each.right]
    assert sum(right_by_kind(found).values()) >= LEAST, "\n".join(wrong)
