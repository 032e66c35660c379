"""The encoder alone: a text → scores of its labels.

S texts · T positions · N real positions of all texts · D width · C labels
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypeAlias

import torch
from torch import Tensor, nn

from regard import config
from regard.attention.dropout import Dropout
from regard.attention.layout import lay_out
from regard.attention.masks import PAD, padding_mask
from regard.attention.multi_head import linear
from regard.attention.positions import positions_of
from regard.attention.record import Observed
from regard.models.encoder_decoder import embedding
from regard.models.layers import Embedding, EncoderLayer, Reader, last_norm

MULTIPLIER = 6_364_136_223_846_793_005  # of Knuth's generator: odd, its bits without pattern
ShiftXor: TypeAlias = Callable[[Tensor, int], Tensor]
"""Each bit of whole numbers, unless it is equal to that so many places to the left; an engine may have a way of its own."""
NGRAM_SCALE = 20.0  # of an n-gram's weights: learned at the pace of all others, they would be too slow


class TextClassifier(Observed):
    """Layers of self-attention that see the whole text, one vector for all of it, and a score for each label."""

    reader: ClassVar[Reader] = Reader()

    def __init__(self, settings: config.TextEncoder, size: int, labels: int) -> None:
        super().__init__()
        self.max_positions, self.heads, self.pooling = settings.max_positions, settings.heads, settings.pooling
        positions = positions_of(settings.positions, settings.max_positions, settings.width)
        self.embedding = Embedding(embedding(size, settings.width), settings.dropout, positions)
        self.layers = nn.ModuleList(EncoderLayer(settings) for _ in range(settings.layers))
        self.norm = last_norm(settings)
        self.drop = Dropout(settings.dropout)
        self.output = linear(settings.width, labels)
        self.ngram_bag = NgramBag(settings.ngrams, settings.buckets, labels) if settings.ngrams > 1 else None

    def forward(self, ids: Tensor) -> Tensor:
        """Ids [S, T] → logits [S, C]."""
        return self.classify(self.encode(ids), ids)

    def embed(self, ids: Tensor) -> Tensor:
        """Ids [S, T] → vectors of real positions, text after text [N, D]; on a GPU with padding [S, T, D]."""
        embedded: Tensor = self.embedding(ids, layout=lay_out(ids, packed=True))
        return embedded

    def encode(self, ids: Tensor, embedded: Tensor | None = None) -> Tensor:
        """Ids [S, T] → states of real positions [N, D]; padding is never computed on a CPU. `embedded` replaces `embed`."""
        layout = lay_out(ids, packed=True)
        mask = padding_mask(ids)  # [S, 1, 1, T]
        x = self.embedding(ids, layout=layout) if embedded is None else embedded
        for layer in self.layers:
            x = layer(x, mask, layout)
        states = layout.only_real(self.norm(x), ids)
        self.note(states=states)
        return states

    def classify(self, states: Tensor, ids: Tensor) -> Tensor:
        """States [N, D] → logits [S, C]: those of attention and of n-grams together."""
        logits = torch.stack(self.separate_logits(states, ids)).sum(0)
        self.note(logits=logits)
        return logits

    def separate_logits(self, states: Tensor, ids: Tensor) -> list[Tensor]:
        """Logits [S, C] of what attention found, and of n-grams if the model has them."""
        pooled = self.pool(states, ids)  # [S, D]
        self.note(pooled=pooled)
        of_attention = self.output(self.drop(pooled))
        return [of_attention] if self.ngram_bag is None else [of_attention, self.ngram_bag(ids)]

    def scaled_weights(self, attention: float, ngrams: float) -> dict[str, Tensor]:
        """Weights by name, such that the logits of attention and of n-grams are so many times as large as they are."""
        times = {"output.weight": attention, "output.bias": attention, "ngram_bag.table.weight": ngrams}
        return {name: weight * times[name] for name, weight in self.named_parameters() if name in times}

    def pool(self, states: Tensor, ids: Tensor) -> Tensor:
        """States of real positions [N, D] → one vector for each text [S, D]."""
        real = ids != PAD  # [S, T]
        rows = states.new_full((*ids.shape, states.size(-1)), float("-inf") if self.pooling == "max" else 0.0)
        rows = rows.masked_scatter(real.unsqueeze(-1), states)  # [S, T, D]
        if self.pooling == "max":
            return rows.amax(1)
        return rows[:, 0] if self.pooling == "first" else rows.sum(1) / real.sum(1, keepdim=True)

    def attention_names(self) -> dict[str, list[str]]:
        """By kind of attention, the modules that attend, first layer first: their names in a record."""
        return {"encoder": [f"layers.{layer}.self_attention" for layer in range(len(self.layers))]}

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


class NgramBag(nn.Module):
    """Logits that every n-gram of a text adds up to, each counted once; its weights are found by its hash.

    This is a linear model of n-grams, hard to beat where single phrases decide (Wang and Manning 2012). What is left for
    attention to learn is what no phrase tells.
    """

    def __init__(self, longest: int, buckets: int, labels: int) -> None:
        super().__init__()
        self.longest = longest
        self.table = nn.Embedding(buckets, labels)
        nn.init.zeros_(self.table.weight)

    def forward(self, ids: Tensor) -> Tensor:
        """Ids [S, T] → logits [S, C], divided by the root of how many n-grams there are: long texts are no more certain."""
        ngrams = self.ngrams(ids)  # [S, G]
        counted = (ngrams != PAD).to(self.table.weight.dtype)
        logits = nn.functional.embedding_bag(
            ngrams, self.table.weight, mode="sum", per_sample_weights=counted
        )  # [S, C]
        return logits * self.scale(ngrams)

    def scale(self, ngrams: Tensor) -> Tensor:
        """N-grams [S, G] → what the weights of each text's n-grams are multiplied by [S, 1]."""
        return NGRAM_SCALE / (ngrams != PAD).sum(1, keepdim=True).clamp(min=1).sqrt()

    def ngrams(self, ids: Tensor, shift_xor: ShiftXor | None = None) -> Tensor:
        """Ids [S, T] → the bucket of each different n-gram [S, G], PAD where there is none."""
        ngrams = torch.cat(self.ngrams_by_length(ids, shift_xor), 1).sort(1).values
        again = torch.cat([ngrams[:, :1] < 0, ngrams[:, 1:] == ngrams[:, :-1]], 1)  # no bucket is below 0
        return ngrams.masked_fill(again, PAD)

    def ngrams_by_length(self, ids: Tensor, shift_xor: ShiftXor | None = None) -> list[Tensor]:
        """Of each length from 1, the bucket of the n-gram that begins at each position [S, T − length + 1]."""
        found, hashed = [], torch.zeros_like(ids)
        for length in range(1, min(self.longest, ids.size(1)) + 1):
            hashed = hashed[:, : ids.size(1) - length + 1] * MULTIPLIER + ids[:, length - 1 :]
            hashed = _mixed(hashed, shift_xor or _shift_xor)
            bucket = 1 + hashed % (self.table.num_embeddings - 1)
            found.append(bucket.masked_fill(ids[:, length - 1 :] == PAD, PAD))  # padding is last: the rest is real
        return found


def _mixed(numbers: Tensor, shift_xor: ShiftXor) -> Tensor:
    """Whole numbers, well mixed: each bit of the input changes about half of the output's."""
    return shift_xor(shift_xor(numbers, 31) * MULTIPLIER, 29)


def _shift_xor(numbers: Tensor, bits: int) -> Tensor:
    return numbers ^ (numbers >> bits)
