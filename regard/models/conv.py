"""Convolutional translation (Gehring et al. 2017): gated convolutions read and write, and attend in every layer.

S sentences · W hypotheses of each · N = S·W rows · K source positions · T target positions · k kernel · D width
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard import config
from regard.attention.dropout import Dropout
from regard.attention.layout import PADDED
from regard.attention.masks import PAD
from regard.attention.positions import POSITIONS
from regard.attention.single_head import DotAttention, Memory
from regard.models.encoder_decoder import EncoderDecoder, embeddings, output_layer
from regard.models.layers import Embedding
from regard.products import Linear

HALF = 0.5**0.5  # a sum of two keeps the variance of one


class GatedConvolution(nn.Module):
    """k neighbouring positions → one; half of the outcome decides how much of the other half passes (GLU)."""

    def __init__(self, settings: config.ConvolutionalModel) -> None:
        super().__init__()
        self.kernel = settings.kernel
        self.linear = Linear(settings.kernel * settings.width, 2 * settings.width)
        self.drop = Dropout(settings.dropout)
        spread = (4 * (1 - settings.dropout) / (settings.kernel * settings.width)) ** 0.5  # the paper's section 3.5
        nn.init.normal_(self.linear.weight, std=spread)
        nn.init.zeros_(self.linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """x [N, T + k - 1, D] → [N, T, D]."""
        windows = self.drop(x).unfold(1, self.kernel, 1).transpose(2, 3).flatten(2)  # [N, T, k × D]
        return functional.glu(self.linear(windows))


class EncoderLayer(nn.Module):
    """Looks as far to the left as to the right."""

    def __init__(self, settings: config.ConvolutionalModel) -> None:
        super().__init__()
        self.convolution = GatedConvolution(settings)

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        """x [S, K, D] → [S, K, D]; where nothing is `real` [S, K, 1] there are zeros, as beyond the ends."""
        side = self.convolution.kernel // 2
        passed: Tensor = self.convolution(functional.pad(x, (0, 0, side, side)))
        return (passed + x) * HALF * real


class DecoderLayer(nn.Module):
    """Looks to the left only, then at the source."""

    def __init__(self, settings: config.ConvolutionalModel) -> None:
        super().__init__()
        self.convolution = GatedConvolution(settings)
        self.query = Linear(settings.width, settings.width)
        self.attention = DotAttention(settings.width, projected=False)
        self.attention_output = Linear(settings.width, settings.width)

    def forward(self, x: Tensor, past: Tensor, embedded: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """x [N, T, D], the k - 1 inputs before it, and the embedded tokens → [N, T, D], and the last k - 1 inputs."""
        seen = torch.cat([past, x], 1)  #                                    [N, k - 1 + T, D]
        passed = self.convolution(seen)  #                                   [N, T, D]
        query = (self.query(passed) + embedded) * HALF
        # The queries of a sentence are its positions in training, and its hypotheses in a search.
        attended = self.attention(query.reshape(len(memory.key), -1, query.size(2)), memory)
        self.attention.note_outputs([attended], memory)
        passed = (passed + self.attention_output(attended.context).view_as(passed)) * HALF
        return (passed + x) * HALF, seen[:, seen.size(1) - past.size(1) :]


@dataclass(frozen=True)
class ConvolutionalState:
    """What a convolutional decoder remembers: the source, and the last few inputs of each layer."""

    memory: Memory  #        once per sentence
    pasts: list[Tensor]  #   per layer [N, k - 1, D]
    hypotheses: int = 1  #   W
    length: int = 0  #       positions written

    def select(self, rows: Tensor) -> ConvolutionalState:
        """rows [S', W']: for each sentence that goes on, the rows that continue it."""
        sentences, flat = rows[:, 0] // self.hypotheses, rows.flatten()  # [S'], [N']
        pasts = [past[flat] for past in self.pasts]
        return ConvolutionalState(self.memory.select(sentences), pasts, rows.size(1), self.length)


class Convolutional(EncoderDecoder):
    """A tree of neighbours: the higher the layer, the more of the sentence a position has heard of."""

    def __init__(self, settings: config.Convolutional, source_size: int, target_size: int) -> None:
        super().__init__()
        self.max_positions, self.kernel = settings.max_positions, settings.kernel
        source, target = embeddings(settings, source_size, target_size)
        learned = POSITIONS["learned"]
        self.source_embedding = Embedding(source, settings.dropout, learned(settings.max_positions, settings.width))
        self.target_embedding = Embedding(target, settings.dropout, learned(settings.max_positions, settings.width))
        self.encoder = nn.ModuleList(EncoderLayer(settings) for _ in range(settings.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(settings) for _ in range(settings.decoder_layers))
        self.drop = Dropout(settings.dropout)
        self.output = output_layer(settings, target)

    def forward(self, source: Tensor, target: Tensor, packed: bool = False) -> Tensor:
        states, _ = self.decode(self.target_embedding(target), self.start(source))  # [S, T, D]
        self.note(states=states)
        return PADDED.only_real(states, target) if packed else states

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Source ids [S, K] → outputs of the encoder, and what it read, [S, K, D] each."""
        real = (source != PAD).unsqueeze(2)  #                  [S, K, 1]
        x = embedded = self.source_embedding(source) * real  #  [S, K, D]
        for layer in self.encoder:
            x = layer(x, real)
        self.note(memory=x)
        return x, embedded

    def encoder_states(self, source: Tensor) -> Tensor:
        return PADDED.only_real(self.encode(source)[0], source)

    def start(self, source: Tensor) -> ConvolutionalState:
        x, embedded = self.encode(source)
        # A key tells what the encoder made of a position; its value adds which token it is (the paper's equation 2).
        memory = Memory(x, (x + embedded) * HALF, (source != PAD).unsqueeze(1))
        past = x.new_zeros(len(source), self.kernel - 1, x.size(2))
        return ConvolutionalState(memory, [past] * len(self.decoder))

    def advance(self, last: Tensor, state: ConvolutionalState) -> tuple[Tensor, ConvolutionalState]:
        states, state = self.decode(self.target_embedding(last[:, None], state.length), state)  # [N, 1, D]
        return states.squeeze(1), state

    def decode(self, embedded: Tensor, state: ConvolutionalState) -> tuple[Tensor, ConvolutionalState]:
        """Embedded tokens [N, T, D] → states that the output is made from [N, T, D], and the state after."""
        x, pasts = embedded, []
        for layer, past in zip(self.decoder, state.pasts, strict=True):
            x, past = layer(x, past, embedded, state.memory)
            pasts.append(past)
        return self.drop(x), replace(state, pasts=pasts, length=state.length + embedded.size(1))

    def attention_names(self) -> dict[str, list[str]]:
        return {"cross": [f"decoder.{layer}.attention" for layer in range(len(self.decoder))]}
