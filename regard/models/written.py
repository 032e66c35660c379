"""What an attending writer remembers of its own text: keys and values of all that was tried, and whose they are.

S sentences · W hypotheses of each · T places, of all hypotheses of a sentence · H heads · E width of one head
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from regard.attention.cache import KeyValueCache
from regard.attention.masks import added

W = TypeVar("W", bound="Written")


@dataclass(frozen=True)
class Written:
    """Hypotheses of a sentence share its caches; a mask shows each its own past."""

    caches: list[KeyValueCache]  #  per layer [S, H, T, E]
    own: Tensor | None = None  #    [S, 1, W, T], added to scores: which places are a hypothesis's own past; None: all
    hypotheses: int = 1  #          W
    length: int = 0  #              positions written

    def longer(self: W) -> W:
        """Room for one more position, at which each hypothesis sees only itself."""
        own = self.own
        if own is not None:
            itself = added(torch.eye(self.hypotheses, dtype=torch.bool, device=own.device), own.dtype)
            own = torch.cat([own, itself.expand(*own.shape[:2], -1, -1)], 3)
        return replace(self, own=own, length=self.length + 1)

    def select(self: W, rows: Tensor) -> W:
        """rows [S', W']: for each sentence that goes on, the rows that continue it."""
        sentences = rows[:, 0] // self.hypotheses  # [S']
        state = self if self.are_all(sentences) else self.of(sentences)
        own = self.own
        if own is not None:
            own = own.flatten(0, 2)[rows].unsqueeze(1)  # [S', 1, W', T]
        elif rows.size(1) > 1 and self.length:
            own = self.caches[0].value.new_zeros(len(rows), 1, rows.size(1), self.caches[0].length)
        return replace(state, own=own, hypotheses=rows.size(1))

    def are_all(self, sentences: Tensor) -> bool:
        """Whether these are all the sentences there are, in their order."""
        count = self.caches[0].value.size(0) if self.length else -1
        return torch.equal(sentences, torch.arange(count, device=sentences.device)) if count >= 0 else False

    def of(self: W, sentences: Tensor) -> W:
        """What is kept once per sentence, of these."""
        return replace(self, caches=[cache.select(sentences) for cache in self.caches])
