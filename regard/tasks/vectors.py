"""Texts → vectors, and the neighbours of words: what every model of text can be asked, whatever its task.

W windows of a text · T positions of a window · N real positions of a batch · D width
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from regard import config
from regard.cancellation import check_cancelled
from regard.data.batching import in_batches
from regard.data.tokenizer import Side, Tokenizer
from regard.errors import UsageError, did_you_mean
from regard.errors import shown as quoted
from regard.tasks.neighbours import (
    Neighbours,
    WordVectors,
    count_words,
    training_text,
    vocabulary_words,
    with_own_token,
)
from regard.tasks.texts import LOOK_AHEAD, Texts, described, in_blocks, shown

if TYPE_CHECKING:  # a model may be at work without torch, until somebody wants to see vectors
    from torch import Tensor

    from regard.models.layers import Table

Vector: TypeAlias = NDArray[np.float32]

BATCH_TOKENS = 2_048  # what lies between two layers then stays in a CPU's cache


class Window(NamedTuple):
    """What a model reads at once."""

    ids: Sequence[int]
    """With what stands before or after a text."""
    fresh: int
    """The states of the last so many count; those before are context that another window counted."""


class Reading(NamedTuple):
    """How a model reads one text."""

    windows: Sequence[Window]
    """None of a text without tokens."""
    cut: bool = False
    """Whether some of it is not read at all."""


@dataclass(frozen=True, repr=False)
class Embedded:
    """One text and its vector. A text without tokens has zeros."""

    text: str
    vector: Vector
    """[D]"""
    windows: int = 1
    """How many the text was read in; 0 if there was nothing to read."""
    cut: bool = False
    """Whether some of it was not read."""

    def __repr__(self) -> str:
        return f"Embedded({self.text!r}: {len(self.vector)} numbers)"

    def to_dict(self) -> dict[str, Any]:
        """For JSON; each number in as few digits as tell it from all others of 32 bits."""
        return {"text": self.text, "vector": [float(each) for each in self.vector.astype(str)]}


def pool_window(pool: str, states: Tensor) -> Tensor:
    """States of a window [T, D] → one vector [D]."""
    if pool == "max":
        return states.amax(0)
    return states.mean(0) if pool == "mean" else states[0 if pool == "first" else -1]


def pool_windows(pool: str, vectors: Tensor, counts: Sequence[int]) -> Tensor:
    """Vectors of a text's windows [W, D], each of so many positions → one [D]: as if all positions stood in one window, but
    `first` is the mean of all windows, as if each had a text's beginning."""
    if pool == "max":
        return vectors.amax(0)
    if pool == "last":
        return vectors[-1]
    import torch

    weights = torch.tensor(counts if pool == "mean" else [1] * len(counts), dtype=vectors.dtype)
    return (vectors * (weights / weights.sum())[:, None]).sum(0)


