"""Several small attentions side by side, each with its own view of query, key and value (the paper's section 3.2.2).

B batch · H heads · Q query positions · K key positions · D width (the paper's d_model) · M that of a memory
E width of one head's query or key (d_k) · F that of its value (d_v): D / H unless stated
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from regard.attention.cache import KeyValueCache
from regard.attention.changes import AttentionModule
from regard.attention.dropout import Dropout
from regard.attention.layout import PADDED, Packed, Padded
from regard.attention.masks import as_numbers, dtype_name, require_mask
from regard.attention.record import Observed
from regard.attention.scaled_dot import attend_batched, attend_fused, attend_unchecked, require_scale
from regard.errors import UsageError, shown, whole
from regard.products import Linear, product

LONG = 32
"""Positions from which on, on a CPU and without a mask, torch's fused kernel is the faster one."""


class KeyValue(NamedTuple):
    """What can be looked at, split into heads."""

    key: Tensor  #   [B, H, K, E]
    value: Tensor  # [B, H, K, F]


class MultiHead(Observed, AttentionModule):
    """What self- and cross-attention share: split into heads, attend, merge."""

    def __init__(
        self,
        width: int,
        heads: int,
        dropout: float = 0.0,
        key_width: int = 0,
        *,
        value_width: int = 0,
        bias: bool = True,
        scale: bool = True,
    ) -> None:
        """`key_width` and `value_width` are of one head: E and F; 0 stands for width / heads, so that all heads together are
        as wide as the model, and `value_width=width` makes heads of full width. `bias` is of the four projections; `dropout`
        of the weights; without `scale` scores are not divided by √E.
        """
        super().__init__()
        width, heads = whole(width, "the width", 1), whole(heads, "heads", 1)
        key_width, value_width = whole(key_width, "key_width"), whole(value_width, "value_width")
        if width % heads and not (key_width and value_width):
            raise UsageError(
                f"{heads} heads do not divide a width of {width}; each head needs an equal share, or key_width and value_width"
            )
        if not isinstance(dropout, float | int) or not 0 <= dropout < 1:
            raise UsageError(f"dropout is a share of the weights, from 0 to below 1; not {shown(dropout)}")
        require_scale(scale)
        self.width, self.heads, self.scale = width, heads, scale
        self.total_key_width = (
            heads * key_width or width
        )  #     H × E, of all heads' queries together, and of their keys
        self.total_value_width = heads * value_width or width  # H × F, of all heads' values together
        self.drop = Dropout(dropout)
        self.output = linear(self.total_value_width, width, bias=bias)

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
        if self.change.off:
            mixed = mixed.index_fill(1, torch.tensor(self.change.off, device=mixed.device), 0.0)
        merged = layout.merge(mixed)  #                      [B, Q, H × F]
        output: Tensor = self.output(merged)  #              [B, Q, D]
        if self.recording:
            rearranged = merged.view(*merged.shape[:-1], self.heads, -1)  # [B, Q, H, F]
            self.note(head_outputs=mixed, rearranged=rearranged, merged=merged, output=output)
        return output

    def bias(self, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor | None:
        """A hook for attentions of your own: what is added to the scores, such as a distance; broadcasts to [B, H, Q, K]."""
        return None

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """The one place that chooses between the plain definition, batched matrix products and the fused kernel.

        On a CPU matrix products are faster than the fused kernel at sentence lengths; not where whole pictures are learned from, of which
        nothing is hidden.
        """
        _, temperature, hard = self.change
        bias = self.bias(query, key, mask)
        if bias is not None:
            mask = bias / temperature if mask is None else as_numbers(mask, query.dtype) + bias / temperature
        learned = mask is not None and mask.requires_grad  # only the definition passes a gradient on to it
        if not (self.recording or hard or temperature != 1.0 or learned):
            dropout = self.drop.probability if self.training else 0.0
            learned_from = mask is None and not dropout and self.training and query.size(-2) >= LONG
            learned_from = learned_from and query.dtype != torch.bfloat16  # whose gradient it is slow to find
            if query.device.type != "cpu" or learned_from:
                return attend_fused(query, key, value, mask, scale=self.scale, dropout=dropout)
            keep = self.drop.mask(query.shape[:-1] + key.shape[-2:-1], query)
            return attend_batched(query, key, value, mask, scale=self.scale, keep=keep)
        mixed, weights = attend_unchecked(
            query, key, value, mask, temperature=temperature, hard=hard, scale=self.scale, drop=self.drop
        )
        if self.recording:
            self._note_weights(query, key, value, bias, weights)
        return mixed

    def _note_weights(self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, weights: Tensor) -> None:
        scores = (
            query @ key.transpose(-2, -1) / (query.size(-1) ** 0.5 if self.scale else 1.0)
        )  # before temperature and mask
        scores = scores if bias is None else scores + bias
        projected = {
            f"projected_{name}": PADDED.merge(each)  # [B, H, K, E] → [B, K, H × E], as it was before it was split
            for name, each in (("query", query), ("key", key), ("value", value))
        }
        self.note(**projected, query=query, key=key, value=value, scores=scores, weights=weights)

    def _readable(self, mask: Tensor, query: Tensor, key: Tensor) -> Tensor:
        """A mask from outside, if it fits; one that shows and hides by 0 and −inf as booleans, which know empty rows."""
        scores = (*query.shape[:-1], key.size(-2))
        require_mask(mask, scores)
        if mask.dtype == torch.bool:
            return mask
        mask = mask.to(query.dtype)
        hidden = mask == float("-inf")
        if not hidden.any():
            return mask
        if ((mask == 0) | hidden).all():
            return ~hidden
        if hidden.all(-1).any():
            raise UsageError(
                "a row of the mask hides every key by −inf; for a query that may look at nothing give booleans"
            )
        return mask


class SelfAttention(MultiHead):
    """A sequence looks at itself; query, key and value come from one matrix product."""

    def __init__(
        self,
        width: int,
        heads: int,
        dropout: float = 0.0,
        key_width: int = 0,
        *,
        value_width: int = 0,
        bias: bool = True,
        scale: bool = True,
    ) -> None:
        super().__init__(width, heads, dropout, key_width, value_width=value_width, bias=bias, scale=scale)
        widths = self.total_key_width, self.total_key_width, self.total_value_width
        self.query_key_value = linear(width, *widths, bias=bias)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        cache: KeyValueCache | None = None,
        layout: Padded | Packed = PADDED,
        first: int | None = None,
    ) -> Tensor:
        """x [B, Q, D] → [B, Q, D]. With a cache, x is what follows the positions in it. Only the `first` positions may be asked for,
        where there is no mask: they look at all, and the others look nowhere."""
        require_width(x, self.width, "a sequence", layout)
        if first is not None:
            return self._mix_first(x, first)
        query, key, value = self.split(self.query_key_value(x), 3, layout)  # [B, H, Q, E], the values [B, H, Q, F]
        if isinstance(cache, Tensor):
            raise UsageError(
                "a sequence looks at itself, so one is enough; to look at another, CrossAttention(x, memory)"
            )
        if cache is not None:
            key, value = cache.append(key, value)  #                          [B, H, K, E], [B, H, K, F]
        elif mask is not None:
            mask = self._readable(mask, query, key)
        return self.mix(query, key, value, mask, layout)

    def _mix_first(self, x: Tensor, first: int) -> Tensor:
        """[B, K, D] → [B, first, D]."""
        widths = [self.total_key_width, self.total_key_width + self.total_value_width]
        (of_query, of_others), projection = torch.split(self.query_key_value.weight, widths), self.query_key_value.bias
        biases = (None, None) if projection is None else torch.split(projection, widths)
        query = product(x[:, :first], of_query, biases[0])
        others = product(x, of_others, biases[1])
        key, value = self.split(others, 2, PADDED)
        return self.mix(self.split_query(query), key, value, None, PADDED)

    def split_query(self, query: Tensor) -> Tensor:
        """[B, Q, H × E] → [B, H, Q, E]."""
        return query.view(*query.shape[:-1], self.heads, -1).transpose(1, 2)


