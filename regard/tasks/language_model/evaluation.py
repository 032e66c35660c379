"""How well a language model predicts a text: every token once, with a context that slides along.

S windows · T positions · F tokens predicted · D width
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard import config
from regard.cancellation import check_cancelled
from regard.data.batching import pad
from regard.data.plain import count_words
from regard.data.tokenizer import END, PAD, UNKNOWN, Tokenizer
from regard.errors import UsageError
from regard.models.language_model import LanguageModel, RecurrentLanguageModel
from regard.models.pointer import PointerOutput
from regard.tasks.language_model.streaming import start_token
from regard.tasks.language_model.training import next_loss

BATCH_TOKENS = 4_096


class ContextWindow(NamedTuple):
    """How far a model looks back, and how many tokens it predicts from one look."""

    window: int
    stride: int
    carried: bool
    """Whether a state is carried over instead: then all that came before is known, and the stride is the window."""

    def __str__(self) -> str:
        if self.carried:
            return "the state is carried over the whole text"
        least = self.window - self.stride
        return (
            f"windows of {self.window} tokens, {self.stride} new in each, with at least {least} before them in the text"
        )


def context_window(model: LanguageModel, data: config.PlainText, stride: int | None = None) -> ContextWindow:
    """What the model was trained to look back at; a quarter of it is new in each window."""
    window = min(data.max_tokens, model.max_positions)
    if isinstance(model, RecurrentLanguageModel):
        if stride is not None:
            raise UsageError("a recurrent model carries its state over the whole text; leave out the stride")
        return ContextWindow(window, window, carried=True)
    stride = max(1, window // 4) if stride is None else stride
    if not 1 <= stride <= window:
        raise UsageError(f"the stride must be from 1 to the window's {window} tokens, not {stride}")
    return ContextWindow(window, stride, carried=False)


class Window(NamedTuple):
    """A window: tokens, of which all but the last are read and all but the first are what comes next."""

    tokens: list[int]
    fresh: int
    """The last so many are predicted here; those before were, in an earlier window."""
    goes_on: bool
    """Whether there was an earlier one."""


def windows_of_document(tokens: Iterable[int], first: int, context: ContextWindow) -> Iterator[Window]:
    """The windows of one document, which `first` stands before."""
    held, fresh, goes_on = [first], 0, False
    for token in tokens:
        held.append(token)
        fresh += 1
        if len(held) == context.window + 1:
            yield Window(held, fresh, goes_on)
            held, fresh, goes_on = held[context.stride :], 0, True
    if fresh:
        yield Window(held, fresh, goes_on)


def windows_of_text(
    lines: Iterable[str], tokenizer: Tokenizer, data: config.PlainText, context: ContextWindow
) -> Iterator[Window]:
    """The windows of a text; where each line is a document, none looks beyond its line."""
    whole = data.documents == "stream"
    encoded = ([*tokenizer.encode(line), END] for line in lines)
    if whole:
        yield from windows_of_document((token for tokens in encoded for token in tokens), start_token(whole), context)
    else:
        for tokens in encoded:
            yield from windows_of_document(tokens, start_token(whole), context)


class WindowStates(NamedTuple):
    """Places of a text, in order."""

    states: Tensor  # [F, D]
    pointed: PointerOutput | None
    wanted: Tensor  # [F]: the token that each should expect next
    documents: Tensor  # [F]: in which document each is, counted from 1

    def in_parts(self, size: int) -> Iterator[WindowStates]:
        for first in range(0, len(self.wanted), size):
            rows = slice(first, first + size)
            pointed = self.pointed and self.pointed.select(rows)
            yield WindowStates(self.states[rows], pointed, self.wanted[rows], self.documents[rows])


def window_states(model: LanguageModel, windows: Iterable[Window], tokens: int) -> Iterator[WindowStates]:
    """For about so many tokens at a time."""
    recurrent = model if isinstance(model, RecurrentLanguageModel) else None
    hidden: Tensor | None = None
    document = 0
    for batch in _together(windows, tokens, apart=recurrent is not None):
        check_cancelled()
        read, wanted = (
            torch.from_numpy(pad([np.array(each.tokens[part], dtype=np.int64) for each in batch])).to(model.device)
            for part in (slice(None, -1), slice(1, None))
        )  # [S, T]
        lengths = torch.tensor([len(each.tokens) - 1 for each in batch], device=model.device)
        fresh = torch.tensor([each.fresh for each in batch], device=model.device)
        begun = torch.tensor([not each.goes_on for each in batch], device=model.device).cumsum(0) + document  # [S]
        documents, document = begun.repeat_interleave(fresh), int(begun[-1])  # [F]
        place = torch.arange(read.size(1), device=model.device)
        new = (place >= (lengths - fresh)[:, None]) & (place < lengths[:, None])  # [S, T]
        if recurrent is not None:
            hidden = hidden if batch[0].goes_on else None
            states, after = recurrent.decode(read, recurrent.initial_state(len(batch)) if hidden is None else hidden)
            hidden = after[-1:]  # of the only one that can go on: it fills its window, so that no padding is in it
            yield WindowStates(states[new], None, wanted[new], documents)
        elif model.pointer is not None:
            states = model(read)  # [S, T, D]
            pointed = model.point(states, read)
            yield WindowStates(states[new], pointed and pointed.select(new), wanted[new], documents)
        else:
            packed = bool((read == PAD).any())
            states = model(read, packed=packed).flatten(0, -2)  # [N, D]
            yield WindowStates(states[new[read != PAD]], None, wanted[new], documents)


def _together(windows: Iterable[Window], tokens: int, apart: bool) -> Iterator[list[Window]]:
    """Windows side by side; `apart`, one that goes on is alone, since it needs the state after the one before."""
    batch: list[Window] = []
    held = 0  # tokens in the batch; padding is not computed
    for each in windows:
        size = len(each.tokens)
        if batch and (held + size > tokens or (apart and (each.goes_on or batch[0].goes_on))):
            yield batch
            batch, held = [], 0
        batch.append(each)
        held += size
    if batch:
        yield batch


@dataclass
class Perplexity:
    """A text as a model sees it. Per word: whatever the tokens are, models of the same text can be compared.

    A word is what stands between spaces; the end of a line counts as one, and as one character.
    """

    lines: int = 0
    words: int = 0
    characters: int = 0
    tokens: int = 0
    unknown: int = 0
    """Tokens that stand for words that are not in the vocabulary; to predict them is easier than to spell them."""
    log_probability: float = 0.0
    context: str = ""
    cache: str = ""
    """What was remembered beyond the context, if anything."""

    @property
    def per_word(self) -> float:
        return per(self.log_probability, self.words)

    @property
    def per_token(self) -> float:
        return per(self.log_probability, self.tokens)

    @property
    def bits_per_character(self) -> float:
        return -self.log_probability / math.log(2) / max(1, self.characters)

    def to_dict(self) -> dict[str, Any]:
        """For JSON, and for a model file."""
        name = "perplexity with a cache" if self.cache else "perplexity"
        found = {"name": name, "value": self.per_word, "per_token": self.per_token}
        return {**found, "bits_per_character": self.bits_per_character, **vars(self)}

    def count(self, line: str) -> str:
        """Take note of a line as it goes by."""
        self.lines += 1
        self.words += count_words(line)
        self.characters += len(line) + 1
        return line


@dataclass(frozen=True)
class PerplexityTest:
    """What became of one text."""

    name: str
    found: Perplexity
    cached: Perplexity | None = None
    """The same text with a cache."""

    def stored(self) -> list[dict[str, Any]]:
        """The scores as a model file keeps them; the first is the one to tell."""
        return [each.to_dict() for each in (self.found, self.cached) if each is not None]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"scores": self.stored()}

    def lines(self) -> list[str]:
        """For people."""
        found = self.found
        cached = self.cached and [
            f"  perplexity {self.cached.per_word:.2f} per word, {self.cached.per_token:.2f} per token with a cache",
            f"  {self.cached.bits_per_character:.3f} bits per character",
            f"  cache: {self.cached.cache}",
        ]
        unknown = f"  {found.unknown:,} words are not in the vocabulary and were predicted as unknown"
        return [
            f"{self.name} ({found.lines:,} lines, {found.words:,} words with the lines' ends, {found.tokens:,} tokens)",
            f"  perplexity {found.per_word:.2f} per word, {found.per_token:.2f} per token",
            f"  {found.bits_per_character:.3f} bits per character",
            *([unknown] if found.unknown else []),
            f"  context: {found.context}",
            *(cached or []),
        ]


def per(log_probability: float, count: int) -> float:
    """Perplexity: among how many equally probable ones the model seems to choose each time."""
    return math.exp(min(-log_probability / max(1, count), 700.0))  # beyond, a float ends


def measure(
    model: LanguageModel,
    tokenizer: Tokenizer,
    data: config.PlainText,
    lines: Iterable[str],
    stride: int | None = None,
    tell: Callable[[int], None] = lambda tokens: None,
) -> Perplexity:
    """Of any number of lines, in bounded memory; `tell` hears how many tokens were predicted, as it goes."""
    context = context_window(model, data, stride)
    found = Perplexity(context=str(context))
    windows = windows_of_text(map(found.count, lines), tokenizer, data, context)
    with torch.inference_mode():
        for states, pointed, wanted, _ in window_states(model, windows, max(BATCH_TOKENS, context.window)):
            found.log_probability -= next_loss(model, states, pointed, wanted).plain.item()
            found.tokens += len(wanted)
            found.unknown += int((wanted == UNKNOWN).sum())
            tell(len(wanted))
    return found
