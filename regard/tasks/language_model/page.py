"""What a language model expected at each place of a text and what it looked at: in a terminal, and as one HTML file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.text import Text

from regard.errors import UsageError
from regard.tasks.alternatives import Alternatives
from regard.view.arrays import pack_probabilities
from regard.view.inside import Inside, side_of, walk_size
from regard.view.scenes import in_a_frame, write_page
from regard.view.words import SPACE, is_byte

START, END = "<s>", "</s>"
SHADES = ((1, ""), (3, "on color(223)"), (6, "on color(215)"), (10, "on color(209)"), (math.inf, "on color(203)"))
"""Bits of surprise up to which a token has a colour in the terminal."""
WORST, LIKELIEST, BEFORE = 5, 5, 4
"""Tokens told of below the text, tokens expected there, and tokens that lead up to it."""


def tokens_read(tokens: Sequence[str]) -> list[str]:
    """What was read, as pages name it: a text begins with the token that ends a line, but nothing has ended there."""
    return [START, *tokens[1:]]


@dataclass(frozen=True, repr=False)
class TextAttention:
    """One text: for each place what the model expected there, what came, and what it looked at meanwhile."""

    title: str
    text: str
    read: list[str]
    """What stands before each token: the beginning, then all tokens but the last."""
    tokens: list[str]
    """The tokens of the text; `</s>` is the end of a line."""
    alternatives: list[Alternatives]
    """Of each token, what else might have come, and how probable it was itself."""
    words: int
    """Between spaces, and the ends of lines."""
    weights: NDArray[np.floating[Any]] | None = None
    """[layers, heads, tokens, read]: row t is the look taken in order to predict token t; None: the model has none."""
    pointed: NDArray[np.floating[Any]] | None = None
    """[tokens, read + 1]: how probably each token read comes again, and last how probably the vocabulary decides instead;
    None: the model has no pointer."""
    facts: Mapping[str, str] = field(default_factory=dict)
    inside: Inside = field(default_factory=Inside)
    """Positions, heads that were switched off, and all recorded tensors."""

    def __post_init__(self) -> None:
        if not len(self.tokens) == len(self.read) == len(self.alternatives) > 0:
            raise UsageError("cannot show a text whose tokens are not as many as the places they were expected at")
        shape, count = () if self.weights is None else self.weights.shape, len(self.tokens)
        if self.weights is not None and (len(shape) != 4 or shape[2:] != (count, count)):
            raise UsageError(
                f"cannot show attention of shape {list(shape)}: the text asks for [.., .., {count}, {count}]"
            )
        if self.pointed is not None and self.pointed.shape != (count, count + 1):
            shape = self.pointed.shape
            raise UsageError(f"cannot show a pointer of shape {list(shape)}: the text asks for [{count}, {count + 1}]")

    def __repr__(self) -> str:
        return f"TextAttention({self.text!r}: perplexity {self.perplexity:.2f})"

    @property
    def surprisals(self) -> list[float]:
        """Of each token, in bits: 1 is the toss of a coin, 10 one in a thousand."""
        return [-math.log2(max(each.probability, 1e-12)) for each in self.alternatives]

    @property
    def perplexity(self) -> float:
        """Per word."""
        return float(2 ** min(sum(self.surprisals) / max(1, self.words), 1_000))

    @property
    def walk_size(self) -> int:
        """How many numbers a walk through the computation takes."""
        return walk_size(self.inside.record)

    def to_dict(self, *, walk: bool = True) -> dict[str, Any]:
        """All that a page draws, as plain JSON values."""
        return {
            "title": self.title,
            "facts": dict(self.facts),
            "parts": 1,
            "source": {"text": self.text, "tokens": [], "words": []},
            "target": side_of("", self.tokens),
            "read": side_of("", tokens_read(self.read)),
            "attention": {} if self.weights is None else {"decoder": self.inside.attention(self.weights)},
            "alternatives": [asdict(each) for each in self.alternatives],
            "steps": [],
            "search": None,
            "warnings": [],
            "surprise": {
                "perplexity": self.perplexity,
                "words": self.words,
                "pointed": None if self.pointed is None else pack_probabilities(self.pointed),
            },
            **self.inside.to_dict(walk=walk),
        }

    def save(self, path: str | Path) -> None:
        """Write the page: one HTML file that needs nothing else, neither files nor network."""
        write_page(Path(path), [self])

    def _repr_html_(self) -> str:
        return in_a_frame(self)


def draw_text(look: TextAttention, console: Console) -> None:
    """The text with every token shaded by its surprise, and below what was expected where the model was most wrong."""
    shaded, begins = Text(), True
    for token, bits in zip(look.tokens, look.surprisals, strict=True):
        style = next(style for limit, style in SHADES if bits <= limit)
        spelled = _spelled(token)
        shaded.append(spelled.removeprefix(" ") if begins else spelled, style and f"black {style}")
        if begins := token == END:
            shaded.append("\n")
    console.print(shaded)
    tokens = len(look.tokens)
    console.print(Text(f"perplexity {look.perplexity:.2f} per word ({look.words} words, {tokens} tokens)", "bold"))
    legend = Text("surprise of a token: ", "dim")
    for (low, _), (_, style) in pairwise(SHADES):
        legend.append(f" from {low} ", f"black {style}").append(" ")
    console.print(legend.append("bits (1 is the toss of a coin, 10 one in a thousand)", "dim"))
    console.print()
    worst = sorted(range(tokens), key=lambda place: -look.surprisals[place])[:WORST]
    for place in sorted(worst):
        found = look.alternatives[place]
        before = "".join(map(_spelled, look.tokens[max(0, place - BEFORE) : place])).lstrip()
        line = Text("… " if place > BEFORE else "", "dim").append(before)
        line.append(_spelled(look.tokens[place]) if before else _spelled(look.tokens[place]).lstrip(), "bold")
        line.append(f"  {share(found.probability)}, rank {found.rank:,}; expected ", "dim")
        likely = zip(found.tokens[:LIKELIEST], found.probabilities[:LIKELIEST], strict=True)
        console.print(line.append(", ".join(f"{_spelled(token).strip()} {share(part)}" for token, part in likely)))


def _spelled(token: str) -> str:
    """A token as a terminal shows it."""
    if token == END:
        return " ⏎"
    if is_byte(token) or token.startswith("<"):
        return token
    return "".join(letter if letter.isprintable() else "�" for letter in token.replace(SPACE, " "))


def share(probability: float) -> str:
    """A probability in per cent, as precise as it takes to be more than nothing."""
    percent = 100 * probability
    if 99.5 <= percent < 100:
        return f"{min(99.9, percent):.1f} %"  # what only rounds to certainty does not claim it
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.1f} %" if percent >= 0.1 else f"{percent:.1g} %"