class CrossAttention(MultiHead):
    """A sequence looks at a memory, which is read once and looked at often."""

    def __init__(
        self,
        width: int,
        heads: int,
        dropout: float = 0.0,
        key_width: int = 0,
        *,
        value_width: int = 0,
        memory_width: int = 0,
        bias: bool = True,
        scale: bool = True,
    ) -> None:
        """`memory_width` is M, that of the sequence which keys and values come from; 0: the same as the width."""
        super().__init__(width, heads, dropout, key_width, value_width=value_width, bias=bias, scale=scale)
        self.memory_width = whole(memory_width, "memory_width") or width
        self.query = linear(width, self.total_key_width, bias=bias)
        self.key_value = linear(self.memory_width, self.total_key_width, self.total_value_width, bias=bias)

    def project_memory(self, memory: Tensor, layout: Padded | Packed = PADDED) -> KeyValue:
        """memory [B, K, M] → its keys [B, H, K, E] and values [B, H, K, F]."""
        require_width(memory, self.memory_width, "a memory", layout)
        return KeyValue(*self.split(self.key_value(memory), 2, layout))

    def forward(
        self,
        x: Tensor,
        memory: Tensor | KeyValue | KeyValueCache,
        mask: Tensor | None = None,
        layout: Padded | Packed = PADDED,
    ) -> Tensor:
        """x [B, Q, D] → [B, Q, D]. The memory is [B, K, M], or what `project_memory` made of it, once for many looks."""
        require_width(x, self.width, "a sequence", layout)
        if isinstance(memory, Tensor):
            looked_at: KeyValue | KeyValueCache = self.project_memory(memory)
            require_batch(x, memory)
        else:
            looked_at = memory
        (query,) = layout.split(self.query(x), 1, self.heads)  # [B, H, Q, E]
        if mask is not None and not isinstance(looked_at, KeyValueCache):
            mask = self._readable(mask, query, looked_at.key)
        return self.mix(query, looked_at.key, looked_at.value, mask, layout)


