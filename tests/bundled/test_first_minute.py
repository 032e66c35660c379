"""What `demo` says in somebody's first minute: a threshold that it may not fall below."""

from __future__ import annotations

import pytest

import regard
from tests.bundled.first_minute import SENTENCES, measure, plain, right_by_kind

LEAST = 54
"""Of the sixty, those that must be right. `demo` has 57, and no two CPUs round alike."""


def test_the_list_is_what_it_says() -> None:
    assert [len(sentences) for sentences in SENTENCES.values()] == [10] * 6
    assert all(answers for sentences in SENTENCES.values() for answers in sentences.values())
    assert all(sentence.isupper() for sentence in SENTENCES["all capitals"])
    assert not any(sentence[-1] in ".!?" for sentence in SENTENCES["no punctuation"])


def test_answers_are_compared_by_their_words() -> None:
    assert plain("It's 8:45!") == plain("it is 8:45.") == "it is 8:45"
    assert plain("That costs 9.50 euros.") != plain("That costs 950 euros.")
    assert plain("I can't, I won't, let’s go") == "i cannot i will not let us go"
    assert plain("I'm hungry") != plain("I'm angry")


@pytest.mark.slow
def test_the_first_minute_of_demo() -> None:
    found = measure(regard.load("demo"))
    wrong = [f"{each.sentence} → {each.answer}" for each in found if not each.right]
    assert sum(right_by_kind(found).values()) >= LEAST, "\n".join(wrong)
