"""A text longer than a model was trained for → parts that are not, cut at sentence ends where there are any."""

from __future__ import annotations

import re
from collections.abc import Callable

# From the best place to cut to the worst; each keeps its mark with the part before it.
SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。！？｡؟।])\s*")
CLAUSE_END = re.compile(r"(?<=[,;:])\s+|(?<=[、，；：،؛])\s*|\s+(?=[—–-]\s)")
SPACE = re.compile(r"\s+")


def split_text(text: str, longest: int, measure: Callable[[str], int]) -> list[str]:
    """Parts of at most `longest` pieces as `measure` counts them; no part at all for an empty text.

    A text that fits stays whole. Otherwise it is cut into sentences; only a sentence that is still too long is cut
    further, at clauses, then at spaces, then in halves. Nothing is lost but the white space at the cuts.
    """
    text = text.strip()
    if not text:
        return []
    if measure(text) <= longest:
        return [text]
    sentences = _cut(text, SENTENCE_END)
    if len(sentences) > 1:
        return [part for sentence in sentences for part in split_text(sentence, longest, measure)]
    for mark in (CLAUSE_END, SPACE):
        pieces = _cut(text, mark)
        if len(pieces) > 1:
            return [part for group in _gather(pieces, longest, measure) for part in split_text(group, longest, measure)]
    if len(text) == 1:  # a single character of several bytes cannot be cut
        return [text]
    half = len(text) // 2
    return split_text(text[:half], longest, measure) + split_text(text[half:], longest, measure)


def _cut(text: str, mark: re.Pattern[str]) -> list[str]:
    """Cut behind each mark; white space goes, anything else the mark matched (a closing quote) stays."""
    parts, begin = [], 0
    for found in mark.finditer(text):
        closing = found.group().rstrip()
        parts.append(text[begin : found.start()] + closing)
        begin = found.end()
    parts.append(text[begin:])
    return [part for part in (each.strip() for each in parts) if part]


def _gather(pieces: list[str], longest: int, measure: Callable[[str], int]) -> list[str]:
    """Join neighbours while they fit, so that a long sentence becomes few parts."""
    groups: list[str] = []
    for piece in pieces:
        joined = f"{groups[-1]} {piece}" if groups else piece
        if groups and measure(joined) <= longest:
            groups[-1] = joined
        else:
            groups.append(piece)
    return groups