def linear(inputs: int, *outputs: int, bias: bool = True) -> Linear:
    """A Glorot-initialised layer; several fused side by side are initialised as if they stood alone."""
    layer = Linear(inputs, sum(outputs), bias=bias)
    with torch.no_grad():
        for weight in torch.split(layer.weight, list(outputs)):
            nn.init.xavier_uniform_(weight)
        if bias:
            layer.bias.zero_()
    return layer


def require_batch(x: Tensor, memory: Tensor) -> None:
    """Each sequence has its memory, or all look at the same."""
    if x.size(0) != memory.size(0) and 1 not in (x.size(0), memory.size(0)):
        raise UsageError(
            f"{x.size(0)} sequences cannot look at {memory.size(0)} memories: the first sizes of {list(x.shape)} and "
            f"{list(memory.shape)} must be equal"
        )


def require_width(x: Tensor, width: int, what: str, layout: Padded | Packed = PADDED) -> None:
    """What a layer is given has the axes and the width that it was made for."""
    if not isinstance(x, Tensor) or not x.is_floating_point():
        given = dtype_name(x) if isinstance(x, Tensor) else type(x).__name__
        raise UsageError(f"{what} is a tensor of real numbers, [batch, positions, width]; not of {given}")
    if layout is PADDED and x.ndim != 3:
        raise UsageError(f"{what} is [batch, positions, width], not {list(x.shape)}; one alone is given as x[None]")
    if x.size(-1) != width:
        raise UsageError(f"{what} of shape {list(x.shape)} is {x.size(-1)} wide; this attention was made for {width}")
