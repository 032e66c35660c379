"""A text → parts like those that a model was trained on: so many sentences each, and never too long; and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from regard.data.sentences import split_sentences

# Where a sentence that is too long is cut, the better place first; a cut is made at the end of what matches.
CLAUSE_END = re.compile(
    r"[,;:]\s+|[、，；：،؛]+\s*|(?<!\s)\s+(?=[—–-]\s)"
)  # (?<!\s): else a run of spaces costs its square
SPACE = re.compile(r"\s+")
# What a line of a list begins with, or of a letter that is answered. `1. ` is a number, and may be an ordinal.
LIST_MARK = re.compile(r"(?:[-–—*•·▪◦‣>#]{1,6}|\(?(?:\d{1,3}|[A-Za-z])\))[ \t\u00a0]+")
STRANGE = re.compile(
    r"\r(?!\n)|[^\S \t\n\r\u00a0\u3000]"
)  # would end a line for some readers, and did not in the source

Measure = Callable[[str], int]


class Part(NamedTuple):
    """What is translated at a time."""

    before: str
    """White space that stands before it, and a list's mark."""
    text: str


def split_text(text: str, longest: int, measure: Measure, sentences: int = 1, language: str = "") -> list[Part]:
    """Parts of at most so many sentences and `longest` tokens as `measure` counts them; none for a text of no tokens.

    Only a sentence that is too long is cut further, at clauses, then at spaces, then in halves. Nothing is lost: a part
    knows the white space before it. `sentences` = 0 asks for as few parts as the length allows.
    """
    if not measure(text):
        return []
    if not sentences and measure(text) <= longest:
        return _parts([text])
    found = split_sentences(text, language)
    fitting = [piece for sentence in found for piece in _cut_long(sentence, longest, measure)]
    return _parts(_gather(fitting, longest, measure, sentences), LIST_MARK)


def join_texts(parts: Sequence[Part], texts: Sequence[str], glue: str) -> str:
    """What became of parts, with their white space; `glue` stands where nothing or one space stood between two."""
    whole = ""
    for part, text in zip(parts, texts, strict=True):
        between = glue if whole and part.before in ("", " ") else part.before
        whole += between + text if text else ""
    return whole


def _parts(pieces: list[str], mark: re.Pattern[str] | None = None) -> list[Part]:
    """Pieces that together are the text → parts, each with the white space before it, and a `mark` that begins its line."""
    parts: list[Part] = []
    before = ""
    for piece in pieces:
        bare = piece.strip()
        begin = len(piece) - len(piece.lstrip())
        if bare:
            before += piece[:begin]
            marked = mark.match(bare) if mark and (not parts or "\n" in before) else None
            at = marked.end() if marked else 0
            parts.append(Part(STRANGE.sub(" ", before + bare[:at]), bare[at:]))
            before = piece[begin + len(bare) :]
        else:
            before += piece
    return parts


def _cut_long(text: str, longest: int, measure: Measure) -> Iterator[str]:
    """A sentence in as many pieces as its length asks for."""
    if measure(text) <= longest or len(text) == 1:  # a single character of several bytes cannot be cut
        yield text
        return
    for mark in (CLAUSE_END, SPACE):
        cut = _cut(text, mark)
        if len(cut) > 1:
            for group in _gather(cut, longest, measure):
                yield from _cut_long(group, longest, measure)
            return
    half = len(text) // 2
    yield from _cut_long(text[:half], longest, measure)
    yield from _cut_long(text[half:], longest, measure)


def _cut(text: str, mark: re.Pattern[str]) -> list[str]:
    """Cut behind each mark; together the pieces are the text."""
    cuts = [0, *(found.end() for found in mark.finditer(text)), len(text)]
    return [text[begin:end] for begin, end in pairwise(cuts) if begin < end]


def _gather(pieces: Sequence[str], longest: int, measure: Measure, most: int = 0) -> list[str]:
    """Join neighbours while they fit, at most so many and never across a line's end, so that there are few."""
    if most == 1:
        return list(pieces)
    groups: list[str] = []
    joined = 0
    for piece in pieces:
        if groups and joined != most and "\n" not in groups[-1] and measure(groups[-1] + piece) <= longest:
            groups[-1] += piece
            joined += 1
        else:
            groups.append(piece)
            joined = 1
    return groups
