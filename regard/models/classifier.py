"""The encoder alone: a text → scores of its labels; and its rivals, recurrent and convolutional.

S texts · T positions · N real positions of all texts · D width · C labels
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Tensor, nn

from regard import config
from regard.attention.dropout import Dropout
from regard.attention.layout import lay_out
from regard.attention.masks import PAD, padding_mask
from regard.attention.multi_head import linear
from regard.attention.positions import Positions, positions_of
from regard.attention.record import Observed
from regard.attention.single_head import SCORES, AttentionOutput
from regard.models.conv import EncoderLayer as ConvolutionalLayer
from regard.models.encoder_decoder import embedding
from regard.models.inference import for_inference
from regard.models.layers import Embedding, EncoderLayer, Reader, last_norm
from regard.models.rnn import RecurrentStack

MULTIPLIER = 6_364_136_223_846_793_005  # of Knuth's generator: odd, its bits without pattern
ShiftXor: TypeAlias = Callable[[Tensor, int], Tensor]
"""Each bit of whole numbers, unless it is equal to that so many places to the left; an engine may have a way of its own."""
NGRAM_SCALE = 20.0  # of an n-gram's weights: learned at the pace of all others, they would be too slow


class TextClassifier(Observed, ABC):
    """Layers that read the whole text, one vector for all of it, and a score for each label."""

    heads = 1

    def __init__(self, settings: config.ClassifierModel, size: int, labels: int) -> None:
        super().__init__()
        self.max_positions, self.pooling = settings.max_positions, settings.pooling
        self.embedding = Embedding(embedding(size, settings.width), settings.dropout, self.positions(settings))
        self.build_layers(settings)
        self.drop = Dropout(settings.dropout)
        self.output = linear(settings.width, labels)
        self.ngram_bag = NgramBag(settings.ngrams, settings.buckets, labels) if settings.ngrams > 1 else None

    def positions(self, settings: Any) -> Positions | None:
        """What tells layers where a token stands that would not know it else."""
        return None

    @abstractmethod
    def build_layers(self, settings: Any) -> None:
        """Those between embedding and pooling."""

    def forward(self, ids: Tensor) -> Tensor:
        """Ids [S, T] → logits [S, C]."""
        return self.classify(self.encode(ids), ids)

    def embed(self, ids: Tensor) -> Tensor:
        """Ids [S, T] → vectors [S, T, D], or of real positions only, text after text [N, D]."""
        embedded: Tensor = self.embedding(ids)
        return embedded

    @abstractmethod
    def encode(self, ids: Tensor, embedded: Tensor | None = None) -> Tensor:
        """Ids [S, T] → states of real positions [N, D]. `embedded` replaces `embed`."""

    def classify(self, states: Tensor, ids: Tensor, ratios: Tensor | None = None) -> Tensor:
        """States [N, D] → logits [S, C]: those of the layers and of n-grams together."""
        logits = torch.stack(self.separate_logits(states, ids, ratios)).sum(0)
        self.note(logits=logits)
        return logits

    def separate_logits(self, states: Tensor, ids: Tensor, ratios: Tensor | None = None) -> list[Tensor]:
        """Logits [S, C] of what the layers found, and of n-grams if the model has them, which `ratios` multiply."""
        pooled = self.pool(states, ids)  # [S, D]
        self.note(pooled=pooled)
        of_layers = self.output(self.drop(pooled))
        return [of_layers] if self.ngram_bag is None else [of_layers, self.ngram_bag(ids, ratios)]

    def scaled_weights(self, layers: float, ngrams: float | Tensor) -> dict[str, Tensor]:
        """Weights by name, such that the logits of the layers and of n-grams are so many times as large as they are."""
        times = {"output.weight": layers, "output.bias": layers, "ngram_bag.table.weight": ngrams}
        return {name: weight * times[name] for name, weight in self.named_parameters() if name in times}

    def pool(self, states: Tensor, ids: Tensor) -> Tensor:
        """States of real positions [N, D] → one vector for each text [S, D]."""
        real = ids != PAD  # [S, T]
        return self.pool_rows(in_rows(states, real, float("-inf") if self.pooling == "max" else 0.0), real)

    def pool_rows(self, rows: Tensor, real: Tensor) -> Tensor:
        """States in rows [S, T, D], with nothing where they are not real [S, T] → [S, D]."""
        if self.pooling == "max":
            return rows.amax(1)
        if self.pooling == "last":
            last = (real.sum(1) - 1).clamp(min=0)  # [S]
            return rows.gather(1, last[:, None, None].expand(-1, 1, rows.size(2))).squeeze(1)
        return rows[:, 0] if self.pooling == "first" else rows.sum(1) / real.sum(1, keepdim=True)

    def after_states(self) -> list[nn.Module]:
        """What makes logits of states: only labels teach it."""
        return [self.output, *([] if self.ngram_bag is None else [self.ngram_bag])]

    @abstractmethod
    def attention_names(self) -> dict[str, list[str]]:
        """By kind of attention, the modules that attend, first layer first: their names in a record."""

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


def in_rows(states: Tensor, real: Tensor, nothing: float = 0.0) -> Tensor:
    """States of real positions [N, D] → [S, T, D], and `nothing` where they are not."""
    rows = states.new_full((*real.shape, states.size(-1)), nothing)
    return rows.masked_scatter(real.unsqueeze(-1), states)


class TransformerClassifier(TextClassifier):
    """Layers of self-attention: every position sees the whole text."""

    reader: ClassVar[Reader] = Reader()

    def positions(self, settings: config.TextEncoder) -> Positions | None:
        return positions_of(settings.positions, settings.max_positions, settings.width)

    def build_layers(self, settings: config.TextEncoder) -> None:
        self.heads = settings.heads
        self.layers = nn.ModuleList(EncoderLayer(settings) for _ in range(settings.layers))
        self.norm = last_norm(settings)

    def embed(self, ids: Tensor) -> Tensor:
        """Packed; on a GPU with padding."""
        embedded: Tensor = self.embedding(ids, layout=lay_out(ids, packed=True))
        return embedded

    def encode(self, ids: Tensor, embedded: Tensor | None = None) -> Tensor:
        """Padding is never computed on a CPU."""
        mask = padding_mask(ids)  # [S, 1, 1, T]
        if (
            embedded is None and torch.is_inference_mode_enabled() and mask.all()
        ):  # rows as they are: nothing to leave out
            return self._encode_rows(ids)
        layout = lay_out(ids, packed=True)
        x = self.embedding(ids, layout=layout) if embedded is None else embedded
        for layer in self.layers:
            x = layer(x, mask, layout)
        states = layout.only_real(self.norm(x), ids)
        self.note(states=states)
        return states

    def _encode_rows(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)  # [S, T, D]
        for layer in for_inference(self.layers):
            x = layer(x, None)
        states: Tensor = self.norm(x).flatten(0, 1)  # [N, D]
        self.note(states=states)
        return states

    def attention_names(self) -> dict[str, list[str]]:
        return {"encoder": [f"layers.{layer}.self_attention" for layer in range(len(self.layers))]}


class PaddedClassifier(TextClassifier):
    """What the rivals share: padding is computed as well, and left out in the end. They have no self-attention."""

    @abstractmethod
    def states(self, embedded: Tensor, real: Tensor) -> Tensor:
        """Embedded tokens [S, T, D], of which some are real [S, T] → states [S, T, D]."""

    def encode(self, ids: Tensor, embedded: Tensor | None = None) -> Tensor:
        real = ids != PAD
        states = self.states(self.embed(ids) if embedded is None else embedded, real)[real]
        self.note(states=states)
        return states

    def attention_names(self) -> dict[str, list[str]]:
        return {}


class RecurrentClassifier(PaddedClassifier):
    """A state that is carried from token to token; the last one has heard of them all."""

    bidirectional = False

    def build_layers(self, settings: Any) -> None:
        self.stack = RecurrentStack(settings, settings.width, settings.layers, self.bidirectional)

    def states(self, embedded: Tensor, real: Tensor) -> Tensor:
        states, _ = self.stack.encode(embedded, real.sum(1).clamp(min=1))
        return states


class RecurrentAttentionClassifier(RecurrentClassifier):
    """Reads both ways, and pools by attention: one learned query looks at all states (Yang et al. 2016, of words)."""

    bidirectional = True

    def build_layers(self, settings: Any) -> None:
        super().build_layers(settings)
        self.attention = SCORES[settings.score](settings.width)
        self.query = nn.Embedding(1, settings.width)

    def pool_rows(self, rows: Tensor, real: Tensor) -> Tensor:
        memory = self.attention.read(rows, real.unsqueeze(1))
        query = self.query.weight.expand(rows.size(0), 1, -1)  # [S, 1, D]
        found: AttentionOutput = self.attention(query, memory)
        self.attention.note_outputs([found], memory)
        return found.context.squeeze(1)

    def attention_names(self) -> dict[str, list[str]]:
        return {"pooling": ["attention"]}

    def after_states(self) -> list[nn.Module]:
        return [*super().after_states(), self.attention, self.query]


class ConvolutionalClassifier(PaddedClassifier):
    """A tree of neighbours (Gehring et al. 2017); of each number the strongest position counts, as in Kim (2014)."""

    def build_layers(self, settings: config.ConvolutionalEncoder) -> None:
        self.layers = nn.ModuleList(ConvolutionalLayer(settings) for _ in range(settings.layers))

    def states(self, embedded: Tensor, real: Tensor) -> Tensor:
        x, real = embedded * real.unsqueeze(2), real.unsqueeze(2)  # [S, T, D], [S, T, 1]
        for layer in self.layers:
            x = layer(x, real)
        return x


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

    def forward(self, ids: Tensor, ratios: Tensor | None = None) -> Tensor:
        """Ids [S, T] → logits [S, C], divided by the root of how many n-grams there are: long texts are no more certain.

        While they are learned, `ratios` [buckets, C] may multiply the weights: what they are small for learns slowly.
        """
        ngrams = self.ngrams(ids)  # [S, G]
        if ratios is not None:  # 0 for padding
            weights: Tensor = self.table(ngrams) * ratios[ngrams]  # [S, G, C]
            return weights.sum(1) * self.scale(ngrams)
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
