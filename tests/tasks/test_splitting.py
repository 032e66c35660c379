"""A text is cut where people would cut it: nothing is lost, every part fits, and the white space comes back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import regard
from regard.tasks.translation.splitting import LIST_MARK, Part, join_texts, split_text

GERMAN = "Der Hund läuft. Er sagt: „Komm mit!“ Warum? Das weiß niemand; aber er kommt, weil er will – und weil er muss."
KOREAN = "오늘은날씨가매우좋습니다。그래서산책을나갔습니다！강아지도같이갔습니다？네、정말로즐거운하루였습니다。"
CHINESE = "他说：「好。」然后走了。真的吗？！我不知道，但是我觉得，他不会回来了。"


def length(text: str) -> int:
    """White space around a text is no token."""
    return len(text.strip())


def texts(parts: list[Part]) -> list[str]:
    return [part.text for part in parts]


def check(text: str, longest: int, sentences: int = 1) -> list[str]:
    """All laws at once."""
    parts = split_text(text, longest, length, sentences)
    whole = "".join(before + part for before, part in parts)
    assert text.startswith(whole)
    assert not text[len(whole) :].strip()  # nothing but white space at its end is left
    assert all(not LIST_MARK.sub("", before, count=1).strip() and part == part.strip() for before, part in parts)
    assert all(0 < len(part) <= longest for _, part in parts)
    return texts(parts)


@pytest.mark.parametrize("text", [GERMAN, KOREAN, CHINESE, "x" * 1_000, "ab " * 500, "Dr. med. A. B. Mustermann e.V."])
@pytest.mark.parametrize("longest", [1, 2, 7, 20, 60, 10_000])
def test_nothing_is_lost_and_every_part_fits(text: str, longest: int) -> None:
    parts = check(text, longest, sentences=0)
    if len(text) <= longest:
        assert parts == [text.strip()]


@given(st.text(st.sampled_from("abA ,.!?;:-–。、「」\n\t\"')1")), st.integers(1, 12), st.integers(0, 3))
def test_nothing_is_lost_of_any_text(text: str, longest: int, sentences: int) -> None:
    check(text, longest, sentences)


def test_as_many_sentences_at_a_time_as_a_line_of_the_training_text_had() -> None:
    text = "One is here. Two is there! (Three, too?) “Four.” Five"
    assert check(text, 100) == ["One is here.", "Two is there!", "(Three, too?)", "“Four.”", "Five"]
    assert check(text, 100, 2) == ["One is here. Two is there!", "(Three, too?) “Four.”", "Five"]
    assert check(text, 100, 9) == check(text, 100, 0) == [text]
    assert check(text, 20, 2) == ["One is here.", "Two is there!", "(Three, too?)", "“Four.” Five"]


def test_languages_without_spaces() -> None:
    assert check(CHINESE, 16) == [
        "他说：「好。」",
        "然后走了。",
        "真的吗？！",
        "我不知道，但是我觉得，",
        "他不会回来了。",
    ]
    assert check(KOREAN, 15)[:2] == ["오늘은날씨가매우좋습니다。", "그래서산책을나갔습니다！"]


def test_a_long_sentence_becomes_few_parts() -> None:
    """Clauses are joined again while they fit; then words; the last resort is halves."""
    assert check("aa, bb, cc, dd, ee", 10) == ["aa, bb,", "cc, dd, ee"]
    assert texts(split_text("a b c d e", 2, lambda text: len(text.split()))) == ["a b", "c d", "e"]
    assert check("x" * 20, 6) == ["x" * 5] * 4


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "\u200b"])
def test_a_text_of_no_tokens_has_no_parts(text: str) -> None:
    assert split_text(text, 5, lambda part: len(part.replace("\u200b", "").strip())) == []


def test_a_character_that_is_too_long_stays_whole() -> None:
    """It may be spelled in several bytes, and cannot be cut."""
    assert texts(split_text("가나", 2, lambda text: 3 * len(text))) == ["가", "나"]


@pytest.mark.parametrize(
    ("text", "glue", "joined"),
    [
        ("  Ab. Cd.", " ", "  ab. cd."),
        ("Ab.\n\n  Cd.\tEf.", " ", "ab.\n\n  cd.\tef."),
        ("Ab.   Cd.\nEf.  ", " ", "ab.   cd.\nef."),
        ("他。她。", " ", "他。 她。"),
        ("- Ab.\n  • Cd. - Ef.\n\n> Gh - i", " ", "- ab.\n  • cd. - ef.\n\n> gh - i"),
        ("a) AB\n-Cd", " ", "a) ab\n-cd"),
        ("A)\n- \n-- Cd", " ", "a)\n- \n-- cd"),
        ("Ab.\u2028\x0bCd.\rEf.\r\n\r\nGh.", " ", "ab.  cd. ef.\r\n\r\ngh."),
        ("Ab. Cd.\n\nEf.", "", "ab.cd.\n\nef."),
    ],
)
def test_white_space_between_parts_comes_back(text: str, glue: str, joined: str) -> None:
    parts = split_text(text, 100, length)
    assert join_texts(parts, [part.text.lower() for part in parts], glue) == joined


def test_the_mark_of_a_list_is_not_translated() -> None:
    parts = split_text("- Ab.\n  • Cd. - Ef.\n> Gh\n(12)  Ij\nB) Kl\n-5 Mn\n- - O", 100, length)
    assert texts(parts) == ["Ab.", "Cd.", "- Ef.", "Gh", "Ij", "Kl", "-5 Mn", "- O"]
    assert texts(split_text("- Ab.", 100, length, sentences=0)) == ["- Ab."]  # whole, as it was asked for


def test_what_became_nothing_leaves_no_space() -> None:
    parts = split_text("Ab. Cd. Ef.", 100, length)
    assert join_texts(parts, ["a", "", "c"], " ") == "a c"


HOSTILE = [
    "Dr. Müller kommt am 3. Mai, z. B. mit dem Zug. Er wohnt in Berlin.", "„Ich habe Hunger.“ Sie sagte: „Komm!“ Dann ging er.",
    "저는 학생입니다. 어디에 가세요? 감사합니다!", "我饿了。你在哪里？谢谢！", "أنا جائع. أين المحطة؟ شكرا.", "- Ich habe Hunger.\n  * Wo ist er?",
    "    Ich habe Hunger.\n\n\n\tWo ist er?\r\n", "Siehe https://example.org/a.b?c=1. Schreib an a.b@c.de. Ja.", "Hunger 😀. Wo? 👩‍👩‍👧 Hier!",
    "Ich weiß nicht … Na ja...  Gut!", "Hunger.Wo bist du?Ich bin hier", "1) Komm her. 2) Geh weg. 3. Bleib hier.", "(Ja.) [Wo?] – Gut. – Nein",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_every_letter_of_a_text_is_in_one_of_its_parts(text: str) -> None:
    parts = regard.load("demo", engine="native").split(text)
    assert "".join("".join((part.before + part.text).split()) for part in parts) == "".join(text.split())
