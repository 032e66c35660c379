"""The layers that the attention family shares: embedding, feed-forward, encoder layer, decoder layer.

B batch · S source positions · T target positions · D width
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from regard.attention.cache import KeyValueCache
from regard.attention.dropout import Dropout
from regard.attention.layout import PADDED, Packed, Padded
from regard.attention.multi_head import CrossAttention, KeyValue, SelfAttention, linear
from regard.attention.positions import Positions
from regard.attention.record import Observed
from regard.config import Attending


class Embedding(Observed):
    """Ids → vectors: the piece's own vector times √D, plus its position if any (the paper's sections 3.4 and 3.5)."""

    def __init__(self, table: nn.Embedding, dropout: float, positions: Positions | None = None) -> None:
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
            return self.drop(vectors)  # type: ignore[no-any-return]
        positions = self.positions(layout.places(ids) + start, start + ids.size(1))  # [T, D]
        embedded: Tensor = self.drop(vectors + positions)  #            [B, T, D]
        self.note(vectors=vectors, positions=positions, output=embedded)
        return embedded


class Residual(Observed):
    """Add & norm around a sub-layer: after adding as in the paper, or before the sub-layer (pre-norm)."""

    def __init__(self, config: Attending) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.width)
        self.drop = Dropout(config.dropout)
        self.before = config.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.before:
            normed = self.norm(x)
            added = output = self.drop.add(x, sublayer(normed))
        else:
            added = self.drop.add(x, sublayer(x))
            normed = output = self.norm(added)
        self.note(added=added, normed=normed, output=output)
        return output


class FeedForward(Observed):
    """Two linear layers with a ReLU between, the same at every position (section 3.3)."""

    def __init__(self, config: Attending) -> None:
        super().__init__()
        self.widen = linear(config.width, config.feed_forward)
        self.narrow = linear(config.feed_forward, config.width)
        self.drop = Dropout(config.activation_dropout)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.widen(x).relu_()
        output: Tensor = self.narrow(self.drop(hidden))
        self.note(hidden=hidden, output=output)
        return output


class EncoderLayer(nn.Module):
    """Look at the text, all of it or what the mask shows, then think about it."""

    def __init__(self, config: Attending) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.width, config.heads, config.attention_dropout, config.key_width)
        self.feed_forward = FeedForward(config)
        self.after_self = Residual(config)
        self.after_feed_forward = Residual(config)

    def forward(
        self,
        x: Tensor,
        may_look: Tensor | None,
        layout: Padded | Packed = PADDED,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """x [B, S, D] → [B, S, D], or as the layout has its tokens. With a cache, x is what follows the positions in it."""
        x = self.after_self(x, lambda x: self.self_attention(x, may_look, cache, layout))
        return self.after_feed_forward(x, self.feed_forward)  # type: ignore[no-any-return]


class DecoderLayer(nn.Module):
    """Look at what is written so far, look at the source, then think about it."""

    def __init__(self, config: Attending) -> None:
        super().__init__()
        self.self_attention = SelfAttention(config.width, config.heads, config.attention_dropout, config.key_width)
        self.cross_attention = CrossAttention(config.width, config.heads, config.attention_dropout, config.key_width)
        self.feed_forward = FeedForward(config)
        self.after_self = Residual(config)
        self.after_cross = Residual(config)
        self.after_feed_forward = Residual(config)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        may_look_back: Tensor | None,
        may_look_at_source: Tensor | None,
        layout: Padded | Packed = PADDED,
        source_layout: Padded | Packed = PADDED,
    ) -> Tensor:
        """All positions at once: x [B, T, D] and memory [B, S, D] → [B, T, D], or as their layouts have the tokens."""

        def look_back(x: Tensor) -> Tensor:
            return self.self_attention(x, may_look_back, layout=layout)  # type: ignore[no-any-return]

        read = self.cross_attention.read(memory, source_layout)
        return self.around(x, read, may_look_at_source, look_back, layout)

    def step(
        self,
        x: Tensor,
        memory: KeyValueCache,
        may_look_back: Tensor | None,
        may_look_at_source: Tensor | None,
        cache: KeyValueCache,
    ) -> Tensor:
        """One position of W hypotheses for each of S sentences: x [S, W, D] → [S, W, D].

        The hypotheses of a sentence are queries side by side, so that its memory is held only once, and `may_look_back`
        shows each of them its own past.
        """

        def look_back(x: Tensor) -> Tensor:
            return self.self_attention(x, may_look_back, cache)  # type: ignore[no-any-return]

        return self.around(x, memory, may_look_at_source, look_back, PADDED)

    def around(
        self,
        x: Tensor,
        memory: KeyValue | KeyValueCache,
        may_look_at_source: Tensor | None,
        look_back: Callable[[Tensor], Tensor],
        layout: Padded | Packed,
    ) -> Tensor:
        x = self.after_self(x, look_back)
        x = self.after_cross(x, lambda x: self.cross_attention(x, memory, may_look_at_source, layout))
        return self.after_feed_forward(x, self.feed_forward)  # type: ignore[no-any-return]
