"""What can be asked of the search, or of another engine, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from regard import config
from regard.errors import UsageError, did_you_mean

LENGTH_PENALTIES = ("paper", "mean", "none")


@dataclass(frozen=True)
class SpecialTokens:
    """The ids that mean something to the search itself."""

    start: int
    """Written before the first token; never produced."""
    end: int
    """Closes a sentence; no rule ever forbids it."""
    pad: int
    """Fills up batches; never produced."""
    unknown: int | None = None
    """Stands for what a vocabulary lacks; never produced."""

    @property
    def suppressed(self) -> set[int]:
        """What no output holds. A tokenizer may use one id for start and end; the end stays possible."""
        return {id for id in (self.start, self.pad, self.unknown) if id is not None} - {self.end}


# Of each option: its kind, the values it may have, and a test of them.
RULES: dict[str, tuple[type, str, Callable[[Any], bool]]] = {
    "beam": (Integral, "at least 1", lambda value: value >= 1),
    "nbest": (Integral, "at least 1", lambda value: value >= 1),
    "alpha": (Real, "at least 0 and at most 10", lambda value: 0 <= value <= 10),
    "max_ratio": (Real, "at least 0 and finite", lambda value: 0 <= value < float("inf")),
    "max_extra": (Integral, "at least 0", lambda value: value >= 0),
    "batch_tokens": (Integral, "at least 1", lambda value: value >= 1),
    "sample": (bool, "True or False", lambda value: True),
    "temperature": (Real, "above 0 and finite", lambda value: 0 < value < float("inf")),
    "top_k": (Integral, "at least 0", lambda value: value >= 0),
    "top_p": (Real, "above 0 and at most 1", lambda value: 0 < value <= 1),
    "seed": (Integral, "at least 0", lambda value: value >= 0),
    "no_repeat_ngram": (Integral, "at least 0", lambda value: value >= 0),
    "early_stop": (bool, "True or False", lambda value: True),
    "scores": (bool, "True or False", lambda value: True),
    "coverage": (bool, "True or False", lambda value: True),
}
KINDS = {Integral: "a whole number", Real: "a number", bool: "True or False"}


def check_values(values: Mapping[str, object]) -> None:
    """Refuse options of the wrong kind or out of their range, all of them at once."""
    mistakes = []
    for name, value in values.items():
        if name == "length_penalty":
            if value not in LENGTH_PENALTIES:
                hint = did_you_mean(str(value), LENGTH_PENALTIES)
                mistakes.append(f"{name} must be one of {', '.join(LENGTH_PENALTIES)}, not {value!r}.{hint}")
            continue
        kind, wanted, fits = RULES[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            mistakes.append(f"{name} must be {KINDS[kind]}, not {value!r}")
        elif not fits(value):
            mistakes.append(f"{name} must be {wanted}, not {value!r}")
    if mistakes:
        raise UsageError("\n".join(mistakes))


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
    scores: bool = True
    """Whether anybody looks at the probability of each token. An engine whose search knows only their sum need not compute them,
    then: its hypotheses have the sum, up to rounding and what the forbidden tokens would have got, and no
    `token_log_probabilities`."""
    coverage: bool = False
    """Whether somebody wants to know which source tokens were looked at, if the engine can tell by the way."""

    def __post_init__(self) -> None:
        check_values(vars(self))
        if not self.sample and self.nbest > self.beam:
            raise UsageError(f"nbest = {self.nbest} needs a beam of at least as many, not {self.beam}")

    @property
    def width(self) -> int:
        """Hypotheses per sentence."""
        return self.nbest if self.sample else self.beam

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
    """Of the whole output by the model itself, whatever the temperature, the filters and the constraints."""
    token_log_probabilities: tuple[float, ...]
    """Its parts: one per token, then the end token's if `finish_reason` is `end`."""
    finish_reason: Literal["end", "length"]
    """`end`: the model closed the sentence. `length`: the limit did."""
    coverage: NDArray[np.float32] | None = field(default=None, compare=False)
    """How much attention each source token got in all [K], if that was asked for and the engine told; or at least so much, where
    it leaves no word unseen."""

    @property
    def length(self) -> int:
        """Tokens that its probability is of: the end is one of them, if it was written."""
        return len(self.tokens) + (self.finish_reason == "end")


def refuse_idle(given: Mapping[str, object], values: Mapping[str, object]) -> None:
    """Refuse options that change nothing beside the others: whoever gives one expects something of it."""
    if not values.get("sample"):
        for name in ("temperature", "top_k", "top_p", "seed"):
            if name in given and given[name] != getattr(Search, name):
                raise UsageError(f"`{name}` has an effect only with `sample`")
    elif given.get("beam") is not None:
        raise UsageError("`beam` has no effect with `sample`: each output is drawn, none is searched for")
    if "alpha" in given and values["length_penalty"] != "paper":
        raise UsageError(f"`alpha` has no effect with `length_penalty` {values['length_penalty']!r}; it is the paper's")


def length_limit(source_length: int, settings: config.Decoding, max_positions: int, prefix_length: int = 0) -> int:
    """The most steps an output may take, its end included; a function of the sentence and its prefix alone."""
    own = int(min(settings.max_ratio * source_length, max_positions)) + settings.max_extra
    return min(prefix_length + own, max_positions)


class Engine(Protocol):
    """What decodes: this model through this search, or another program with the same weights. Ids of any number of sentences
    in, the n best hypotheses of each out, in the order given."""

    def decode(
        self,
        sources: Sequence[Sequence[int]],
        options: Search,
        settings: config.Decoding,
        prefixes: Sequence[Sequence[int]] | None = None,
    ) -> list[list[Hypothesis]]: ...
