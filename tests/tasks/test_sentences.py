"""Long texts are cut where people would cut them; nothing is lost and every part fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.tasks.translation.splitting import split_text

GERMAN = "Der Hund läuft. Er sagt: „Komm mit!“ Warum? Das weiß niemand; aber er kommt, weil er will – und weil er muss."
KOREAN = "오늘은날씨가매우좋습니다。그래서산책을나갔습니다！강아지도같이갔습니다？네、정말로즐거운하루였습니다。"
CHINESE = "他说：「好。」然后走了。真的吗？！我不知道，但是我觉得，他不会回来了。"


def squeezed(text: str) -> str:
    return "".join(text.split())


def check(text: str, longest: int) -> list[str]:
    """All laws at once."""
    parts = split_text(text, longest, len)
    assert squeezed("".join(parts)) == squeezed(text)
    place = 0
    for part in parts:  # each is a token of the text as it was, in order
        place = text.index(part, place) + len(part)
    assert all(0 < len(part) <= longest and part == part.strip() for part in parts)
    return parts


@pytest.mark.parametrize("text", [GERMAN, KOREAN, CHINESE, "x" * 1_000, "ab " * 500, "Dr. med. A. B. Mustermann e.V."])
@pytest.mark.parametrize("longest", [1, 2, 7, 20, 60, 10_000])
def test_nothing_is_lost_and_every_part_fits(text: str, longest: int) -> None:
    parts = check(text, longest)
    if len(text) <= longest:
        assert parts == [text.strip()]


@given(st.text(st.sampled_from("ab ,.!?;:-–。、「」\n\t\"')")), st.integers(1, 12))
def test_nothing_is_lost_of_any_text(text: str, longest: int) -> None:
    check(text, longest)


def test_sentences_stay_whole_where_they_can() -> None:
    assert split_text("One is here. Two is there! (Three, too?) “Four.” Five", 15, len) == [
        "One is here.", "Two is there!", "(Three, too?)", "“Four.”", "Five"
    ]  # fmt: skip


def test_languages_without_spaces() -> None:
    assert split_text(CHINESE, 16, len) == ["他说：「好。」", "然后走了。", "真的吗？！", "我不知道，但是我觉得，", "他不会回来了。"]  # fmt: skip
    assert split_text(KOREAN, 15, len)[:2] == ["오늘은날씨가매우좋습니다。", "그래서산책을나갔습니다！"]


def test_a_long_sentence_becomes_few_parts() -> None:
    """Clauses are joined again while they fit; then words; the last resort is halves."""
    assert split_text("aa, bb, cc, dd, ee", 10, len) == ["aa, bb,", "cc, dd, ee"]
    assert split_text("a b c d e", 2, lambda text: len(text.split())) == ["a b", "c d", "e"]
    assert split_text("x" * 20, 6, len) == ["x" * 5] * 4


def test_what_fits_is_not_cut() -> None:
    assert split_text("  One. Two. Three.  ", 100, len) == ["One. Two. Three."]


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u200b"])
def test_a_text_of_no_tokens_has_no_parts(text: str) -> None:
    assert split_text(text, 5, lambda part: len(part.replace("\u200b", ""))) == []


def test_a_character_that_is_too_long_stays_whole() -> None:
    """It may be spelled in several bytes, and cannot be cut."""
    assert split_text("가나", 2, lambda text: 3 * len(text)) == ["가", "나"]
