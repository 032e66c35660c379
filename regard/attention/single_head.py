"""Attention with one head, as recurrent and convolutional decoders use it: additive (Bahdanau et al. 2015), or a dot product.

That with a matrix between query and key is what Luong et al. (2015) call *general*, without one their *dot*; both are here
divided by √D, as the Transformer does it and they do not.

S sentences · Q queries · K source positions · D width
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.attention.changes import AttentionModule
from regard.attention.masks import require_mask
from regard.attention.multi_head import require_batch, require_width
from regard.attention.record import Observed
from regard.attention.scaled_dot import to_weights
from regard.errors import whole
from regard.products import Linear


class Memory(NamedTuple):
    """What can be looked at, once per sentence."""

    key: Tensor  #       [S, K, D], what is compared
    value: Tensor  #     [S, K, D], what is taken
    mask: Tensor  #  [S, 1, K]

    def select(self, sentences: Tensor) -> Memory:
        """Of these sentences only, in this order."""
        return Memory(*(each[sentences] for each in self))


class AttentionOutput(NamedTuple):
    """How one attention came about."""

    query: Tensor  #    [S, Q, D]
    scores: Tensor  #   [S, Q, K]
    weights: Tensor  #  [S, Q, K], rows sum to 1
    context: Tensor  #  [S, Q, D], the mix of values


class SingleHead(Observed, AttentionModule, ABC):
    """Scores of whatever kind → weights → a mix of the values."""

    heads = 1
    width: int
    """Of queries, keys and values alike."""

    @abstractmethod
    def project_keys(self, memory: Tensor) -> Tensor:
        """memory [S, K, D] → keys [S, K, D], once per source."""

    @abstractmethod
    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        """query [S, Q, D] and key [S, K, D] → how well each fits each [S, Q, K]."""

    def read(self, memory: Tensor, mask: Tensor | None = None) -> Memory:
        """memory [S, K, D] → what can be looked at, once for many looks; `mask` broadcasts to [S, 1, K] or [S, 1, 1, K]."""
        require_width(memory, self.width, "a memory")
        return self._masked(memory, mask, (memory.size(0), 1, memory.size(1)))

    def _read_for(self, query: Tensor, memory: Tensor, mask: Tensor | None) -> Memory:
        """For one look alone: its mask may differ from query to query, [S, Q, K]."""
        require_width(memory, self.width, "a memory")
        return self._masked(memory, mask, (max(query.size(0), memory.size(0)), query.size(1), memory.size(1)))

    def _masked(self, memory: Tensor, mask: Tensor | None, scores: tuple[int, ...]) -> Memory:
        mask = memory.new_ones(memory.size(0), 1, memory.size(1), dtype=torch.bool) if mask is None else mask
        if isinstance(mask, Tensor) and mask.ndim == 4 and mask.size(1) == 1:
            mask = mask.squeeze(1)  # what `padding_mask` makes for many heads, [S, 1, 1, K] → [S, 1, K]
        require_mask(mask, scores)
        return Memory(self.project_keys(memory), memory, mask)

    def forward(self, query: Tensor, memory: Memory | Tensor, mask: Tensor | None = None) -> AttentionOutput:
        """query [S, Q, D] looks at a memory [S, K, D], or at what `read` made of it."""
        if isinstance(memory, Tensor):
            require_width(query, self.width, "a query")
            require_batch(query, memory)
            memory = self._read_for(query, memory, mask)
            found: AttentionOutput = self(query, memory)
            self.note_outputs([found], memory)
            return found
        off, temperature, hard = self.change
        scores = self.scores(query, memory.key)  #                                   [S, Q, K]
        weights = to_weights(scores / temperature, memory.mask, hard=hard)  #    [S, Q, K]
        context = weights @ memory.value  #                                          [S, Q, D]
        return AttentionOutput(query, scores, weights, torch.zeros_like(context) if off else context)

    def note_outputs(self, outputs: Sequence[AttentionOutput], memory: Memory) -> None:
        """Note one output, or those of one position after the other as one; a record knows heads, so there is one."""
        if self.recording:
            query, scores, weights, context = (torch.cat(each, 1).unsqueeze(1) for each in zip(*outputs, strict=True))
            key, value = memory.key.unsqueeze(1), memory.value.unsqueeze(1)  # [S, 1, K, D]
            self.note(query=query, key=key, value=value, scores=scores, weights=weights, head_outputs=context)


class AdditiveAttention(SingleHead):
    """score(query, key) = vᵀ tanh(W query + U key): a small network."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = whole(width, "the width", 1)
        self.query = Linear(width, width, bias=False)
        self.key = Linear(width, width)
        self.score = Linear(width, 1, bias=False)

    def project_keys(self, memory: Tensor) -> Tensor:
        return self.key(memory)  # type: ignore[no-any-return]

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        joined = torch.tanh(self.query(query).unsqueeze(2) + key.unsqueeze(1))  # [S, Q, K, D]
        return self.score(joined).squeeze(-1)  # type: ignore[no-any-return]


class DotAttention(SingleHead):
    """score(query, key) = queryᵀ W key / √D; without a W of its own where the model brings queries that fit."""

    def __init__(self, width: int, projected: bool = True) -> None:
        super().__init__()
        self.width = width
        self.key = Linear(width, width, bias=False) if projected else nn.Identity()

    def project_keys(self, memory: Tensor) -> Tensor:
        return self.key(memory)  # type: ignore[no-any-return]

    def scores(self, query: Tensor, key: Tensor) -> Tensor:
        scores: Tensor = query @ key.transpose(1, 2) / query.size(-1) ** 0.5
        return scores


SCORES: dict[str, type[SingleHead]] = {"additive": AdditiveAttention, "dot": DotAttention}
