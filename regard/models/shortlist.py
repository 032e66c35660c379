"""A model that looks for its next token among a few hundred instead of the whole vocabulary.

The tokens that any sentence of the batch may write share one small output matrix; a sentence is barred from those that
only others may write, so that what comes out for it does not depend on them. To the search, the small vocabulary is
the vocabulary: `ids` tells what its numbers mean.

S sentences · W hypotheses of each · N = S·W rows · n tokens in the shortlist · D width
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

SPECIAL = 4  # PAD, START, END and UNKNOWN are the first ids, and stay so in every shortlist


class Lexicon(NamedTuple):
    """What a model file says of its training text (data/lexicon.py)."""

    table: Tensor  #    [source vocabulary, translations]: the likeliest of each token, filled up with PAD
    frequent: Tensor  # [tokens that may stand in any sentence]

    def tokens(self, source: Sequence[int], prefix: Sequence[int] = ()) -> Tensor:
        """What may stand in the translation of a sentence."""
        own = self.table[list(source)].flatten()
        return torch.cat([self.frequent, own, torch.tensor(list(prefix), dtype=own.dtype)])


class Shortlists(NamedTuple):
    """Makes a shortlist for each batch."""

    lexicon: Lexicon
    weight: Tensor  # [V, D], the model's output matrix in 32 bits

    def of(self, model: Any, sources: Sequence[Sequence[int]], prefixes: Sequence[Sequence[int]]) -> Shortlisted:
        lists = [self.lexicon.tokens(source, prefix) for source, prefix in zip(sources, prefixes, strict=True)]
        return Shortlisted(model, lists, self.weight)


class Shortlisted:
    """Steppable, as the model it wraps."""

    def __init__(self, model: Any, lists: Sequence[Tensor], weight: Tensor) -> None:
        """`lists` holds the ids that each sentence may write; `weight` [V, D] is the output matrix."""
        special = torch.arange(SPECIAL)
        self.model = model
        self.ids: Tensor = torch.cat([special, *lists]).unique()  # type: ignore[no-untyped-call]  # [n], sorted
        self.weight = weight[self.ids].t().contiguous()  # [D, n]
        self.mask = torch.full((len(lists), 1, len(self.ids)), float("-inf"))  # [S, 1, n]
        self.mask[:, :, :SPECIAL] = 0.0
        for row, each in zip(self.mask, lists, strict=True):
            row[:, torch.searchsorted(self.ids, each)] = 0.0

    def to_shortlist(self, ids: Sequence[int]) -> list[int]:
        """What ids of the whole vocabulary are called in the shortlist, which must hold them."""
        return torch.searchsorted(self.ids, torch.tensor(ids, dtype=self.ids.dtype)).tolist()

    def to_vocabulary(self, numbers: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.ids[list(numbers)].tolist())

    def start(self, source: Tensor) -> ShortlistedState:
        return ShortlistedState(self.model.start(source), self.mask)

    def step(self, last: Tensor, state: ShortlistedState) -> tuple[Tensor, ShortlistedState]:
        states, inner = self.model.advance(self.ids[last], state.inner)  # [N, D]
        logits = (states @ self.weight).view(len(state.mask), -1, len(self.ids))  # [S, W, n]
        return logits.add_(state.mask).flatten(0, 1), ShortlistedState(inner, state.mask)


@dataclass
class ShortlistedState:
    inner: Any
    mask: Tensor  # [S, 1, n], added to logits

    def select(self, rows: Tensor) -> ShortlistedState:
        mask = self.mask
        if len(rows) < len(mask):
            mask = mask[rows[:, 0] // self.inner.hypotheses]
        return ShortlistedState(self.inner.select(rows), mask)
