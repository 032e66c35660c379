"""What of a text the model does not translate: values that stand behind placeholders while it works."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from regard.data.placeholders import lost, protect
from regard.data.tokenizer import Tokenizer
from regard.decoding.options import Hypothesis
from regard.errors import UsageError
from regard.tasks.translation.warnings import Doubt


class Protected(NamedTuple):
    """A part of a text as the model reads it."""

    text: str
    values: tuple[str, ...] = ()
    """What the placeholders in it stand for."""
    original: str = ""
    """The part as it was given."""

    def plain(self) -> Protected:
        """Without placeholders."""
        return Protected(self.original, original=self.original)

    def lost_in(self, hypothesis: Hypothesis, tokenizer: Tokenizer) -> list[str]:
        """Values whose placeholder the model did not write."""
        return lost(tokenizer.decode(hypothesis.tokens), self.values) if self.values else []


def protected(texts: Sequence[str], asked: bool) -> list[Protected]:
    """Each text as the model reads it."""
    if not asked:
        return [Protected(text, original=text) for text in texts]
    found = map(protect, texts)
    return [Protected(masked, tuple(values), text) for text, (masked, values) in zip(texts, found, strict=True)]


def require_placeholders(tokenizer: Tokenizer, asked: bool | None) -> bool:
    """Whether values are protected: as asked, or wherever the model was trained for it."""
    if asked and not tokenizer.has_placeholders:
        raise UsageError("this model cannot `protect` numbers and addresses: it was trained without `data.protect`")
    return tokenizer.has_placeholders if asked is None else asked


def lost_values(part: Protected, output: str) -> list[Doubt]:
    """Values of a source that its translation lacks."""
    words = part.original.split()
    return [
        Doubt("lost", "source", tuple(number for number, word in enumerate(words) if value in word), value)
        for value in protect(part.original)[1]
        if value not in output
    ]
