"""Recurrent translation, without attention (Sutskever et al. 2014) and with it (Bahdanau et al. 2015, Luong et al. 2015).

`Recurrent` passes on one vector of fixed length, however long the source. `RecurrentAttention` looks at all states of the
encoder again for every piece: the difference between the two classes is the idea that the Transformer is made of.

S sentences · W hypotheses of each · N = S·W rows · K source positions · T target positions · L layers
· P parts of a state (an LSTM's hidden and cell, a GRU's hidden) · D width
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard import config
from regard.attention.dropout import Dropout
from regard.attention.layout import PADDED
from regard.attention.masks import PAD
from regard.attention.single_head import SCORES, Look, Memory
from regard.models.encoder_decoder import EncoderDecoder, embeddings, output_layer
from regard.models.layers import Embedding

CELLS: dict[str, tuple[type[nn.LSTM] | type[nn.GRU], int]] = {"lstm": (nn.LSTM, 2), "gru": (nn.GRU, 1)}


class Stack(nn.Module):
    """Recurrent layers one above the other, with dropout between."""

    def __init__(
        self, settings: config.Recurrent | config.RecurrentDecoder, inputs: int, layers: int, both_ways: bool = False
    ) -> None:
        super().__init__()
        cell, self.parts = CELLS[settings.cell]
        width = settings.width // 2 if both_ways else settings.width
        self.layers = nn.ModuleList(
            cell(settings.width if layer else inputs, width, batch_first=True, bidirectional=both_ways)
            for layer in range(layers)
        )
        self.drop = Dropout(settings.dropout)

    def read(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """x [S, K, D] of these lengths → outputs [S, K, D], and the last layer's last state [S, P, D]."""
        for number, layer in enumerate(self.layers):
            packed = pack_padded_sequence(
                self.drop(x) if number else x, lengths.cpu(), batch_first=True, enforce_sorted=False
            )
            outputs, last = layer(packed)
            x, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.size(1))
        parts = last if self.parts > 1 else (last,)  # each [directions, S, D / directions]
        return x, torch.stack([part.transpose(0, 1).flatten(1) for part in parts], 1)

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """x [N, T, D] and state [N, L, P, D] → outputs [N, T, D], and the state after."""
        after = []
        for number, layer in enumerate(self.layers):
            parts = tuple(part.unsqueeze(0).contiguous() for part in state[:, number].unbind(1))  # P × [1, N, D]
            x, last = layer(self.drop(x) if number else x, parts if self.parts > 1 else parts[0])
            after.append(torch.cat(last if self.parts > 1 else (last,)))  # [P, N, D]
        return x, torch.stack(after).permute(2, 0, 1, 3)


@dataclass(frozen=True)
class RecurrentState:
    """All that a recurrent decoder remembers."""

    hidden: Tensor  #                [N, L, P, D]
    memory: Memory | None = None  #  the source, once per sentence, where the decoder may look at it
    fed: Tensor | None = None  #     [N, 1, D], what came of the last look
    hypotheses: int = 1  #           W

    def select(self, rows: Tensor) -> RecurrentState:
        """rows [S', W']: for each sentence that goes on, the rows that continue it."""
        sentences, flat = rows[:, 0] // self.hypotheses, rows.flatten()  # [S'], [N']
        memory = None if self.memory is None else self.memory.select(sentences)
        fed = None if self.fed is None else self.fed[flat]
        return RecurrentState(self.hidden[flat], memory, fed, rows.size(1))


