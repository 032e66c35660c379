"""What a reader of a translation should mistrust, seen from its attention, its length and its words.

The bounds of what is covered were chosen on 341 sentences of Tatoeba and captions with two or three clauses; how they do on 103
others says benchmarks/translation_warnings.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.view.words import SPECIAL, is_byte, repeated, texts_of, words_of

Kind = Literal["unseen", "spelled", "repeated", "short", "long", "copied", "lost"]

SEEN = 0.5
"""A word was read if its tokens got so much attention in all, on average."""
MISSED = 0.75
"""Words side by side are unseen if the squares of the shares of `SEEN` that they lack make this together: one word that hardly
anything looked at, or a clause of which each word got little."""
STUTTER = re.compile(r"([^\W\d_]{1,4}?)\1{3,}", re.IGNORECASE)  # BABABABA
LONG_ENOUGH = 5  # tokens of a source whose translation can be called short or long
USUAL_RATIO = (0.35, 3.0)  # target tokens for each of the source, where the model file does not say what is usual
_PUNCTUATION = re.compile(r"[!-/:-@[-`{-~]*").fullmatch
COPIED = 4  # words that are in the source too: fewer may be a name
NO_NAMES = 2  # of them, without a capital


REASONS: Mapping[Kind, str] = {
    "unseen": "may lack words of the source",
    "spelled": "had characters that the model does not know",
    "repeated": "repeat themselves",
    "short": "are very short",
    "long": "are very long",
    "copied": "copy the source",
    "lost": "lack a number, address or tag of the source",
}


@dataclass(frozen=True)
class Doubt:
    """One reason to look again."""

    kind: Kind
    side: Literal["source", "target"]
    words: tuple[int, ...]
    """Which words of that side, counted from 0."""
    text: str
    """Those words."""

    @property
    def reason(self) -> str:
        """In words, of several outputs."""
        return REASONS[self.kind]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"kind": self.kind, "side": self.side, "words": list(self.words), "text": self.text}


def alignment_layer(layers: int) -> int:
    """Which of the decoder's layers tells best what is translated by what: the last but one (Garg et al., 2019).

    The mean over all layers finds as much, with more false alarms; and one layer is what other engines can tell.
    """
    return max(0, layers - 2)


def coverage(weights: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """How much attention each source token got in all: weights [T + 1, K] of one layer, the mean of its heads → [K].

    The last row is the end's: it looks around at what was left, which is no translation.
    """
    covered: NDArray[np.floating[Any]] = weights[:-1].sum(0)
    return covered


def unseen_words(
    covered: NDArray[np.floating[Any]], source_tokens: Sequence[str], counts: Callable[[str], bool] | None = None
) -> list[tuple[int, ...]]:
    """Runs of source words that were hardly looked at, by the coverage [K] of the tokens; only words that `counts`, unless
    given those with a letter or digit, are among them."""
    texts, counts, each = texts_of(source_tokens), counts or _matters, covered.tolist()
    amounts = [
        sum(each[word.first : word.end]) / (word.end - word.first) if counts(text) else np.inf
        for word, text in zip(words_of(source_tokens), texts, strict=True)
    ]
    lacks = [max(0.0, 1 - amount / SEEN) for amount in amounts]
    runs = [tuple(group) for low, group in groupby(range(len(lacks)), key=lambda number: lacks[number] > 0) if low]
    return [run for run in runs if sum(lacks[number] ** 2 for number in run) >= MISSED]


def is_suspect(covered: NDArray[np.floating[Any]], source_tokens: Sequence[str]) -> bool:
    """Whether `unseen_words` may find any by this coverage, whatever the placeholders among the tokens stand for."""
    return bool(unseen_words(covered, source_tokens, lambda word: word not in SPECIAL and not _PUNCTUATION(word)))


def spelled_words(tokens: Sequence[str]) -> list[tuple[int, ...]]:
    """Words with a character that the model reads byte by byte: it can hardly know what they mean."""
    words = enumerate(words_of(tokens))
    return [(number,) for number, word in words if any(is_byte(token) for token in tokens[word.first : word.end])]


def repeated_words(tokens: Sequence[str], source_tokens: Sequence[str] = ()) -> list[tuple[int, ...]]:
    """Runs of output words that say the same again, more often than the source does, and words that stutter."""
    words, source = texts_of(tokens), texts_of(source_tokens)
    usual = max((times for _, _, times in repeated(source)), default=1)
    runs = [tuple(range(first, first + length * times)) for first, length, times in repeated(words) if times > usual]
    if not any(map(STUTTER.search, source)):
        told = {number for run in runs for number in run}
        runs += [(number,) for number, word in enumerate(words) if number not in told and STUTTER.search(word)]
    return sorted(runs)


def doubts(
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    covered: NDArray[np.floating[Any]] | None,
    usual_ratio: tuple[float, float] = USUAL_RATIO,
) -> list[Doubt]:
    """All reasons to mistrust one translation; without attention, those that need none."""
    texts = {"source": texts_of(source_tokens), "target": texts_of(target_tokens)}

    def doubt(kind: Kind, side: Literal["source", "target"], words: Sequence[int]) -> Doubt:
        return Doubt(kind, side, tuple(words), " ".join(texts[side][number] for number in words))

    found = [] if covered is None else [doubt("unseen", "source", run) for run in unseen_words(covered, source_tokens)]
    found += [doubt("spelled", "source", run) for run in spelled_words(source_tokens)]
    found += [doubt("repeated", "target", run) for run in repeated_words(target_tokens, source_tokens)]
    length = sum(token not in SPECIAL for token in source_tokens)  # as training counts them, without the end
    if length >= LONG_ENOUGH:
        ratio, (least, most) = len(target_tokens) / length, usual_ratio
        if ratio < least or ratio > most:
            found.append(doubt("short" if ratio < least else "long", "target", range(len(texts["target"]))))
    known = {text.casefold() for text in texts["source"] if _matters(text)}
    same = [number for number, text in enumerate(texts["target"]) if _matters(text) and text.casefold() in known]
    plain = sum(not texts["target"][number].istitle() for number in same)
    if len(same) >= COPIED and plain >= NO_NAMES and 2 * len(same) > sum(map(_matters, texts["target"])):
        found.append(doubt("copied", "target", same))
    return found


def _matters(word: str) -> bool:
    """Not the end of the sentence, nor its full stop."""
    return word not in SPECIAL and any(letter.isalnum() for letter in word)
