"""Held-out texts that training holds almost word for word, found in bounded memory and one pass over the training text.

Texts are compared without case and punctuation, by the share of 5-grams of characters that they have in common (Jaccard). A few
least hashes of a text's 5-grams (MinHash, Broder 1997) find who is worth comparing: texts that share most 5-grams share most of
them. Only held-out texts are kept; training passes by.

N texts · G 5-grams of all of them · H hashes · B bands
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

LEAST_SHARED = 0.8
"""5-grams in common, of all that either has."""
SHORTEST = 20
"""Characters: what is shorter is said again by anybody."""
LONGEST = 1_000
"""Characters of a text that are compared."""
HASHES, BANDS = 18, 6
"""Three hashes in each band: of texts that share 80 % all but one in a hundred are compared, of those that share 30 % one in seven."""
MOST_COMPARED = 200_000
TOGETHER = 10_000
NOT_WORD = re.compile(r"[^\w\n]+|_+")

Hashes = NDArray[np.uint64]
T = TypeVar("T")

_chance = np.random.Generator(np.random.PCG64(5))
_MULTIPLIERS = _chance.integers(1, 2**63, HASHES, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def in_chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    waiting = iter(items)
    while chunk := list(islice(waiting, size)):
        yield chunk


def normalised(texts: Sequence[str]) -> list[str]:
    """Without case and punctuation; all at once, which is many times faster than one by one."""
    joined = "\n".join(text.replace("\n", " ")[:LONGEST] for text in texts)
    return [line.strip() for line in NOT_WORD.sub(" ", joined.casefold()).split("\n")]


def bands_of(texts: Sequence[str]) -> Hashes:
    """Normalised texts, each of at least five characters → one number for each band [N, B]; equal ones are worth a look."""
    letters = np.frombuffer("\n".join(texts).encode("utf-32-le", "replace"), dtype=np.uint32).astype(np.uint64)
    hashed = np.zeros(len(letters) - 4, dtype=np.uint64)
    for place in range(5):  # all 5-grams, also those that reach over the end of a text
        hashed = hashed * np.uint64(0x100000001B3) + letters[place : len(letters) - 4 + place]
    hashed = (hashed ^ (hashed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    hashed ^= hashed >> np.uint64(32)
    lengths = np.array([len(text) for text in texts])
    begins = np.concatenate([[0], np.cumsum(lengths[:-1] + 1)])
    over = (begins[1:, None] - np.arange(1, 6)).ravel()  # the five that hold an end
    over = over[over < len(hashed)]
    least = np.empty((len(texts), HASHES), dtype=np.uint64)
    for number, multiplier in enumerate(_MULTIPLIERS):
        turned = hashed * multiplier
        turned ^= turned >> np.uint64(31)
        turned[over] = np.iinfo(np.uint64).max
        least[:, number] = np.minimum.reduceat(turned, begins)
    bands = np.zeros((len(texts), BANDS), dtype=np.uint64)
    for each in range(HASHES // BANDS):
        bands = (bands ^ least[:, each * BANDS : (each + 1) * BANDS]) * np.uint64(0x9E3779B97F4A7C15)
        bands ^= bands >> np.uint64(32)
    return bands


def grams(text: str) -> set[str]:
    return {text[place : place + 5] for place in range(len(text) - 4)}


class HeldOut:
    """Texts that nothing of the training text should be like."""

    def __init__(self, texts: Sequence[str]) -> None:
        plain = normalised(texts) if texts else []
        self.rows = [row for row, text in enumerate(plain) if len(text) >= SHORTEST]
        """Which of them are long enough to be compared."""
        self.texts = [plain[row] for row in self.rows]
        self.like: dict[int, str] = {}
        """By row, what of the training text it is like."""
        self._bands = bands_of(self.texts) if self.texts else np.zeros((0, BANDS), dtype=np.uint64)
        self._left = MOST_COMPARED
        self._index()

    def _index(self) -> None:
        """Those for which nothing was found yet, sorted in each band."""
        searched = np.array([number for number, row in enumerate(self.rows) if row not in self.like], dtype=np.int64)
        bands = self._bands[searched]  # [N, B]
        orders = np.argsort(bands, axis=0, kind="stable")
        self._keys, self._owners = np.take_along_axis(bands, orders, 0), searched[orders]

    def look_at(self, texts: Sequence[str]) -> None:
        """Training text that passes by."""
        if not self._left or not len(self._keys):
            return
        plain = normalised(texts)
        numbers = [number for number, text in enumerate(plain) if len(text) >= SHORTEST]
        bands = bands_of([plain[number] for number in numbers]) if numbers else self._bands[:0]
        before = len(self.like)
        for band in range(BANDS):
            keys = self._keys[:, band]
            first = np.searchsorted(keys, bands[:, band], "left")
            last = np.searchsorted(keys, bands[:, band], "right")
            for row in np.flatnonzero(last > first).tolist():
                owners = self._owners[first[row] : last[row], band]
                self._compare(plain[numbers[row]], texts[numbers[row]], owners[: self._left].tolist())
                if not self._left:
                    return
        if len(self.like) > before:
            self._index()

    def _compare(self, plain: str, text: str, owners: Sequence[int]) -> None:
        """Every look counts, so that a text of a million rows that are much alike comes to an end, too."""
        self._left -= len(owners)
        own: set[str] | None = None
        for owner in owners:
            if self.rows[owner] in self.like:
                continue
            own = grams(plain) if own is None else own
            theirs = grams(self.texts[owner])
            if len(own & theirs) >= LEAST_SHARED * len(own | theirs):
                self.like[self.rows[owner]] = text


def look_through(held_out: Sequence[HeldOut], training: Iterable[str]) -> None:
    """Compare every text of the training with all that was held out."""
    for chunk in in_chunks(training, TOGETHER):
        for each in held_out:
            each.look_at(chunk)


def closest(texts: Sequence[str], training: Iterable[str]) -> NDArray[np.float64]:
    """Of each text, the largest share of 5-grams that it has in common with one of the training text, of all that either has [N].

    Nothing is left to chance, and short texts count as well: for the few that a model is tested on.
    """
    found = [_grams_or_all(text) for text in (normalised(texts) if texts else [])]
    sizes = np.array([len(each) for each in found])
    owners: dict[str, list[int]] = {}
    for number, each in enumerate(found):
        for gram in each:
            owners.setdefault(gram, []).append(number)
    places = {gram: np.array(numbers) for gram, numbers in owners.items()}
    best = np.zeros(len(found))
    for chunk in in_chunks(training, TOGETHER):
        for text in normalised(chunk):
            own = _grams_or_all(text)
            holders = [places[gram] for gram in own if gram in places]
            if holders:
                common = np.bincount(np.concatenate(holders), minlength=len(found))  # [N]
                np.maximum(best, common / (sizes + len(own) - common), out=best)
    return best


def _grams_or_all(text: str) -> set[str]:
    return grams(text) or {text}