class TextVectors(ABC):
    """What a model at work inherits, to embed texts and to know the neighbours of words."""

    tokenizer: Tokenizer
    recipe: config.Recipe
    pools: tuple[str, ...] = ("mean", "max", "first", "last")
    """How the states of a text may become one vector."""
    sides: tuple[Side, ...] = ("source",)
    """Which embeddings of words there are; the last is looked at unless another is asked for."""
    origin: str | Path | None = None
    """Where the model was loaded from; the words of its training text are found from there."""

    def __repr__(self) -> str:
        return described(self)

    @property
    def usual_pool(self) -> str:
        """What `embed` does unless told otherwise."""
        return "mean"

    @abstractmethod
    def _reading(self, text: str) -> Reading:
        """What of a text is read, and in which windows."""

    @abstractmethod
    def _states(self, windows: Sequence[Window]) -> Tensor:
        """States of all positions of these windows, one window after the other [N, D]."""

    @abstractmethod
    def _table(self, side: Side) -> Table:
        """The embedding of a side's tokens."""

    @abstractmethod
    def _training_lines(self, recipe: Any, side: Side) -> Iterable[str]:
        """The training text of a recipe."""

    @abstractmethod
    def about_long(self, cut: int, windowed: int) -> str:
        """What to tell of so many texts that were cut or read in windows; or nothing."""

    @property
    def width(self) -> int:
        """How many numbers a vector has."""
        return self._table(self.sides[0]).embedding_dim

    def embed_cost(self, texts: Sequence[str]) -> list[int]:
        """Of each text, how many tokens `embed` computes."""
        return [sum(len(window.ids) for window in self._reading(text).windows) for text in texts]

    def embed(self, texts: str | Texts, pool: str | None = None) -> Vector:
        """One vector for each text [N, D], or the vector of one text [D]; a text without tokens has zeros.

        `pool` is `mean` or `max` over the model's states, or the `first` or `last` of them; unless given it is what suits the
        task. What comes out for a text does not depend on the others.
        """
        if isinstance(texts, str):
            return next(self.embed_stream([texts], pool=pool)).vector
        if not isinstance(texts, list | tuple):
            raise UsageError(f"embed takes a text or a list of texts, not {shown(texts)}")
        found = [each.vector for each in self.embed_stream(texts, pool=pool)]
        return np.stack(found) if found else np.empty((0, self.width), dtype=np.float32)

    def embed_stream(
        self, texts: Iterable[str], *, pool: str | None = None, look_ahead: int = LOOK_AHEAD
    ) -> Iterator[Embedded]:
        """The vectors of any number of texts in bounded memory: one for each, in order."""
        chosen = self.check_pool(pool)
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            raise UsageError(f"embed_stream takes an iterable of texts, such as a list, not {shown(texts)}")
        return self._embed_blocks(texts, chosen, look_ahead)

    def check_pool(self, pool: str | None) -> str:
        """The pool that is meant, if there is one of that name."""
        if pool is None:
            return self.usual_pool
        if pool not in self.pools:
            raise UsageError(
                f"no `pool` {quoted(pool)}.{did_you_mean(str(pool), self.pools)} A model for {self.recipe.task} "
                f"has {', '.join(self.pools)}"
            )
        return pool

    def _embed_blocks(self, texts: Iterable[str], pool: str, look_ahead: int) -> Iterator[Embedded]:
        before = 0
        for block in in_blocks(texts, look_ahead):
            for number, text in enumerate(block, start=before):
                if not isinstance(text, str):
                    raise UsageError(f"text {number} (counting from 0) is {shown(text)}, not a string")
            readings = [self._reading(text) for text in block]
            vectors = iter(self._pooled([window for each in readings for window in each.windows], pool))
            for text, (windows, cut) in zip(block, readings, strict=True):
                own = [next(vectors) for _ in windows]
                yield Embedded(text, self._joined(own, windows, pool), len(windows), cut)
            before += len(block)

    def _pooled(self, windows: Sequence[Window], pool: str) -> list[Tensor]:
        """Of each window its vector [D]; windows of similar length are read together."""
        import torch

        found: list[Tensor] = [torch.empty(0)] * len(windows)
        with torch.inference_mode():
            for batch in in_batches([len(window.ids) for window in windows], BATCH_TOKENS, 1):
                check_cancelled()
                chosen = [windows[index] for index in batch]
                parts = torch.split(self._states(chosen), [len(window.ids) for window in chosen])
                for index, window, states in zip(batch, chosen, parts, strict=True):
                    found[index] = pool_window(pool, states[len(states) - window.fresh :]).float().cpu()
        return found

    def _joined(self, vectors: Sequence[Tensor], windows: Sequence[Window], pool: str) -> Vector:
        if not windows:
            return np.zeros(self.width, dtype=np.float32)
        import torch

        whole = (
            vectors[0]
            if len(vectors) == 1
            else pool_windows(pool, torch.stack(list(vectors)), [window.fresh for window in windows])
        )
        vector: Vector = whole.numpy()
        return vector

    def neighbours(
        self, word: str, count: int = 10, *, side: str | None = None, words: Iterable[str] | None = None
    ) -> Neighbours:
        """The words whose embeddings point most nearly the way that this one's does (cosine), the nearest first.

        A word of several tokens is their mean. Unless `words`, lines of any text, are given, it is compared with the words of
        the training text that are one token, or, if that text is not found, with the vocabulary. `side` is the source or the
        target of a translator.
        """
        return self.word_vectors(side, words).neighbours(word, count)

    def word_vectors(self, side: str | None = None, words: Iterable[str] | None = None) -> WordVectors:
        """The words that `neighbours` compares, with their vectors."""
        chosen = self._side(side)
        table = self._table(chosen).weight
        if words is not None:
            return WordVectors(self.tokenizer, chosen, table, count_words(words, self.tokenizer, chosen))
        kept = self.__dict__.setdefault("_word_vectors", {})
        if chosen not in kept:
            found = training_text(self.recipe, self.origin, lambda recipe: self._training_lines(recipe, chosen))
            counted = with_own_token(count_words(found, self.tokenizer, chosen), self.tokenizer, chosen)
            listed = counted or vocabulary_words(self.tokenizer, chosen)
            kept[chosen] = WordVectors(self.tokenizer, chosen, table, listed)
        own: WordVectors = kept[chosen]
        return own

    def _side(self, side: str | None) -> Side:
        if side is None:
            return self.sides[-1]
        found = next((each for each in self.sides if each == side), None)
        if found is None:
            known = " or ".join(self.sides)
            rest = f"it is {known}" if len(self.sides) > 1 else f"a model for {self.recipe.task} has one; leave it out"
            raise UsageError(f"no `side` {side!r}: {rest}")
        return found
