"""Any text goes into ids and comes back; sizes that cannot be are refused with those that can."""

from __future__ import annotations

import json
import random
import re
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from regard import config
from regard.data import tokenizer as module
from regard.data.tokenizer import (
    _PLAIN,
    BYTES,
    END,
    PAD,
    START,
    UNKNOWN,
    Tokenizer,
    _within_reach,
    train_text_tokenizer,
    train_tokenizer,
)
from regard.errors import DataError

SYLLABLES = [consonant + vowel for consonant in "bdkm" for vowel in "aeiou"]


def sentences(seed: int, count: int = 300) -> list[str]:
    chance = random.Random(seed)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 3))) for _ in range(200)]
    return [" ".join(chance.choices(words, k=chance.randint(2, 9))).capitalize() + "." for _ in range(count)]


SOURCE, TARGET = sentences(1), sentences(2)


def train(**changes: object) -> Tokenizer:
    return train_tokenizer(SOURCE, TARGET, config.Tokenizer(**{"vocabulary": 400, **changes}))  # type: ignore[arg-type]


TOKENIZERS = [
    train(kind=kind, normalization=normalization)
    for kind in ("bpe", "unigram", "characters")
    for normalization in ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity")
]
EXOTIC = [
    "", " ", "  two   spaces  ", "▁", "▁▁a▁ b▁", "\t\n\r", "a\x00b", "\x00", "\x01\x7f", "\u200b", "a\u200bb",
    "한국어 문장입니다.", "ㅎㅏㄴ", "\u1112\u1161\u11ab", "👩‍👩‍👧 👍🏽 🇰🇷", "e\u0301 a\u0323\u0308", "مرحبا بك", "ภาษาไทย",
    "<s> </s> <unk> <pad> <0x41>", " ⁇ ", "\ufffd", "\ufeff", "\u3000x", "\u2028y\u0085", "ﬁ Ⅳ ½", "\U0010ffff\ue000", "İI",
]  # fmt: skip


def check_round_trip(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert all(UNKNOWN < each < tokenizer.size("source") for each in ids)
    assert tokenizer.decode(ids) == tokenizer.normalize(text)
    assert tokenizer.normalize(tokenizer.normalize(text)) == tokenizer.normalize(text)


@pytest.mark.parametrize("text", EXOTIC)
def test_exotic_text_comes_back(text: str) -> None:
    for tokenizer in TOKENIZERS:
        check_round_trip(tokenizer, text)


@given(st.text(st.characters(exclude_categories=[])), st.sampled_from(TOKENIZERS))
@settings(deadline=None, max_examples=300)
def test_any_text_comes_back(text: str, tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode(text)
    assert all(UNKNOWN < each < tokenizer.size("source") for each in ids)
    assert tokenizer.decode(ids) == tokenizer.normalize(text)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="▁ ")))
@settings(deadline=None)
def test_identity_changes_nothing_but_spaces(text: str) -> None:
    tokenizer = TOKENIZERS[4]
    assert tokenizer.normalize(text) == text


PLAIN = st.text(st.sampled_from("  .,!?-'\"()%$019abdekmouABDKÀÖäöüßéŁĳſŉΑωПяж–’“”„가한국힣"), max_size=40)


@given(st.one_of(PLAIN, st.text(st.characters(min_codepoint=32, max_codepoint=0x17F))), st.sampled_from(TOKENIZERS))
@settings(deadline=None, max_examples=500)
def test_word_by_word_is_the_same_as_the_whole(text: str, tokenizer: Tokenizer) -> None:
    assert tokenizer.encode(text) == tokenizer._processors["source"].encode(text.replace("▁", " "))


