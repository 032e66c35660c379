"""What all models share that write token by token, and the state that those with attention decode from.

S sentences · W hypotheses of each · N = S·W rows: hypotheses of the first sentence, then of the second …
· T positions, of all hypotheses of a sentence · H heads · E width of one head · D width · V vocabulary
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from regard.attention.cache import KeyValueCache
from regard.attention.record import Observed

SameState = TypeVar("SameState", bound="DecoderState")


class AutoregressiveModel(Observed, ABC):
    """What the one search drives; `project` turns hidden states into logits over the vocabulary."""

    max_positions: int
    heads = 1
    """Of each attention."""
    output: Callable[[Tensor], Tensor]

    @abstractmethod
    def start(self, source: Tensor) -> Any:
        """What was given [S, K] → the state from which the first token is written, one row per sentence."""

    @abstractmethod
    def advance(self, last: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The last id of each row [N] → hidden states [N, D], and the state after."""

    @abstractmethod
    def attention_names(self) -> dict[str, list[str]]:
        """By kind of attention, the modules that attend, first layer first: their names in a record."""

    def step(self, last: Tensor, state: Any) -> tuple[Tensor, Any]:
        """The last id of each row [N] → logits for the next [N, V], and the state after."""
        states, state = self.advance(last, state)
        return self.project(states), state

    def project(self, states: Tensor) -> Tensor:
        logits = self.output(states)  # [.., D] → [.., V]
        self.note(logits=logits)
        return logits

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


@dataclass(frozen=True)
class DecoderState:
    """Hypotheses of a sentence share its caches; a mask shows each its own past."""

    caches: list[KeyValueCache]  #  per layer [S, H, T, E]
    past_mask: Tensor | None = (
        None  #  [S, 1, W, T], added to scores: which positions are a hypothesis's own past; None: all
    )
    hypotheses: int = 1  #          W
    length: int = 0  #              positions written
    layers: Sequence[Any] = ()  #   what a step walks through, if nobody watches: see inference.py

    def extend(self: SameState) -> SameState:
        """Room for one more position, at which each hypothesis sees only itself."""
        past_mask = self.past_mask
        if past_mask is not None:
            lowest = torch.finfo(past_mask.dtype).min  # hides, as in `additive_mask`
            itself = past_mask.new_full((self.hypotheses, self.hypotheses), lowest).fill_diagonal_(0)
            past_mask = torch.cat([past_mask, itself.expand(*past_mask.shape[:2], -1, -1)], 3)
        return replace(self, past_mask=past_mask, length=self.length + 1)

    def select(self: SameState, rows: Tensor) -> SameState:
        """rows [S', W']: for each sentence that goes on, the rows that continue it."""
        sentences = rows[:, 0] // self.hypotheses  # [S']
        state = self if self.are_all(sentences) else self.select_sentences(sentences)
        past_mask = self.past_mask
        if past_mask is not None:
            past_mask = past_mask.flatten(0, 2)[rows].unsqueeze(1)  # [S', 1, W', T]
        elif rows.size(1) > 1 and self.length:
            past_mask = self.caches[0].value.new_zeros(len(rows), 1, rows.size(1), self.caches[0].length)
        return replace(state, past_mask=past_mask, hypotheses=rows.size(1))

    def are_all(self, sentences: Tensor) -> bool:
        """Whether these are all the sentences there are, in their order."""
        count = self.caches[0].value.size(0) if self.length else -1
        return torch.equal(sentences, torch.arange(count, device=sentences.device)) if count >= 0 else False

    def select_sentences(self: SameState, sentences: Tensor) -> SameState:
        """What is kept once per sentence, of these."""
        return replace(self, caches=[cache.select(sentences) for cache in self.caches])
