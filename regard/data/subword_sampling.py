"""Words that are cut into other tokens each time they are seen, so that a model learns what they are made of.

A tokenizer's own way to cut a word is the most probable of many. Here `bpe` leaves out merges (BPE-dropout, Provilkov et al.
2020), and `unigram` draws one of all ways to cut (Kudo 2018). What comes of a word is one of SAMPLES ways that follow from the
seed and the word alone, so that it need be found only once; which of them, whoever asks decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from random import Random
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regard.data.tokenizer import SPACE, Side, Tokenizer

SAMPLES = 64
"""Ways in which a word is cut, as many as Kudo (2018) drew from."""
REMEMBERED = 1_000_000  # cut words, some 100 bytes each
LONGEST = 16  # characters of a token: SentencePiece learns no longer ones

Scores: TypeAlias = Mapping[str, float]
"""Of every token that words are cut into: how early it is merged (bpe), or the logarithm of its probability (unigram)."""
Cut: TypeAlias = Callable[[str, Scores, float, Random], list[str]]


class SubwordSampling:
    """Ids → ids of the same text, cut in another way."""

    def __init__(self, tokenizer: Tokenizer, kind: str, strength: float, seed: int) -> None:
        """`strength` is the probability that a merge is left out (bpe), or the exponent of probabilities (unigram)."""
        cut = CUTS[kind]
        source = _Words(tokenizer, "source", cut, strength, seed)
        target = source if tokenizer.joint else _Words(tokenizer, "target", cut, strength, seed)
        self._words = {"source": source, "target": target}

    def sample(self, ids: NDArray[Any], side: Side, random: Random) -> NDArray[Any]:
        """Each word of a line, in one of its ways."""
        words, found = self._words[side], list[int]()
        line = ids.tolist()
        begins = [0, *(np.flatnonzero(words.begins[ids[1:]]) + 1).tolist(), len(line)]
        for begin, end in pairwise(begins):
            found += words.cut(tuple(line[begin:end]), int(random.random() * SAMPLES))
        return np.array(found, dtype=ids.dtype)


class _Words:
    """The words of a vocabulary, each in many ways."""

    def __init__(self, tokenizer: Tokenizer, side: Side, cut: Cut, strength: float, seed: int) -> None:
        self._pieces = tokenizer.tokens(range(tokenizer.size(side)), side)
        self._scores = tokenizer.scores(side)
        self._ids = {piece: number for number, piece in enumerate(self._pieces) if piece in self._scores}
        self._cut, self._strength, self._seed = cut, strength, seed
        self._remembered: dict[tuple[int, ...], dict[int, tuple[int, ...]]] = {}
        self._count = 0
        self.begins = np.array([piece.startswith(SPACE) for piece in self._pieces])
        """Of each id, whether a word begins with it."""

    def cut(self, word: tuple[int, ...], number: int) -> tuple[int, ...]:
        """The ids of a word in one of its ways, a pure function of the seed, the word and the number."""
        known = self._remembered.get(word)
        if known is not None and number in known:
            return known[number]
        found = self._cut_now(word, Random(f"{self._seed} {number} {word}"))
        if self._count < REMEMBERED:
            self._remembered.setdefault(word, {})[number] = found
            self._count += 1
        return found

    def _cut_now(self, word: tuple[int, ...], random: Random) -> tuple[int, ...]:
        """Special tokens and bytes stay as they are, and so does what is between them if a character has no token."""
        found, begin = list[int](), 0
        for end in range(len(word) + 1):
            if end < len(word) and self._pieces[word[end]] in self._ids:
                continue
            text = "".join(self._pieces[each] for each in word[begin:end])
            ids = [self._ids.get(piece) for piece in self._cut(text, self._scores, self._strength, random)]
            found += word[begin:end] if None in ids else ids  # type: ignore[arg-type]
            found += word[end : end + 1]
            begin = end + 1
        return tuple(found)


def merge(text: str, scores: Scores, dropout: float, random: Random) -> list[str]:
    """Merge neighbours, the best first, until there is nothing to merge; each time every merge may be left out."""
    symbols = list(text)
    while True:
        possible = [
            (scores[pair], -place)
            for place, pair in enumerate(map("".join, pairwise(symbols)))
            if pair in scores and random.random() >= dropout
        ]
        if not possible:
            return symbols
        place = -max(possible)[1]
        symbols[place : place + 2] = ["".join(symbols[place : place + 2])]


def draw(text: str, scores: Scores, alpha: float, random: Random) -> list[str]:
    """One of all ways to cut, each as probable as the product of its tokens' probabilities to the power of alpha.

    Forward, the weight of all ways to cut each beginning of the text; backward, one token after the other.
    """
    totals = [0.0]  # logarithms
    last: list[list[tuple[float, int]]] = [
        []
    ]  # of each beginning, the weight of each token it can end with, and where that begins
    for end in range(1, len(text) + 1):
        ways = [
            (totals[begin] + alpha * scores[text[begin:end]], begin)
            for begin in range(max(0, end - LONGEST), end)
            if text[begin:end] in scores and totals[begin] > -math.inf
        ]
        most = max(ways, default=(-math.inf, 0))[0]
        totals.append(most + math.log(sum(math.exp(each - most) for each, _ in ways)) if ways else most)
        last.append(ways)
    tokens, end = list[str](), len(text)
    while end and last[end]:
        (begin,) = random.choices(
            [begin for _, begin in last[end]], [math.exp(weight - totals[end]) for weight, _ in last[end]]
        )
        tokens.append(text[begin:end])
        end = begin
    return tokens[::-1]


CUTS: dict[str, Cut] = {"bpe": merge, "unigram": draw}
