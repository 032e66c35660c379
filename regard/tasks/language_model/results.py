"""What can be asked of a language model, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.decoding.options import Search
from regard.errors import UsageError, did_you_mean
from regard.tasks.language_model.evaluation import per
from regard.tasks.language_model.page import share

RENAMED = {"most": "max_new_tokens"}  # options that had another name before


class Options(TypedDict, total=False):
    """How to go on, where it differs from `GenerationOptions`, which says what each means."""

    max_new_tokens: int
    temperature: float
    top_k: int
    top_p: float
    seed: int
    stop: str | Sequence[str]
    no_repeat_ngram: int


@dataclass(frozen=True)
class GenerationOptions:
    """How to go on."""

    max_new_tokens: int = 200
    """How long the added text may become."""
    temperature: float = 0.8
    """Below 1 is safer, above 1 wilder; 0: the most probable token each time."""
    top_k: int = 0
    """Only the k most probable tokens; 0: all."""
    top_p: float = 1.0
    """Only the most probable tokens that together reach this probability; 1: all."""
    seed: int = 0
    """The same seed and prompt give the same text."""
    stop: str | Sequence[str] = ()
    """The text ends before the first of these."""
    no_repeat_ngram: int = 0
    """Never write the same run of this many tokens twice; 0: allowed."""

    @classmethod
    def of(cls, options: Options) -> GenerationOptions:
        """The options given, and the defaults of the others."""
        if unknown := sorted(set(options) - set(Options.__annotations__)):
            if unknown[0] in RENAMED:
                raise UsageError(f"{unknown[0]} is now called {RENAMED[unknown[0]]}")
            hint = did_you_mean(unknown[0], Options.__annotations__)
            raise UsageError(f"unknown option {unknown[0]!r}.{hint} There are {', '.join(Options.__annotations__)}")
        return cls(**options)

    def __post_init__(self) -> None:
        new = self.max_new_tokens
        if isinstance(new, bool) or not isinstance(new, int) or new < 1:
            raise UsageError(f"max_new_tokens must be a whole number of at least 1, not {new!r}")
        if not isinstance(self.stop, str | Sequence) or not all(isinstance(stop, str) and stop for stop in self.stops):
            raise UsageError(f"stop takes texts that are not empty, not {self.stop!r}")
        if not isinstance(self.temperature, int | float) or not 0 <= self.temperature < float("inf"):
            raise UsageError(f"temperature must be at least 0 and finite, not {self.temperature!r}")
        self.search()  # which checks the others

    @property
    def stops(self) -> tuple[str, ...]:
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)

    def search(self) -> Search:
        """The same for the one search that there is."""
        if self.temperature == 0 and not isinstance(self.temperature, bool):
            Search(top_k=self.top_k, top_p=self.top_p, seed=self.seed)
            return Search(beam=1, no_repeat_ngram=self.no_repeat_ngram)
        return Search(
            sample=True, temperature=self.temperature, top_k=self.top_k, top_p=self.top_p, seed=self.seed,
            no_repeat_ngram=self.no_repeat_ngram,
        )  # fmt: skip


@dataclass(frozen=True)
class Generation:
    """How one prompt went on."""

    prompt: str
    text: str
    """What was added: without the prompt, and without the stop string."""
    tokens: list[str]
    """All tokens that were written, those of a stop string and ends of lines (`</s>`) among them."""
    token_log_probabilities: list[float]
    """Of each, by the model itself, whatever the temperature and the filters."""
    finish_reason: Literal["end", "length", "stop"]
    """`end`: the model closed the text. `length`: the limit did. `stop`: a stop string did."""
    cut: bool = False
    """Whether the prompt was longer than the model's context, so that only its end was read."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return dict(vars(self))


@dataclass(frozen=True)
class TextScore:
    """How probable a text is."""

    log_probability: float
    tokens: list[str]
    """Its tokens; `</s>` is the end of a line."""
    token_log_probabilities: list[float]
    ranks: list[int]
    """The place of each among all tokens that could have come; 1 is the most probable."""
    words: int
    """What stands between spaces, and the ends of the lines."""

    @property
    def perplexity(self) -> float:
        """Per word, whatever the tokens are."""
        return per(self.log_probability, self.words)

    @property
    def token_perplexity(self) -> float:
        return per(self.log_probability, len(self.tokens))

    def __str__(self) -> str:
        return f"{self.log_probability:.4f}\t{self.perplexity:.2f}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "perplexity": self.perplexity, "token_perplexity": self.token_perplexity}

    def draw(self, console: Console) -> None:
        """Each token with its probability, in a terminal."""
        table = Table(box=None, pad_edge=False, header_style="dim")
        for name in ("token", "probability", "rank", "log-probability"):
            table.add_column(name, justify="left" if name == "token" else "right")
        for token, own, rank in zip(self.tokens, self.token_log_probabilities, self.ranks, strict=True):
            table.add_row(Text(token), share(math.exp(own)), f"{rank:,}", f"{own:.3f}")
        console.print(table)
        words, tokens = f"{self.words:,} words and line ends", f"{len(self.tokens):,} tokens"
        console.print(
            f"log-probability {self.log_probability:.4f}; perplexity {self.perplexity:.2f} per word ({words}), "
            f"{self.token_perplexity:.2f} per token ({tokens})",
            highlight=False,
        )
