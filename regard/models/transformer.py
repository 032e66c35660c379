"""The Transformer of "Attention Is All You Need" (Vaswani et al. 2017): an encoder reads, a decoder writes.

S sentences · W hypotheses of each · N = S·W rows · K source positions · T target positions · D width · V vocabulary
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar, cast

import torch
from torch import Tensor, nn

from regard import config
from regard.attention.cache import KeyValueCache
from regard.attention.layout import PADDED, Packed, Padded, lay_out
from regard.attention.masks import additive_mask, causal_mask, padding_mask
from regard.attention.positions import Positions, positions_of
from regard.models.autoregressive import DecoderState
from regard.models.encoder_decoder import EncoderDecoder, embeddings, output_layer
from regard.models.inference import for_inference, watched
from regard.models.layers import DecoderLayer, Embedding, EncoderLayer, Reader, last_norm


class Transformer(EncoderDecoder):
    """The paper's figure 1: layers of attention and feed-forward on both sides, and nothing that waits for its turn."""

    reader: ClassVar[Reader] = Reader("source_embedding", "encoder", "encoder_norm")

    def __init__(self, settings: config.Transformer, source_size: int, target_size: int) -> None:
        super().__init__()
        self.max_positions, self.heads = settings.max_positions, settings.heads
        source, target = embeddings(settings, source_size, target_size)
        self.source_embedding = Embedding(source, settings.dropout, self._positions(settings))
        self.target_embedding = Embedding(target, settings.dropout, self._positions(settings))
        self.encoder = nn.ModuleList(EncoderLayer(settings) for _ in range(settings.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(settings) for _ in range(settings.decoder_layers))
        self.encoder_norm, self.decoder_norm = last_norm(settings), last_norm(settings)
        self.output = output_layer(settings, target)

    @staticmethod
    def _positions(settings: config.Transformer) -> Positions | None:
        return positions_of(settings.positions, settings.max_positions, settings.width)

    def forward(self, source: Tensor, target: Tensor, packed: bool = False) -> Tensor:
        """All positions at once; with `packed`, padding is never computed on a CPU."""
        source_layout, layout = lay_out(source, packed), lay_out(target, packed)
        memory, source_mask = self.encode(source, source_layout)
        target_mask = causal_mask(target.size(1), device=target.device)  # padding is last, hence in the future
        x = self.target_embedding(target, layout=layout)  #                  [S, T, D]
        for layer in self.decoder:
            x = layer(x, memory, target_mask, source_mask, layout, source_layout)
        states: Tensor = self.decoder_norm(x)
        self.note(memory=memory, states=states)
        return layout.only_real(states, target) if packed else states

    def encode(self, source: Tensor, layout: Padded | Packed = PADDED) -> tuple[Tensor, Tensor]:
        """Source ids [S, K] → memory [S, K, D], or as the layout has its tokens, and who may be looked at."""
        mask = padding_mask(source)  #                   [S, 1, 1, K]
        x = self.source_embedding(source, layout=layout)  #  [S, K, D]
        for layer in for_inference(self.encoder) if layout is PADDED else self.encoder:
            x = layer(x, mask, layout)
        return self.encoder_norm(x), mask

    def encoder_states(self, source: Tensor) -> Tensor:
        layout = lay_out(source, packed=True)
        memory, _ = self.encode(source, layout)
        self.note(memory=memory)
        return layout.only_real(memory, source)

    def attention_names(self) -> dict[str, list[str]]:
        return {
            "encoder": [f"encoder.{layer}.self_attention" for layer in range(len(self.encoder))],
            "decoder": [f"decoder.{layer}.self_attention" for layer in range(len(self.decoder))],
            "cross": [f"decoder.{layer}.cross_attention" for layer in range(len(self.decoder))],
        }

    def decoder_layers(self) -> Iterable[DecoderLayer]:
        return cast(Iterable[DecoderLayer], self.decoder)  # ModuleList does not tell what it holds

    def start(self, source: Tensor) -> TransformerState:
        """The encoder runs once; the keys and values of the source are computed once."""
        memory, source_mask = self.encode(source)
        projected = [KeyValueCache(capacity=0) for _ in self.decoder]
        for layer, cache in zip(self.decoder_layers(), projected, strict=True):
            cache.append(*layer.cross_attention.project_memory(memory))
        fresh, added = [KeyValueCache() for _ in self.decoder], additive_mask(source_mask, memory.dtype)
        return TransformerState(fresh, layers=for_inference(self.decoder), memory=projected, source_mask=added)

    def advance(self, last: Tensor, state: TransformerState) -> tuple[Tensor, TransformerState]:
        x = self.target_embedding(last[:, None], state.length)  # [N, 1, D]
        x = x.view(-1, state.hypotheses, x.size(-1))  #           [S, W, D]
        state = state.extend()
        layers = self.decoder_layers() if watched() else state.layers
        for layer, memory, cache in zip(layers, state.memory, state.caches, strict=True):
            x = layer.step(x, memory, state.past_mask, state.source_mask, cache)
        states: Tensor = self.decoder_norm(x).flatten(0, 1)  # [N, D]
        return states, state


@dataclass(frozen=True)
class TransformerState(DecoderState):
    """What a decoding Transformer remembers: the source and all that was tried for it, once per sentence."""

    memory: list[KeyValueCache] = field(default_factory=list)  # per layer [S, H, K, E]
    source_mask: Tensor = field(
        default_factory=lambda: torch.empty(0)
    )  # [S, 1, 1, K], added to scores: what is no padding

    def are_all(self, sentences: Tensor) -> bool:
        return torch.equal(sentences, torch.arange(self.source_mask.size(0), device=sentences.device))

    def select_sentences(self, sentences: Tensor) -> TransformerState:
        memory = [cache.select(sentences) for cache in self.memory]
        return replace(super().select_sentences(sentences), memory=memory, source_mask=self.source_mask[sentences])
