"""Tokens → words: what belongs together, how it reads, and what a reader should be warned of."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SPACE = "▁"
SPECIAL = {"<s>", "</s>", "<pad>"}
# Scripts that put no space between words: there, every token is a word.
_NO_SPACES = re.compile(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"
)
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_LATER_BYTE = re.compile(r"<0x[89AB][0-9A-F]>")  # in UTF-8 such a byte goes on with a character


ENDLESS = 8  # so often nothing repeats for a reason, be it a number, a dash or a blank


class Word(NamedTuple):
    """Some tokens side by side: those from `first` up to, not including, `end`."""

    first: int
    end: int


def words_of(tokens: Sequence[str], *, punctuation_apart: bool = True) -> list[Word]:
    """The words that tokens make up; each special token is one of its own. Without "▁" anywhere, each token is."""
    return list(_words_of(tuple(tokens), punctuation_apart))


@lru_cache(maxsize=64)  # who looks at a sentence asks for its words several times
def _words_of(tokens: tuple[str, ...], punctuation_apart: bool) -> tuple[Word, ...]:
    spaced = any(token.startswith(SPACE) for token in tokens)
    starts = [place for place in range(len(tokens)) if place == 0 or _begins(tokens, place, spaced, punctuation_apart)]
    return tuple(Word(first, end) for first, end in pairwise([*starts, len(tokens)]))


def _begins(tokens: Sequence[str], place: int, spaced: bool, punctuation_apart: bool) -> bool:
    token, before = tokens[place], tokens[place - 1]
    if _LATER_BYTE.fullmatch(token) and _BYTE.fullmatch(before):
        return False
    if not spaced or token in SPECIAL or before in SPECIAL:
        return True
    if before.strip(SPACE) == "":  # a space by itself opens the word that follows
        return False
    if token.startswith(SPACE) or _NO_SPACES.match(token):
        return True
    return punctuation_apart and is_punctuation(token) != is_punctuation(before)


@lru_cache(maxsize=1 << 14)  # of a vocabulary's tokens, which come again and again
def is_punctuation(token: str) -> bool:
    """Whether nothing in it is a letter, a digit or a byte of one."""
    text = token.strip(SPACE)
    return bool(text) and token not in SPECIAL and not _BYTE.search(text) and all(
        unicodedata.category(letter)[0] in "PSZ" for letter in text
    )  # fmt: skip


def has_spaces(text: str) -> bool:
    """Whether it is of a script that puts spaces between words."""
    return _NO_SPACES.search(text) is None


def is_byte(token: str) -> bool:
    """Whether it is one byte of a character that has no token of its own."""
    return bool(_BYTE.fullmatch(token))


def text_of(tokens: Sequence[str]) -> str:
    """Tokens as one reads them: spaces for "▁", and characters that were spelled in bytes."""
    encoded = bytearray()
    for token in tokens:
        byte = _BYTE.fullmatch(token)
        encoded += bytes.fromhex(byte[1]) if byte else token.encode("utf-8", "replace")
    return encoded.decode("utf-8", "replace").replace(SPACE, " ").strip(" ")


def texts_of(tokens: Sequence[str]) -> list[str]:
    """Each word as one reads it."""
    return list(_texts_of(tuple(tokens)))


@lru_cache(maxsize=64)
def _texts_of(tokens: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(text_of(tokens[word.first : word.end]) for word in _words_of(tokens, True))


def merge(weights: NDArray[np.float64], queries: Sequence[Word], keys: Sequence[Word]) -> NDArray[np.float64]:
    """Weights [..., query, key] of tokens → of words: a word is looked at as much as its tokens together, and looks
    as its tokens do on average. Rows still sum to 1."""
    summed = np.add.reduceat(weights, [word.first for word in keys], axis=-1)
    return np.stack([summed[..., word.first : word.end, :].mean(-2) for word in queries], axis=-2)


def repeated(words: Sequence[str], longest: int = 12) -> list[tuple[int, int, int]]:
    """Runs of words that come again at once, as (first, length, times); the longest stretch of each place.

    Numbers and punctuation may repeat; so may a single letter, once: where every token is a word, "oo" is two. Case is one, and
    behind two words or more so are marks: "He left, he left." says the same again.
    """
    found: list[tuple[int, int, int]] = []
    place = 0
    folded = [word.lower() for word in words]
    level = [word if any(map(str.isalnum, word)) else "," for word in folded]
    while place < len(words):
        runs = [(times * length, length, times) for length in range(1, longest + 1)
                if (times := _times(level if length > 2 else folded, place, length)) > 1]  # fmt: skip
        if not runs:
            place += 1
            continue
        stretch, length, times = max(runs, key=lambda run: (run[0], -run[1]))
        found.append((place, length, times))
        place += stretch
    return found


def _times(words: Sequence[str], place: int, length: int) -> int:
    run, times = words[place : place + length], 1
    while words[place + times * length : place + (times + 1) * length] == run:
        times += 1
    if times == 1:
        return 1
    letters = sum(letter.isalpha() for word in run for letter in word)
    return times if letters * times > 2 or times >= ENDLESS else 1
