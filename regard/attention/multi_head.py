"""Several small attentions side by side, each with its own view of query, key and value (the paper's section 3.2.2).

B batch · H heads · Q query positions · K key positions · D width
E width of one head's query or key (the paper's d_k): D / H unless stated · F = D / H, that of its value (d_v)
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.attention.cache import KeyValueCache
from regard.attention.changes import Changeable
from regard.attention.dropout import Dropout
from regard.attention.layout import PADDED, Packed, Padded
from regard.attention.masks import as_numbers
from regard.attention.record import Observed
from regard.attention.scaled_dot import attend, attend_batched, attend_fused
from regard.errors import UsageError


class KeyValue(NamedTuple):
    """What can be looked at, split into heads."""

    key: Tensor  #   [B, H, K, E]
    value: Tensor  # [B, H, K, F]


class MultiHead(Observed, Changeable):
    """What self- and cross-attention share: split into heads, attend, merge."""

    def __init__(self, width: int, heads: int, dropout: float = 0.0, key_width: int = 0) -> None:
        super().__init__()
        if width % heads:
            raise UsageError(f"{heads} heads do not divide a width of {width}; each head needs an equal share")
        self.heads = heads
        self.total_key_width = heads * key_width or width  # H × E, of all heads' queries together, and of their keys
        self.total_value_width = width  #                    H × F, of all heads' values together
        self.drop = Dropout(dropout)
        self.output = linear(width, width)

    def split(self, x: Tensor, projections: int, layout: Padded | Packed) -> tuple[Tensor, ...]:
        """What one product gave, (projections − 1) × H × E + H × F numbers a token → [B, H, Q, E] each, values [.., F]."""
        if self.total_key_width == self.total_value_width:
            return layout.split(x, projections, self.heads)
        widths = [(projections - 1) * self.total_key_width, self.total_value_width]
        before, value = (each.contiguous() for each in torch.split(x, widths, -1))
        return *layout.split(before, projections - 1, self.heads), *layout.split(value, 1, self.heads)

    def mix(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, layout: Padded | Packed) -> Tensor:
        """Attend in every head, merge the heads: → [B, Q, D], or as the layout has its tokens."""
        mixed = self.attend(query, key, value, mask)  #  [B, H, Q, F]
        if self.change.silent:
            mixed = mixed.index_fill(1, torch.tensor(self.change.silent, device=mixed.device), 0.0)
        merged = layout.merge(mixed)  #                      [B, Q, D]
        output: Tensor = self.output(merged)
        self.note(head_outputs=mixed, merged=merged, output=output)
        return output

    def bias(self, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor | None:
        """A hook for attentions of your own: what is added to the scores, such as a distance; broadcasts to [B, H, Q, K]."""
        return None

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """The one place that chooses between the plain definition, batched matrix products and the fused kernel.

        On a CPU matrix products are faster than the fused kernel at sentence lengths.
        """
        _, temperature, hard = self.change
        bias = self.bias(query, key, mask)
        if bias is not None:
            mask = bias / temperature if mask is None else as_numbers(mask, query.dtype) + bias / temperature
        learned = bias is not None and bias.requires_grad  # only the definition passes a gradient on to it
        if not (self.recording or hard or temperature != 1.0 or learned):
            if query.device.type != "cpu":
                return attend_fused(query, key, value, mask, dropout=self.drop.probability if self.training else 0.0)
            keep = self.drop.mask(query.shape[:-1] + key.shape[-2:-1], query)
            return attend_batched(query, key, value, mask, keep=keep)
        mixed, weights = attend(query, key, value, mask, temperature=temperature, hard=hard, drop=self.drop)
        if self.recording:
            scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5  # before temperature and mask
            scores = scores if bias is None else scores + bias
            self.note(query=query, key=key, value=value, scores=scores, weights=weights)
        return mixed


class SelfAttention(MultiHead):
    """A sequence looks at itself; query, key and value come from one matrix product."""

    def __init__(self, width: int, heads: int, dropout: float = 0.0, key_width: int = 0) -> None:
        super().__init__(width, heads, dropout, key_width)
        self.query_key_value = linear(width, self.total_key_width, self.total_key_width, self.total_value_width)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
        layout: Padded | Packed = PADDED,
    ) -> Tensor:
        """x [B, Q, D] → [B, Q, D]. With a cache, x is what follows the positions in it."""
        query, key, value = self.split(self.query_key_value(x), 3, layout)  # [B, H, Q, E], the values [B, H, Q, F]
        if cache is not None:
            key, value = cache.append(key, value)  #                          [B, H, K, E], [B, H, K, F]
        return self.mix(query, key, value, mask, layout)


class CrossAttention(MultiHead):
    """A sequence looks at a memory, which is read once and looked at often."""

    def __init__(self, width: int, heads: int, dropout: float = 0.0, key_width: int = 0) -> None:
        super().__init__(width, heads, dropout, key_width)
        self.query = linear(width, self.total_key_width)
        self.key_value = linear(width, self.total_key_width, self.total_value_width)

    def project_memory(self, memory: Tensor, layout: Padded | Packed = PADDED) -> KeyValue:
        """memory [B, K, D] → its keys [B, H, K, E] and values [B, H, K, F]."""
        return KeyValue(*self.split(self.key_value(memory), 2, layout))

    def forward(
        self,
        x: Tensor,
        memory: KeyValue | KeyValueCache,
        mask: Tensor | None = None,
        layout: Padded | Packed = PADDED,
    ) -> Tensor:
        """x [B, Q, D] → [B, Q, D]."""
        (query,) = layout.split(self.query(x), 1, self.heads)  # [B, H, Q, E]
        return self.mix(query, memory.key, memory.value, mask, layout)


def linear(inputs: int, *outputs: int) -> nn.Linear:
    """A Glorot-initialised layer; several fused side by side are initialised as if they stood alone."""
    layer = nn.Linear(inputs, sum(outputs))
    with torch.no_grad():
        for weight in torch.split(layer.weight, list(outputs)):
            nn.init.xavier_uniform_(weight)
        layer.bias.zero_()
    return layer
