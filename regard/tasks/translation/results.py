"""What can be asked of a translator, and what it answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

import numpy as np

from regard.tasks.translation.splitting import Part, join_texts
from regard.tasks.translation.warnings import Doubt

FinishReason = Literal["end", "length", "empty"]


class Options(TypedDict, total=False):
    """How to decode, where it differs from the recipe; None means the recipe's own. See docs/decoding.md."""

    beam: int | None
    nbest: int
    length_penalty: str | None
    alpha: float | None
    max_ratio: float | None
    max_extra: int | None
    no_repeat_ngram: int | None
    batch_tokens: int | None
    sample: bool
    temperature: float
    top_k: int
    top_p: float
    seed: int
    prefix: str
    split: bool
    protect: bool | None
    truecase: bool
    warnings: bool
    scores: bool
    to: str | None


@dataclass(frozen=True)
class Translation:
    """What became of one text."""

    text: str
    score: float
    """Log-probability after the length penalty; higher is better, comparable between outputs of one source."""
    tokens: list[str]
    """The tokens that were written."""
    token_log_probabilities: list[float]
    """Of each token, then of the end where the model wrote it; of a text in parts, only of the last part's end."""
    finish_reason: FinishReason
    """`end`: the model closed the sentence; `length`: it reached the length limit; `empty`: there was nothing to say."""
    parts: int = 1
    """How many parts the text was translated in: a sentence each, where the model was trained on single sentences."""
    warnings: list[Doubt] | None = None
    """Reasons to look again, if they were asked for: words left out or repeated, a length that is not usual."""
    confidence: float | None = None
    """Between 0 and 1, comparable between texts: the sentence chrF / 100 that such translations of the validation text had; of a
    text in parts their mean, by tokens. None where the model file does not tell (older ones, little validation text)."""
    alternatives: list[Translation] = field(default_factory=list)
    """The n best, this one first, when more than one was asked for; fewer than n if no more were found."""

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        content: dict[str, Any] = {
            "text": self.text,
            "score": self.score,
            "tokens": self.tokens,
            "token_log_probabilities": self.token_log_probabilities,
            "finish_reason": self.finish_reason,
            "parts": self.parts,
        }
        if self.confidence is not None:
            content["confidence"] = self.confidence
        if self.warnings is not None:
            content["warnings"] = [each.to_dict() for each in self.warnings]
        if self.alternatives:
            content["alternatives"] = [each.to_dict() for each in self.alternatives]
        return content


def concatenate(parts: Sequence[Part], found: Sequence[Translation], glue: str) -> Translation:
    """One translation from those of a text's parts, with the white space between them; `glue` is one space, or none."""
    *before, last = found
    text = join_texts(parts, [each.text for each in found], glue)
    if not before:
        return replace(last, text=text)
    reasons = {each.finish_reason for each in found}
    told = next((each.warnings for each in found if each.warnings is not None), None)  # a lost value is always told
    return Translation(
        text=text,
        score=sum(each.score for each in found),
        tokens=[token for each in found for token in each.tokens],
        # No token stands for an end inside the text.
        token_log_probabilities=[
            *(value for each in before for value in each.token_log_probabilities[: len(each.tokens)]),
            *last.token_log_probabilities,
        ],
        finish_reason="length" if "length" in reasons else "end",
        parts=len(found),
        warnings=None if told is None else [doubt for each in found for doubt in each.warnings or ()],
        confidence=mean_confidence(found),
    )


def mean_confidence(found: Sequence[Translation]) -> float | None:
    """Of a text's parts, each counting as many times as it has tokens."""
    known = [
        (each.confidence, len(each.tokens) + (each.finish_reason == "end"))
        for each in found
        if each.confidence is not None
    ]
    if not known:
        return None
    return round(sum(value * tokens for value, tokens in known) / sum(tokens for _, tokens in known), 4)


@dataclass(frozen=True)
class PairScore:
    """How probable a model finds a given translation."""

    log_probability: float
    tokens: list[str]
    token_log_probabilities: list[float]

    @property
    def perplexity(self) -> float:
        return float(np.exp(-self.log_probability / len(self.token_log_probabilities)))

    def __str__(self) -> str:
        return f"{self.log_probability:.4f}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "perplexity": self.perplexity}
