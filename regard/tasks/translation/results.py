"""What can be asked of a translator, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import numpy as np

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
    """How many parts a text longer than the model was trained for was split into."""
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
        if self.alternatives:
            content["alternatives"] = [each.to_dict() for each in self.alternatives]
        return content


def concatenate(parts: list[Translation], glue: str) -> Translation:
    """One translation from those of a text's parts; `glue` stands between them."""
    if len(parts) == 1:
        return parts[0]
    *before, last = parts
    reasons = {part.finish_reason for part in parts}
    return Translation(
        text=glue.join(part.text for part in parts if part.text),
        score=sum(part.score for part in parts),
        tokens=[token for part in parts for token in part.tokens],
        # No token stands for an end inside the text.
        token_log_probabilities=[
            *(value for part in before for value in part.token_log_probabilities[: len(part.tokens)]),
            *last.token_log_probabilities,
        ],
        finish_reason="length" if "length" in reasons else "end",
        parts=len(parts),
    )


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
