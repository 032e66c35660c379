"""What of a parallel text is hardly meant: each is found where it is, with its file and count, and nothing is said of what is right."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from regard import config
from regard.data.languages import TwoLanguages, code_of
from regard.data.near_duplicates import SHORTEST, HeldOut, grams, look_through, normalised
from regard.data.text_doubts import doubts
from tests.conftest import made_up_sentences

GERMAN = ["Ich habe das Buch nicht gelesen.", "Der Mann ist mit dem Hund im Garten.", "Wir sind auf dem Weg zu dir."]
ENGLISH = ["I have not read the book.", "The man is in the garden with the dog.", "We are on the way to you."]
KOREAN = ["나는 그 책을 읽지 않았다.", "남자가 개와 함께 정원에 있다.", "우리는 너에게 가는 길이다."]


def table(path: Path, pairs: list[tuple[str, str]]) -> None:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")


def data(folder: Path, **settings: Any) -> config.ParallelText:
    return config.ParallelText(
        **{
            "folder": str(folder), "train": ("train.tsv",), "valid": ("valid.tsv",), "source_language": "de",
            "target_language": "en", **settings,
        }
    )  # fmt: skip


def pairs(count: int, seed: int = 1, left: list[str] = GERMAN, right: list[str] = ENGLISH) -> list[tuple[str, str]]:
    """Different enough from each other: a known sentence between made-up words."""
    made = random.Random(seed).sample(made_up_sentences(seed, 4 * count), 2 * count)
    return [
        (
            f"{made[2 * row]} {left[row % 3]} {made[2 * row + 1]}",
            f"{made[2 * row + 1]} {right[row % 3]} {made[2 * row]}",
        )
        for row in range(count)
    ]


def test_nothing_is_said_of_what_is_right(tmp_path: Path) -> None:
    table(tmp_path / "train.tsv", pairs(120, 1))
    table(tmp_path / "valid.tsv", pairs(60, 2))
    assert list(doubts(data(tmp_path))) == []


@pytest.mark.parametrize(
    "header",
    [("source", "target"), ("de", "en"), ("German", "English"), ("Source text", "Target text"), ("ko", "en"), ("sentence_1", "translation")],
)  # fmt: skip
def test_a_header_row_is_named(tmp_path: Path, header: tuple[str, str]) -> None:
    table(tmp_path / "train.tsv", [header, *pairs(60)])
    table(tmp_path / "valid.tsv", pairs(40, 2))
    (told,) = doubts(data(tmp_path))
    assert told.startswith(f"data.train: train.tsv, line 1 looks like a header row ({header[0]!r}, {header[1]!r})")
    assert "tail -n +2 train.tsv" in told


@pytest.mark.parametrize("first", [("Hi.", "Hallo."), ("No", "No"), ("Text.", "Text."), ("", ""), ("er", "he")])
def test_a_short_pair_is_no_header_row(tmp_path: Path, first: tuple[str, str]) -> None:
    table(tmp_path / "train.tsv", [first, *pairs(60)])
    table(tmp_path / "valid.tsv", pairs(40, 2))
    assert list(doubts(data(tmp_path))) == []


def test_a_header_of_a_csv_and_of_a_corpus_is_named(tmp_path: Path) -> None:
    rows = "".join(f'"{source}","{target}"\n' for source, target in [("deutsch", "english"), *pairs(60)])
    (tmp_path / "talk.csv").write_text(rows, encoding="utf-8")
    corpus = config.Corpus(name="talk", train=("talk.csv",), source_language="de", target_language="en")
    (told,) = doubts(data(tmp_path, train=(), valid=(), corpus=(corpus,), hold_out=0.1))
    assert told.startswith("data.corpus talk: talk.csv, line 1")


@pytest.mark.parametrize(
    ("left", "right", "languages"), [(ENGLISH, GERMAN, ("de", "en")), (ENGLISH, KOREAN, ("Korean", "English"))]
)
def test_languages_that_changed_places_are_told(
    tmp_path: Path, left: list[str], right: list[str], languages: tuple[str, str]
) -> None:
    settings = {"source_language": languages[0], "target_language": languages[1]}
    left, right = [[f"{sentence} {sentence}" * 2 for sentence in side] for side in (left, right)]
    table(tmp_path / "train.tsv", pairs(120, 1, left, right))
    table(tmp_path / "valid.tsv", [])
    (told,) = doubts(data(tmp_path, **settings))
    assert told.startswith("data.train: train.tsv: 120 of 120 pairs")
    assert "exchange source_column and target_column" in told
    table(tmp_path / "train.tsv", pairs(100, 1, right, left) + pairs(20, 3, left, right))
    (told,) = doubts(data(tmp_path, **settings))  # made-up words are nobody's
    assert "20 of 120 pairs" in told
    assert list(doubts(data(tmp_path, source_language="source", target_language="target"))) == []


@pytest.mark.parametrize(
    ("one", "other", "text", "told"),
    [
        ("de", "en", GERMAN[0], 0), ("en", "de", GERMAN[0], 1), ("de", "en", "Tom!", -1), ("ko", "en", KOREAN[0], 0),
        ("ja", "zh", "これは本です。", 0), ("zh", "ja", "这是一本书。", 0), ("ru", "en", "Это книга.", 0), ("fr", "es", "Je ne sais pas.", 0),
    ],
)  # fmt: skip
def test_two_languages_are_told_apart(one: str, other: str, text: str, told: int) -> None:
    assert TwoLanguages(one, other).tell(text) == told


def test_what_cannot_be_told_apart_is_not_guessed() -> None:
    assert not TwoLanguages("xx", "yy").known
    assert not TwoLanguages("de", "de-AT").known
    assert not TwoLanguages("ru", "bg").known
    assert code_of("de_AT") == code_of("German") == "de"


def test_near_duplicates_are_counted(tmp_path: Path) -> None:
    training = pairs(300, 1)
    changed = [(source.upper().replace(".", " !"), target) for source, target in training[:25]]
    barely = [(f"{source[:-3]}xy.", target) for source, target in training[25:40]]
    table(tmp_path / "train.tsv", training)
    table(tmp_path / "valid.tsv", pairs(20, 2) + changed)
    table(tmp_path / "test.tsv", barely + pairs(30, 3))
    valid, test = doubts(data(tmp_path, test={"news": ("test.tsv",)}))
    assert valid.startswith("data.valid: 25 of 45 sources stand almost word for word in the training text")
    assert f"The first is pair 21, like {training[0][0][:60]!r}" in valid
    assert test.startswith("data.test.news: 15 of 45 sources")


def test_the_search_finds_what_comparing_all_with_all_finds() -> None:
    chance = random.Random(4)
    training = made_up_sentences(8, 200)
    held_out = []
    for sentence in training[:120]:
        words = sentence.split()
        for _ in range(chance.randint(0, 3)):
            words[chance.randrange(len(words))] = chance.choice(training).split()[0]
        held_out.append(" ".join(words))
    found = HeldOut(held_out)
    look_through([found], iter(training))
    known = [grams(text) for text in normalised(training)]
    expected, sure = set(), set()
    for row, text in enumerate(normalised(held_out)):
        if len(text) >= SHORTEST:
            shared = max(len(grams(text) & each) / len(grams(text) | each) for each in known)
            expected |= {row} if shared >= 0.8 else set()
            sure |= {row} if shared >= 0.9 else set()
    assert len(sure) > 10
    assert len(expected) < 120
    assert sure <= set(found.like) <= expected
    assert len(found.like) >= 0.95 * len(expected)


def test_rows_that_are_all_alike_come_to_an_end() -> None:
    held_out = HeldOut([f"this is the page number {number} of the book" for number in range(3_000)])
    look_through([held_out], (f"this was the page number {number} of the books" for number in range(20_000)))
    assert held_out._left == 0


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda row, pair: (str(row), pair[1]), "no letters in the source"),
        (lambda row, pair: (pair[0], f"{row}.5"), "no letters in the target"),
        (lambda row, pair: (pair[0], pair[0]), "two equal sides"),
        (lambda row, pair: (pair[0], "" if row % 2 else pair[1]), "an empty side"),
    ],
)
def test_columns_that_hold_no_text_are_told(tmp_path: Path, change: Any, kind: str) -> None:
    table(tmp_path / "train.tsv", [change(row, pair) for row, pair in enumerate(pairs(60))])
    table(tmp_path / "valid.tsv", [("1", "1"), ("", ""), *pairs(20, 2)])  # a few are no wonder
    (told,) = [each for each in doubts(data(tmp_path)) if "languages" not in each]
    assert told.startswith("data.train: train.tsv: ")
    assert f"of 60 pairs have {kind}" in told


def test_empty_and_broken_text_is_left_to_those_who_read_it(tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("only one column\n")
    (tmp_path / "valid.tsv").write_text("")
    assert list(doubts(data(tmp_path))) == []
    assert list(doubts(data(tmp_path, train=("nowhere.tsv",)))) == []
    look_through([HeldOut([]), HeldOut(["", "x" * 30])], ["", "y", "\n", "x" * 30])
