"""Tokens make words without loss: every token is in one, nothing is torn, and no attention is lost in between."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from regard.data.tokenizer import Tokenizer
from regard.view.words import SPECIAL, Word, is_punctuation, merge, repeated, text_of, texts_of, words_of
from tests.conftest import made_up_sentences

TOKENS = ["▁", "▁the", "▁B", "uch", "s", ".", "...", ",", "▁(", ")", "'", "▁12", "3", "<s>", "</s>", "<pad>", "<unk>",
          "▁你", "好", "ペン", "です", "。", "ภาษา", "▁책", "을", "▁كتاب", "▁▁", "<b>", "", "😀"]  # fmt: skip


def in_bytes(text: str) -> list[str]:
    return [f"<0x{byte:02X}>" for byte in text.encode()]


sequences = some.lists(
    some.one_of(some.sampled_from(TOKENS).map(lambda token: [token]), some.sampled_from("é개😀中").map(in_bytes)),
    max_size=12,
).map(lambda groups: [token for group in groups for token in group])


@given(sequences, some.booleans())
def test_words_are_the_tokens_in_order(tokens: list[str], apart: bool) -> None:
    words = words_of(tokens, punctuation_apart=apart)
    assert [place for word in words for place in range(word.first, word.end)] == list(range(len(tokens)))
    assert all(word.first < word.end for word in words)
    for word in words:
        assert word.end - word.first == 1 or not SPECIAL.intersection(tokens[word.first : word.end])


@given(sequences, some.booleans())
def test_nothing_that_is_written_gets_lost_or_torn(tokens: list[str], apart: bool) -> None:
    """Up to spaces, the words one after another read as all tokens do; a character spelled in bytes is in one word."""
    texts = [text_of(tokens[word.first : word.end]) for word in words_of(tokens, punctuation_apart=apart)]
    assert "".join(texts).replace(" ", "") == text_of(tokens).replace(" ", "")
    assert "\ufffd" not in "".join(texts)


def test_no_tokens_make_no_words() -> None:
    assert words_of([]) == []
    assert texts_of([]) == []
    assert text_of([]) == ""


def test_words_read_like_the_sentence(tiny_tokenizer: Tokenizer) -> None:
    for sentence in [*made_up_sentences(3, 50), "Ça va? Émile (7) said: “no”…", "완전히 새로운 것 😀 x"]:
        text = tiny_tokenizer.normalize(sentence)
        tokens = tiny_tokenizer.tokens(tiny_tokenizer.encode(sentence), "source")
        whole = words_of(tokens, punctuation_apart=False)
        assert [text_of(tokens[word.first : word.end]) for word in whole] == text.split()
        assert "".join(texts_of(tokens)) == text.replace(" ", "")


def test_punctuation_stands_apart(tiny_tokenizer: Tokenizer) -> None:
    for sentence in made_up_sentences(3, 50):
        words = texts_of(tiny_tokenizer.tokens(tiny_tokenizer.encode(sentence), "source"))
        assert words == [*sentence.rstrip(".").split(), "."]


@pytest.mark.parametrize(
    ("tokens", "words"),
    [
        (["▁renn", "t", "</s>"], ["rennt", "</s>"]),
        (["▁", "Ö", "l", ".", "</s>"], ["Öl", ".", "</s>"]),
        (["▁", "▁the", "▁dog"], ["the", "dog"]),
        (["▁No", ",", "▁no", "!", "!", "?"], ["No", ",", "no", "!!?"]),
        (["▁don", "'", "t", "▁(", "yes", ")"], ["don", "'", "t", "(", "yes", ")"]),
        (["▁3", ".", "5"], ["3", ".", "5"]),
        (["<s>", "▁a", "b", "</s>", "<pad>", "<pad>"], ["<s>", "ab", "</s>", "<pad>", "<pad>"]),
        (["▁これは", "ペン", "です", "。", "</s>"], ["これは", "ペン", "です", "。", "</s>"]),
        (["▁我", "喜欢", "你"], ["我", "喜欢", "你"]),
        (["▁ภาษา", "ไทย"], ["ภาษา", "ไทย"]),
        (["▁책", "을", "▁읽", "었다", "."], ["책을", "읽었다", "."]),
        (["▁", *in_bytes("😀"), "!"], ["😀", "!"]),
        (["▁caf", *in_bytes("é"), "▁x"], ["café", "x"]),
        (["a", "b", "."], ["a", "b", "."]),  # nothing tells where words begin
        ([*in_bytes("é😀"), "</s>"], ["é", "😀", "</s>"]),
        (["▁a", "<b>"], ["a<b>"]),  # text that only looks like a special token
    ],
)
def test_what_belongs_together(tokens: list[str], words: list[str]) -> None:
    assert texts_of(tokens) == words


def test_punctuation_can_stay_with_its_word() -> None:
    tokens = ["▁don", "'", "t", "▁(", "yes", ").", "</s>"]
    assert words_of(tokens, punctuation_apart=False) == [Word(0, 3), Word(3, 6), Word(6, 7)]


def test_broken_bytes_are_read_as_far_as_they_go() -> None:
    assert text_of(["▁a", "<0xF0>", "<0x9F>", "▁b"]) == "a\ufffd b"
    assert text_of(["\ud800"]) == "?"  # half a pair of surrogates, which no UTF-8 holds


@pytest.mark.parametrize("token", [".", "...", "▁(", "?!", "–", "€", "。", "„"])
def test_punctuation(token: str) -> None:
    assert is_punctuation(token)


@pytest.mark.parametrize("token", ["▁", "", "a.", "▁7", "</s>", "<0x2E>", "개"])
def test_no_punctuation(token: str) -> None:
    assert not is_punctuation(token)


groups = some.lists(some.integers(1, 4), min_size=1, max_size=6)


def grouped(sizes: list[int]) -> list[Word]:
    ends = np.cumsum(sizes).tolist()
    return [Word(end - size, end) for size, end in zip(sizes, ends, strict=True)]


@given(groups, groups, some.integers(0, 1_000))
def test_merging_keeps_all_attention(queries: list[int], keys: list[int], seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(sum(keys)), size=(2, sum(queries)))  # [2, Q, K]
    merged = merge(weights, grouped(queries), grouped(keys))
    assert merged.shape == (2, len(queries), len(keys))
    np.testing.assert_allclose(merged.sum(-1), 1.0)
    for row, query in enumerate(grouped(queries)):
        for column, key in enumerate(grouped(keys)):
            block = weights[:, query.first : query.end, key.first : key.end]
            np.testing.assert_allclose(merged[:, row, column], block.sum((1, 2)) / queries[row])


@given(some.integers(1, 6), some.integers(1, 6), some.integers(0, 1_000))
def test_words_of_one_token_change_nothing(queries: int, keys: int, seed: int) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.ones(keys), size=queries)
    np.testing.assert_array_equal(merge(weights, grouped([1] * queries), grouped([1] * keys)), weights)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the the the", [(0, 1, 3)]),
        ("a b a b", [(0, 2, 2)]),
        ("a b c a b c", [(0, 3, 2)]),
        ("I saw the the dog", [(2, 1, 2)]),
        ("x x x x y of the of the of the end", [(0, 1, 4), (5, 2, 3)]),
        ("no , no , no , no", [(0, 2, 3)]),
        ("a b c d e f a b c d e f", [(0, 6, 2)]),
        ("ab cd ab cd e ab cd ab cd e", [(0, 5, 2)]),  # the longest stretch, not the first
        ("He left , he left .", [(0, 3, 2)]),
        ("as he was far too tired to go as he was far too tired to go", [(0, 8, 2)]),
    ],
)
def test_repetition_is_found(text: str, found: list[tuple[int, int, int]]) -> None:
    assert repeated(text.split()) == found


@pytest.mark.parametrize(
    "text",
    ["", "word", "The dog saw the cat and the cat saw the dog .", ". . . . .", "! ? ! ?", "7 7 7", "1 , 1 , 1", "b o o k",
     "– – –"],
)  # fmt: skip
def test_what_is_no_repetition(text: str) -> None:
    assert repeated(text.split()) == []


@pytest.mark.parametrize("word", ["", "7", "-", "a"])
def test_nothing_repeats_endlessly_for_a_reason(word: str) -> None:
    assert repeated([word] * 20) == [(0, 1, 20)]


@given(some.lists(some.sampled_from(["aaa", "bbb", "ccc", ".", "1"]), max_size=24))
def test_what_is_reported_does_repeat_and_nothing_is_reported_twice(words: list[str]) -> None:
    end = 0
    for first, length, times in repeated(words):
        assert first >= end
        assert times > 1
        end = first + length * times
        assert words[first:end] == words[first : first + length] * times
    for place in range(len(words) - 1):  # and wherever a word comes twice, something is reported
        if words[place] == words[place + 1] and words[place].isalpha():
            assert any(first <= place < first + length * times for first, length, times in repeated(words))
