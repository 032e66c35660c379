"""A text longer than a model was trained for → parts that are not, cut at sentence ends where there are any."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

# From the best place to cut to the worst; a cut is made at the end of what matches.
SENTENCE_END = re.compile(r"[.!?…][\"'”’»)\]]*\s+|[。！？｡؟।]+[\"'”’»」』》）)\]]*\s*")
CLAUSE_END = re.compile(
    r"[,;:]\s+|[、，；：،؛]+\s*|(?<!\s)\s+(?=[—–-]\s)"
)  # (?<!\s): else a run of spaces costs its square
SPACE = re.compile(r"\s+")


def split_text(text: str, longest: int, measure: Callable[[str], int]) -> list[str]:
    """Parts of at most `longest` tokens as `measure` counts them; no part at all for a text of no tokens.

    A text that fits stays whole. Otherwise it is cut into sentences; only a sentence that is still too long is cut
    further, at clauses, then at spaces, then in halves. Nothing is lost but the white space at the cuts.
    """
    text = text.strip()
    tokens = measure(text)
    if tokens <= longest:
        return [text] if tokens else []
    sentences = _cut(text, SENTENCE_END)
    if len(sentences) > 1:
        return [part for sentence in sentences for part in split_text(sentence, longest, measure)]
    for mark in (CLAUSE_END, SPACE):
        cut = _cut(text, mark)
        if len(cut) > 1:
            return [part for group in _gather(cut, longest, measure) for part in split_text(group, longest, measure)]
    if len(text) == 1:  # a single character of several bytes cannot be cut
        return [text]
    half = len(text) // 2
    return split_text(text[:half], longest, measure) + split_text(text[half:], longest, measure)


def _cut(text: str, mark: re.Pattern[str]) -> list[str]:
    """Cut behind each mark; together the parts are the text."""
    cuts = [0, *(found.end() for found in mark.finditer(text)), len(text)]
    return [text[begin:end] for begin, end in pairwise(cuts) if begin < end]


def _gather(parts: list[str], longest: int, measure: Callable[[str], int]) -> list[str]:
    """Join neighbours while they fit, so that a long sentence becomes few parts."""
    groups: list[str] = []
    for part in parts:
        if groups and measure(groups[-1] + part) <= longest:
            groups[-1] += part
        else:
            groups.append(part)
    return groups
