"""The layers that the attention family shares: embedding, feed-forward, encoder layer, decoder layer.

B batch · S source positions · T target positions · D width
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from regard.attention.cache import KeyValueCache
from regard.attention.dropout import Dropout
from regard.attention.layout import PADDED, Packed, Padded
from regard.attention.multi_head import CrossAttention, KeyValue, SelfAttention, linear
from regard.attention.positions import Positions
from regard.attention.record import Observed
from regard.config import AttentionModel


class Reader(NamedTuple):
    """What a model calls the part of it that reads a text: layers of one kind, so that models of other tasks can start
    from them."""

    embedding: str = "embedding"
    layers: str = "layers"
    norm: str = "norm"


class Table(Protocol):
    """Ids → vectors [.., D]: torch's `nn.Embedding`, or one that makes its rows from less."""

    num_embeddings: int
    embedding_dim: int

    @property
    def weight(self) -> Tensor:
        """All its rows [V, D]."""

    def __call__(self, ids: Tensor, /) -> Tensor: ...


class Embedding(Observed):
    """Ids → vectors: the token's own vector times √D, plus its position if any (the paper's sections 3.4 and 3.5)."""

    def __init__(self, table: Table, dropout: float, positions: Positions | None = None) -> None:
        super().__init__()
        self.table = table
        self.scale = table.embedding_dim**0.5
        self.positions = positions
        self.drop = Dropout(dropout)

    def position_table(self, length: int) -> Tensor | None:
        """What is added at the first positions [T, D]."""
        return None if self.positions is None else self.positions.rows(length)[:length]

    def forward(self, ids: Tensor, start: int = 0, layout: Padded | Packed = PADDED) -> Tensor:
        """ids [B, T], the first of them at position `start` → [B, T, D], or as the layout has its tokens."""
        vectors = self.table(layout.pack(ids)) * self.scale  #          [B, T, D]
        if self.positions is None:
            alone: Tensor = self.drop(vectors)
            self.note(vectors=vectors, output=alone)
            return alone
        end = start + ids.size(1)
        if layout is PADDED:
            positions = self.positions.rows(end)[start:end]  #          [T, D]
        else:
            positions = self.positions(layout.positions(ids) + start, end)  # [N, D]
        embedded: Tensor = self.drop(vectors + positions)  #            [B, T, D]
        self.note(vectors=vectors, positions=positions, output=embedded)
        return embedded