@pytest.mark.parametrize("character", [chr(code) for code in range(32, 0x2030) if _PLAIN.fullmatch(chr(code))])
def test_plain_characters_do_not_care_for_their_neighbours(character: str) -> None:
    for tokenizer in (TOKENIZERS[0], TOKENIZERS[7]):
        for text in (character, f"ba {character}", f"{character} ba", f" {character}{character}  ba{character}  "):
            assert tokenizer.encode(text) == tokenizer._processors["source"].encode(text)


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    assert TOKENIZERS[0].normalize("a\ud83db") == "a?b"


def test_special_ids_are_dropped_in_decoding() -> None:
    tokenizer = TOKENIZERS[0]
    ids = tokenizer.encode(SOURCE[0])
    assert tokenizer.decode([START, *ids, END, UNKNOWN, PAD, PAD]) == SOURCE[0]


def test_tokens_spell_the_text() -> None:
    tokenizer = TOKENIZERS[0]
    ids = tokenizer.encode(SOURCE[0])
    assert len(ids) < len(SOURCE[0])  # something was learned
    assert "".join(tokenizer.tokens(ids, "source")).replace("▁", " ").strip() == SOURCE[0]
    assert tokenizer.tokens(tokenizer.encode("é"), "source") == ["▁", "<0xC3>", "<0xA9>"]


