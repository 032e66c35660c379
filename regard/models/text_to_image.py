"""Words, then a picture: one decoder writes the tokens of a caption and goes on with the codes of its picture
(Ramesh et al. 2021, DALL-E).

Every row is as long as any: a caption is filled up with padding, and what is never said is learned to mean nothing. So no
mask is needed but the causal one, and a picture without a caption is one whose caption is empty.

S pictures · W hypotheses of each · N = S·W rows · K positions of a caption · G height and width in codes · D width
· V vocabulary · C codes
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard import config
from regard.attention.cache import KeyValueCache
from regard.attention.dropout import Dropout
from regard.attention.masks import additive_mask, causal_mask
from regard.attention.positions import LearnedPositions
from regard.attention.record import Observed
from regard.models.autoregressive import AutoregressiveModel, DecoderState
from regard.models.encoder_decoder import embedding
from regard.models.inference import for_inference, watched
from regard.models.layers import Embedding, EncoderLayer, last_norm
from regard.products import Linear


class CodeEmbedding(Observed):
    """Codes → vectors: the code's own, and where it is in the picture: its row's plus its column's."""

    def __init__(self, codes: int, grid: int, width: int, dropout: float) -> None:
        super().__init__()
        self.grid, self.scale = grid, width**0.5
        self.table = embedding(codes, width)
        self.rows, self.columns = LearnedPositions(grid, width), LearnedPositions(grid, width)
        self.drop = Dropout(dropout)

    def positions(self) -> Tensor:
        """[G·G, D], row by row."""
        return (self.rows.table[:, None] + self.columns.table).flatten(0, 1)

    def forward(self, codes: Tensor, start: int = 0) -> Tensor:
        """Codes [S, T], the first of them at place `start` → [S, T, D]."""
        embedded: Tensor = self.drop(self.table(codes) * self.scale + self.positions()[start : start + codes.size(1)])
        return embedded


class TextToImage(AutoregressiveModel):
    """A caption's ids [S, K] and a picture's codes [S, G·G], in one row that looks only back."""

    def __init__(self, settings: config.TextToImage, size: int, codes: int, grid: int) -> None:
        super().__init__()
        self.caption_positions, self.codes, self.grid = settings.max_positions, codes, grid
        self.max_positions, self.heads = settings.max_positions + grid**2, settings.heads
        words = LearnedPositions(settings.max_positions, settings.width)
        self.embedding = Embedding(embedding(size, settings.width), settings.dropout, words)
        self.code_embedding = CodeEmbedding(codes, grid, settings.width, settings.dropout)
        self.layers = nn.ModuleList(EncoderLayer(settings) for _ in range(settings.layers))
        self.norm = last_norm(settings)
        self.drop = Dropout(settings.dropout)
        self.text_output = Linear(settings.width, size, bias=False)
        self.output = Linear(settings.width, codes, bias=False)
        for each in (self.text_output, self.output):
            nn.init.normal_(each.weight, std=settings.width**-0.5)

    def forward(self, captions: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        """[S, K] and [S, G·G] → states that expect the caption from its second token on [S, K - 1, D], and all codes
        [S, G·G, D]."""
        x = torch.cat([self.embedding(captions), self.code_embedding(codes[:, :-1])], 1)  # [S, K + G·G - 1, D]
        mask = causal_mask(x.size(1), device=x.device)
        for layer in self.layers:
            x = layer(x, mask)
        states: Tensor = self.drop(self.norm(x))
        self.note(states=states)
        return states[:, : captions.size(1) - 1], states[:, captions.size(1) - 1 :]

    def start(self, source: Tensor) -> DecoderState:
        """Reads captions [S, K], all but the last position: what is there is the search's first token."""
        caches, layers = [KeyValueCache(self.max_positions) for _ in self.layers], for_inference(self.layers)
        x = self.embedding(source[:, :-1])  # [S, K - 1, D]
        mask = additive_mask(causal_mask(x.size(1), device=x.device), x.dtype)
        for layer, cache in zip(layers, caches, strict=True):
            x = layer(x, mask, cache=cache)
        return DecoderState(caches, layers=layers, length=source.size(1) - 1)

    def advance(self, last: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        place = state.length - self.caption_positions  # of the code that was written last; -1: the caption's last token
        embedded = (
            self.code_embedding(last[:, None], place) if place >= 0 else self.embedding(last[:, None], state.length)
        )
        x = embedded.view(-1, state.hypotheses, embedded.size(-1))  # [N, 1, D] → [S, W, D]
        state = state.extend()
        for layer, cache in zip(self.layers if watched() else state.layers, state.caches, strict=True):
            x = layer(x, state.past_mask, cache=cache)
        states: Tensor = self.norm(x)
        return states.flatten(0, 1), state  # [N, D]

    def attention_names(self) -> dict[str, list[str]]:
        return {"decoder": [f"layers.{layer}.self_attention" for layer in range(len(self.layers))]}