class Residual(Observed):
    """Add & norm around a sub-layer: after adding as in the paper, or before the sub-layer (pre-norm).

    Either can be taken out: without adding, what the sub-layer was given is gone; without norm, sizes may grow.
    """

    def __init__(self, config: AttentionModel, skipped: float = 0.0) -> None:
        """`skipped` is the share of a batch's rows that go past the sub-layer in training (stochastic depth)."""
        super().__init__()
        self.norm = nn.Identity() if config.norm == "none" else layer_norm(config)
        self.drop = Dropout(config.dropout)
        self.pre_norm, self.adds, self.skipped = config.norm == "pre", config.residual, skipped

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor], first: int | None = None) -> Tensor:
        """`first` says how many positions go on, if not all: the sub-layer is given all, and answers for these."""
        going = x if first is None else x[:, :first]
        if self.skipped and self.training:
            return self._some(x, going, sublayer)
        if self.pre_norm:
            normed = self.norm(x)
            added = output = self.add(going, sublayer(normed))
        else:
            added = self.add(going, sublayer(x))
            normed = output = self.norm(added)
        self.note(added=added, normed=normed, output=output)
        return output

    def _some(self, x: Tensor, going: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Rows [B, ..] that skip the sub-layer are not computed; what the others find counts more, so that the mean stays."""
        taken = (torch.rand(len(x)) >= self.skipped).nonzero().squeeze(1).to(x.device)  # [B′]
        scale = 1 / (1 - self.skipped) if len(taken) else 0.0
        taken = taken if len(taken) else taken.new_zeros(1)  # one, for nothing: every weight gets a gradient
        rows = x.index_select(0, taken)
        update = self.drop(sublayer(self.norm(rows) if self.pre_norm else rows)) * scale
        added = going.index_add(0, taken, update.to(going.dtype))  # in bfloat16 only the products are
        return added if self.pre_norm else self.norm(added)

    def add(self, x: Tensor, update: Tensor) -> Tensor:
        return self.drop.add(x, update) if self.adds else self.drop(update)


def layer_norm(config: AttentionModel) -> nn.LayerNorm:
    return nn.LayerNorm(config.width, eps=config.norm_epsilon)


def last_norm(config: AttentionModel) -> nn.Module:
    """What a stack ends with: a pre-norm one leaves its last output unnormalised."""
    return layer_norm(config) if config.norm == "pre" else nn.Identity()


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu_,  # the others need what they were given to find their gradient
    "gelu": nn.functional.gelu,
    "swish": nn.functional.silu,
}


class FeedForward(Observed):
    """Two linear layers with a ReLU or its kind between, the same at every position (section 3.3)."""

    def __init__(self, config: AttentionModel) -> None:
        super().__init__()
        self.widen = linear(config.width, config.feed_forward, bias=config.bias)
        self.narrow = linear(config.feed_forward, config.width, bias=config.bias)
        self.activation = config.activation
        self.drop = Dropout(config.activation_dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = ACTIVATIONS[self.activation](self.widen(x))
        output: Tensor = self.narrow(self.drop(hidden))
        self.note(hidden=hidden, output=output)
        return output


class AttentionLayer(nn.Module):
    """What encoder and decoder layers have in common: a feed-forward at their end, if any."""

    feed_forward: FeedForward | None
    after_feed_forward: Residual | None

    def think(self, x: Tensor) -> Tensor:
        """The last sub-layer."""
        if self.feed_forward is None or self.after_feed_forward is None:
            return x
        return self.after_feed_forward(x, self.feed_forward)  # type: ignore[no-any-return]


def attention_options(config: AttentionModel) -> dict[str, Any]:
    return dict(
        dropout=config.attention_dropout,
        key_width=config.key_width,
        value_width=config.value_width,
        bias=config.bias,
        scale=config.scale,
    )


class EncoderLayer(AttentionLayer):
    """Look at the text, all of it or what the mask shows, then think about it."""

    def __init__(self, config: AttentionModel, skipped: float = 0.0) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.width, config.heads, **attention_options(config))
        self.feed_forward = FeedForward(config) if config.feed_forward else None
        self.after_self = Residual(config, skipped)
        self.after_feed_forward = Residual(config, skipped) if config.feed_forward else None

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        layout: Padded | Packed = PADDED,
        cache: KeyValueCache | None = None,
        first: int | None = None,
    ) -> Tensor:
        """x [B, S, D] → [B, S, D], or as the layout has its tokens. With a cache, x is what follows the positions in it. Of a last
        layer, only the `first` positions may be wanted: [B, first, D]."""

        def attend(x: Tensor) -> Tensor:
            return self.self_attention(x, mask, cache, layout, **({} if first is None else {"first": first}))  # type: ignore[no-any-return]

        return self.think(self.after_self(x, attend, first))


class DecoderLayer(AttentionLayer):
    """Look at what is written so far, look at the source, then think about it."""

    def __init__(self, config: AttentionModel) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.width, config.heads, **attention_options(config))
        self.cross_attention = CrossAttention(config.width, config.heads, **attention_options(config))
        self.feed_forward = FeedForward(config) if config.feed_forward else None
        self.after_self = Residual(config)
        self.after_cross = Residual(config)
        self.after_feed_forward = Residual(config) if config.feed_forward else None

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        target_mask: Tensor | None,
        source_mask: Tensor | None,
        layout: Padded | Packed = PADDED,
        source_layout: Padded | Packed = PADDED,
    ) -> Tensor:
        """All positions at once: x [B, T, D] and memory [B, S, D] → [B, T, D], or as their layouts have the tokens."""

        def attend_self(x: Tensor) -> Tensor:
            return self.self_attention(x, target_mask, layout=layout)  # type: ignore[no-any-return]

        projected = self.cross_attention.project_memory(memory, source_layout)
        return self.sublayers(x, projected, source_mask, attend_self, layout)

    def step(
        self,
        x: Tensor,
        memory: KeyValueCache,
        target_mask: Tensor | None,
        source_mask: Tensor | None,
        cache: KeyValueCache,
    ) -> Tensor:
        """One position of W hypotheses for each of S sentences: x [S, W, D] → [S, W, D].

        The hypotheses of a sentence are queries side by side, so that its memory is held only once, and `target_mask`
        shows each of them its own past.
        """

        def attend_self(x: Tensor) -> Tensor:
            return self.self_attention(x, target_mask, cache)  # type: ignore[no-any-return]

        return self.sublayers(x, memory, source_mask, attend_self, PADDED)

    def sublayers(
        self,
        x: Tensor,
        memory: KeyValue | KeyValueCache,
        source_mask: Tensor | None,
        attend_self: Callable[[Tensor], Tensor],
        layout: Padded | Packed,
    ) -> Tensor:
        x = self.after_self(x, attend_self)
        return self.think(self.after_cross(x, lambda x: self.cross_attention(x, memory, source_mask, layout)))