@pytest.mark.parametrize("tokenizer", [TOKENIZERS[0], TOKENIZERS[5]])
def test_byte_tokens_lie_in_their_range(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokens(list(BYTES), "source") == [f"<0x{each:02X}>" for each in range(256)]


def test_all_at_once_is_the_same_as_one_by_one() -> None:
    tokenizer = TOKENIZERS[0]
    assert tokenizer.encode_all(SOURCE, "source") == [tokenizer.encode(line) for line in SOURCE]
    assert tokenizer.encode_all([], "source") == []


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_training_is_deterministic_silent_and_of_the_asked_size(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    first, second = train(kind=kind), train(kind=kind)
    assert first == second
    assert hash(first) == hash(second)
    assert first.joint
    assert first.size("source") == first.size("target") == 400
    assert capfd.readouterr() == ("", "")


def test_characters_are_tokens_each_by_itself() -> None:
    lines = ["영화 정말 재미있다", "그냥 그래요 ㅋㅋ"]
    every = train_text_tokenizer(lines, config.Tokenizer(kind="characters", vocabulary=0, coverage=1.0))
    assert every.tokens(every.encode("영화 재다"), "source") == ["▁", "영", "화", "▁", "재", "다"]
    assert every.size("source") == BYTES.stop + len(set("".join(lines)))  # a space is one of them
    few = train_text_tokenizer(lines, config.Tokenizer(kind="characters", vocabulary=BYTES.stop + 2, coverage=1.0))
    assert few.size("source") == BYTES.stop + 2  # the most frequent have tokens, others are spelled
    for text in (*lines, "xyz 쀍"):
        check_round_trip(few, text)
    many = train_text_tokenizer(lines, config.Tokenizer(kind="characters", vocabulary=90_000, coverage=1.0))
    assert many.scores("source") == every.scores("source")  # a vocabulary is the most that is kept


def test_each_side_can_have_its_own_vocabulary() -> None:
    tokenizer = train(joint=False)
    assert not tokenizer.joint
    assert tokenizer.size("source") == tokenizer.size("target") == 400
    assert tokenizer.encode(SOURCE[0], "source") != tokenizer.encode(SOURCE[0], "target")
    for side, lines in (("source", SOURCE), ("target", TARGET)):
        assert tokenizer.decode(tokenizer.encode(lines[0], side), side) == lines[0]  # type: ignore[arg-type]
    assert tokenizer == Tokenizer.from_dict(tokenizer.to_dict())
    assert tokenizer != TOKENIZERS[0]


def test_a_tokenizer_survives_json() -> None:
    stored = json.loads(json.dumps(TOKENIZERS[0].to_dict()))
    assert Tokenizer.from_dict(stored) == TOKENIZERS[0]
    assert Tokenizer.from_dict(stored).encode(SOURCE[0]) == TOKENIZERS[0].encode(SOURCE[0])


@pytest.mark.parametrize("stored", [{}, {"joint": "AAAA"}, {"joint": "no base64!"}, {"source": "AAAA"}])
def test_a_damaged_tokenizer_is_refused(stored: dict[str, str]) -> None:
    with pytest.raises(DataError, match="tokenizer is damaged"):
        Tokenizer.from_dict(stored)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_too_many_tokens_are_refused_with_the_largest_size_that_works(kind: str) -> None:
    with pytest.raises(DataError, match=r"tokenizer\.vocabulary = 90,000 is too many for the text") as caught:
        train(kind=kind, vocabulary=90_000)
    found = re.search(r"at most ([\d,]+) tokens", str(caught.value))
    assert found
    largest = int(found[1].replace(",", ""))
    assert train(kind=kind, vocabulary=largest).size("source") == largest


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_too_few_tokens_are_refused_with_the_least_size_that_works(kind: str) -> None:
    with pytest.raises(DataError, match=r"tokenizer\.vocabulary = 100 is too few: the text needs") as caught:
        train(kind=kind, vocabulary=100)
    found = re.search(r"at least ([\d,]+) ", str(caught.value))
    assert found
    least = int(found[1].replace(",", ""))
    assert train(kind=kind, vocabulary=least).size("source") == least


def test_an_impossible_size_names_the_side() -> None:
    with pytest.raises(DataError, match=r"too many for the target text"):
        train_tokenizer(SOURCE, TARGET[:3], config.Tokenizer(vocabulary=400, joint=False))


@pytest.mark.parametrize("lines", [[], ["", ""], ["x" * 100_000]])
def test_text_without_anything_to_learn_is_refused(lines: list[str]) -> None:
    with pytest.raises(DataError, match=r"tokenizer\.vocabulary = 400 cannot be learned: the text has no line"):
        train_tokenizer(lines, [], config.Tokenizer(vocabulary=400))


def test_a_line_of_any_length_is_cut_in_passing() -> None:
    """Each part once and in order, none longer than SentencePiece learns from."""
    for line in ("", "a", "word " * 5_000, "x" * 5_000, " " * 3_000, "가" * 2_000 + " b"):
        parts = list(_within_reach(line))
        assert "".join(parts) == line
        assert all(len(part.encode()) <= 4_192 for part in parts)


# What is remembered


def remembered(tokenizer: Tokenizer) -> int:
    return sum(len(words) for words in {id(words): words for words in tokenizer._words.values()}.values())


def test_long_words_are_not_remembered() -> None:
    """A server's visitors could fill its memory with words of 20,000 letters, none of which ever comes again."""
    tokenizer = train()
    before = remembered(tokenizer)
    for number in range(20):
        word = f"{number:06d}" * 3_000
        assert tokenizer.decode(tokenizer.encode(word)) == word
    assert remembered(tokenizer) == before
    tokenizer.encode("x" * 64)
    assert remembered(tokenizer) == before + 1


@pytest.mark.parametrize("letters", [3, 60])
def test_what_is_remembered_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch, letters: int) -> None:
    """In all, as Python counts it, whatever the words; and those beyond have the same ids."""
    monkeypatch.setattr(module, "_REMEMBERED", 500_000)
    tokenizer, chance = train(), random.Random(1)
    words = list({"".join(chance.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=letters)) for _ in range(10_000)})
    tracemalloc.start()
    for word in words:
        tokenizer.encode(word, "source")
        tokenizer.encode(word, "target")
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 100 < remembered(tokenizer) < len(words)
    assert held < 500_000
    fresh = train()
    assert [tokenizer.encode(word) for word in words[-100:]] == [fresh.encode(word) for word in words[-100:]]


def test_sides_with_one_vocabulary_share_what_they_remember() -> None:
    joint, apart = train(), train(joint=False)
    assert joint._words["source"] is joint._words["target"]
    assert apart._words["source"] is not apart._words["target"]
