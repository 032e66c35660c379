"""What can be asked of the search, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from regard.errors import UsageError, did_you_mean

LENGTH_PENALTIES = ("paper", "mean", "none")


@dataclass(frozen=True)
class Special:
    """The ids that mean something to the search itself."""

    start: int
    """Written before the first token; never produced."""
    end: int
    """Closes a sentence; no rule ever forbids it."""
    pad: int
    """Fills up batches; never produced."""


@dataclass(frozen=True)
class Search:
    """How to look for the output: beam search, or greedy with `beam = 1`, or random with `sample = True`."""

    beam: int = 5
    """Hypotheses kept side by side; 1 is greedy."""
    nbest: int = 1
    """Hypotheses returned per sentence; when sampling, that many independent draws, which may coincide."""
    length_penalty: str = "paper"
    """`paper` divides a log-probability by ((5 + length) / 6) ** alpha, `mean` by the length, `none` by nothing."""
    alpha: float = 0.6
    """Strength of the paper's length penalty."""
    sample: bool = False
    """Draw each token by its probability instead of searching for the best."""
    temperature: float = 1.0
    """Sampling: below 1 sharpens the probabilities, above 1 flattens them."""
    top_k: int = 0
    """Sampling: only the k most probable tokens; 0: all."""
    top_p: float = 1.0
    """Sampling: only the most probable tokens that together reach this probability; 1: all."""
    seed: int = 0
    """Sampling: the same seed draws the same output."""
    no_repeat_ngram: int = 0
    """Never write the same run of this many tokens twice; 0: allowed."""
    early_stop: bool = True
    """Beam: stop a sentence as soon as nothing still unfinished can enter the n best; the answer is the same."""

    def __post_init__(self) -> None:
        mistakes = [
            f"{name} must be {wanted}, not {getattr(self, name)!r}"
            for name, wanted, fits in (
                ("beam", "at least 1", self.beam >= 1),
                ("nbest", "at least 1", self.nbest >= 1),
                ("alpha", "at least 0", 0 <= self.alpha < float("inf")),
                ("temperature", "above 0", 0 < self.temperature < float("inf")),
                ("top_k", "at least 0", self.top_k >= 0),
                ("top_p", "above 0 and at most 1", 0 < self.top_p <= 1),
                ("seed", "at least 0", self.seed >= 0),
                ("no_repeat_ngram", "at least 0", self.no_repeat_ngram >= 0),
            )
            if not fits
        ]
        if self.length_penalty not in LENGTH_PENALTIES:
            hint = did_you_mean(self.length_penalty, LENGTH_PENALTIES)
            mistakes.append(
                f"length_penalty must be one of {', '.join(LENGTH_PENALTIES)}, not {self.length_penalty!r}.{hint}"
            )
        if not self.sample and self.nbest > self.beam:
            mistakes.append(f"nbest = {self.nbest} needs a beam of at least as many, not {self.beam}")
        if mistakes:
            raise UsageError("\n".join(mistakes))

    def penalty(self, length: int) -> float:
        """What a log-probability is divided by: lp(Y) of Wu et al. (2016), section 7. It never falls as `length` grows."""
        if self.length_penalty == "paper":
            return float(((5 + length) / 6) ** self.alpha)
        return float(length) if self.length_penalty == "mean" else 1.0


@dataclass(frozen=True)
class Hypothesis:
    """One output of the search."""

    tokens: tuple[int, ...]
    """Without start and end; a forced prefix is part of it."""
    score: float
    """`log_probability` divided by the length penalty; the length counts the end token, as the paper's |Y| does."""
    log_probability: float
    """Of the whole output by the model itself, whatever the temperature, the filters and the rules."""
    token_log_probabilities: tuple[float, ...]
    """Its parts: one per token, then the end token's if `finish_reason` is `end`."""
    finish_reason: Literal["end", "length"]
    """`end`: the model closed the sentence. `length`: the limit did."""