class Recurrent(EncoderDecoder):
    """Reads the source into one state of fixed size, and writes the target from it."""

    both_ways = False  # the last state of a reader from left to right is a summary of all it read

    def __init__(self, settings: config.Recurrent, source_size: int, target_size: int, fed: int = 0) -> None:
        """The decoder is `fed` so many numbers with each piece besides its embedding."""
        super().__init__()
        self.max_positions = settings.max_positions
        width, layers = settings.width, settings.decoder_layers
        source, target = embeddings(settings, source_size, target_size)
        self.source_embedding = Embedding(source, settings.dropout)
        self.target_embedding = Embedding(target, settings.dropout)
        self.encoder = Stack(settings, width, settings.encoder_layers, self.both_ways)
        self.decoder = Stack(settings, width + fed, layers)
        self.bridge = nn.Linear(self.encoder.parts * width, layers * self.decoder.parts * width)
        self.drop = Dropout(settings.dropout)
        self.output = output_layer(settings, target)

    def forward(self, source: Tensor, target: Tensor, packed: bool = False) -> Tensor:
        states, _ = self.write(self.target_embedding(target), self.start(source))  # [S, T, D]
        self.note(states=states)
        return PADDED.only_real(states, target) if packed else states

    def start(self, source: Tensor) -> RecurrentState:
        real = source != PAD  #                                                          [S, K]
        outputs, last = self.encoder.read(self.source_embedding(source), real.sum(1).clamp(min=1))
        hidden = self.bridge(last.flatten(1)).view(len(source), -1, *last.shape[1:])  #  [S, L, P, D]
        self.note(memory=outputs)
        return RecurrentState(hidden, self.remember(outputs, real))

    def advance(self, last: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        states, state = self.write(self.target_embedding(last[:, None]), state)  # [N, 1, D]
        return states.squeeze(1), state

    def remember(self, outputs: Tensor, real: Tensor) -> Memory | None:
        """What of the encoder's outputs [S, K, D] stays within reach: nothing."""
        return None

    def write(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Embedded pieces [N, T, D] → states that the output is made from [N, T, D], and the state after."""
        outputs, hidden = self.decoder(x, state.hidden)
        return self.drop(outputs), replace(state, hidden=hidden)

    def attention_names(self) -> dict[str, list[str]]:
        return {}


class RecurrentAttention(Recurrent):
    """Reads the source both ways, and looks at all of it for each piece it writes."""

    both_ways = True

    def __init__(self, settings: config.RecurrentAttention, source_size: int, target_size: int) -> None:
        super().__init__(settings, source_size, target_size, settings.width if settings.input_feeding else 0)
        self.attention = SCORES[settings.score](settings.width)
        self.join = nn.Linear(2 * settings.width, settings.width)
        self.feeding = settings.input_feeding

    def remember(self, outputs: Tensor, real: Tensor) -> Memory:
        return Memory(self.attention.read(outputs), outputs, real.unsqueeze(1))

    def write(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """With input feeding one position after the other, for each is shown what the one before attended to."""
        memory = state.memory
        assert memory is not None, "`start` has read it"
        states, looks = [], []
        for piece in x.chunk(x.size(1), 1) if self.feeding else (x,):  # [N, 1, D], or all at once
            if self.feeding:
                fed = torch.zeros_like(piece) if state.fed is None else state.fed
                piece = torch.cat([piece, fed], 2)  #           [N, 1, 2 × D]
            outputs, hidden = self.decoder(piece, state.hidden)
            joined, look = self.look(outputs, memory)
            state = replace(state, hidden=hidden, fed=joined if self.feeding else None)
            states.append(joined)
            looks.append(look)
        self.attention.show(looks, memory)
        return torch.cat(states, 1), state

    def look(self, outputs: Tensor, memory: Memory) -> tuple[Tensor, Look]:
        """Outputs of the decoder [N, T, D], joined by what they find in the source [N, T, D].

        The queries of a sentence are its positions in training, and its hypotheses in a search.
        """
        look: Look = self.attention(outputs.reshape(len(memory.key), -1, outputs.size(2)), memory)
        joined = torch.tanh(self.join(torch.cat([look.mixed, look.query], 2)))  # [S, Q, D]
        return self.drop(joined).view_as(outputs), look

    def attention_names(self) -> dict[str, list[str]]:
        return {"cross": ["attention"]}
