"""How much a request may ask for, and how it is told that it asks for too much."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from regard.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Limits:
    """What the server accepts; docs/serve.md lists the same."""

    characters: int = 2_000
    """Of one text, or of one prompt."""
    classified_characters: int = 20_000
    """Of one text that only gets a label or a vector: reading is quicker than writing."""
    attention_characters: int = 1_000
    """Of all texts of a request that asks for attention: such an answer may be ten thousand times as long as its text."""
    attention_numbers: int = 2_500_000
    """Of all attention weights, positions and hypotheses that such an answer may hold, counted before they are computed."""
    texts: int = 64
    """In one request."""
    pictures: int = 16
    """In one request, sent or asked for."""
    picture_pixels: int = 20_000_000
    """That a picture may claim to have; a small file can claim any number, and all of them would be decoded."""
    beam: int = 10
    nbest: int = 10
    new_tokens: int = 1_000
    """To go on with after one prompt."""
    cost: int = 50_000
    """Tokens that one request may compute: those that are read, and of every hypothesis those that it may write; counted
    before anything is computed. Some ten seconds of one core of 2020 and a small model."""
    body_bytes: int = 1_000_000
    body_seconds: float = 10.0
    """To send a request: its head, then its body. Also how long a reader of an answer may stand still."""
    answer_seconds: float = 60.0
    """Until the answer, waiting included."""
    waiting: int = 512
    """Texts in the queue, of all requests together."""
    batch_cost: int = 16_000
    """Texts that wait for the same model and options are computed together, as long as they cost no more tokens."""
    shutdown_seconds: float = 30.0
    """To finish what was begun when the server is asked to stop."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not (math.isfinite(value) and value > 0):
                raise UsageError(f"the limit {each.name} must be above 0 and finite, not {value}")
        if self.texts > self.waiting:
            raise UsageError(
                f"{self.texts} texts per request never fit into a queue of {self.waiting}; raise `waiting`"
            )


DEFAULTS = Limits()
RENAMED = {"tokens": "new_tokens", "batch_characters": "batch_cost, and counts tokens"}


def read_limits(given: Sequence[str]) -> Limits:
    """The usual limits, and over them those given as NAME=NUMBER."""
    kinds = {each.name: type(getattr(DEFAULTS, each.name)) for each in fields(Limits)}
    values: dict[str, Any] = {}
    for each in given:
        name, _, number = each.partition("=")
        if name in RENAMED:
            raise UsageError(f"the limit {name} is now called {RENAMED[name]}")
        if name not in kinds:
            raise UsageError(f"no limit is called {name!r}.{did_you_mean(name, kinds)} There are {', '.join(kinds)}")
        try:
            values[name] = kinds[name](number.replace("_", "").replace(",", ""))
        except ValueError:
            kind = "a whole number" if kinds[name] is int else "a number"
            raise UsageError(f"the limit {name} must be {kind}, not {number!r}") from None
    return replace(DEFAULTS, **values)


@dataclass(eq=False)  # an exception must stay hashable
class Refusal(Exception):  # noqa: N818
    """An answer other than the one asked for: a status, and a sentence that says what to do."""

    status: int
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)
