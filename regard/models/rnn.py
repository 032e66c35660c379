"""Recurrent translation, without attention (Sutskever et al. 2014) and with it (Bahdanau et al. 2015, Luong et al. 2015).

`Recurrent` passes on one vector of fixed length, however long the source. `RecurrentAttention` looks at all states of the
encoder again for every token: the difference between the two classes is the idea that the Transformer is made of.

S sentences · W hypotheses of each · N = S·W rows · K source positions · T target positions · L layers
· P tensors of a layer's state (an LSTM's hidden and cell, a GRU's hidden) · D width
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
from regard.attention.single_head import SCORES, AttentionOutput, Memory
from regard.models.encoder_decoder import EncoderDecoder, embeddings, output_layer
from regard.models.layers import Embedding
from regard.products import Linear

CELLS: dict[str, tuple[type[nn.LSTM] | type[nn.GRU], int]] = {"lstm": (nn.LSTM, 2), "gru": (nn.GRU, 1)}


class RecurrentStack(nn.Module):
    """Recurrent layers one above the other, with dropout between."""

    def __init__(
        self,
        settings: config.RecurrentModel,
        inputs: int,
        layers: int,
        bidirectional: bool = False,
    ) -> None:
        super().__init__()
        cell, self.state_tensors = CELLS[settings.cell]
        width = settings.width // 2 if bidirectional else settings.width
        self.layers = nn.ModuleList(
            cell(settings.width if layer else inputs, width, batch_first=True, bidirectional=bidirectional)
            for layer in range(layers)
        )
        self.drop = Dropout(settings.dropout)

    def encode(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """x [S, K, D] of these lengths → outputs [S, K, D], and the last layer's last state [S, P, D]."""
        for number, layer in enumerate(self.layers):
            packed = pack_padded_sequence(
                self.drop(x) if number else x, lengths.cpu(), batch_first=True, enforce_sorted=False
            )
            outputs, last = layer(packed)
            x, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.size(1))
        tensors = last if self.state_tensors > 1 else (last,)  # each [directions, S, D / directions]
        return x, torch.stack([each.transpose(0, 1).flatten(1) for each in tensors], 1)

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """x [N, T, D] and state [N, L, P, D] → outputs [N, T, D], and the state after."""
        after = []
        for number, layer in enumerate(self.layers):
            tensors = tuple(each.unsqueeze(0).contiguous() for each in state[:, number].unbind(1))  # P × [1, N, D]
            x, last = layer(self.drop(x) if number else x, tensors if self.state_tensors > 1 else tensors[0])
            after.append(torch.cat(last if self.state_tensors > 1 else (last,)))  # [P, N, D]
        return x, torch.stack(after).permute(2, 0, 1, 3)


@dataclass(frozen=True)
class RecurrentState:
    """All that a recurrent decoder remembers."""

    hidden: Tensor  #                [N, L, P, D]
    memory: Memory | None = None  #  the source, once per sentence, where the decoder may look at it
    input_feed: Tensor | None = None  # [N, 1, D], what came of the last attention
    hypotheses: int = 1  #           W

    def select(self, rows: Tensor) -> RecurrentState:
        """rows [S', W']: for each sentence that goes on, the rows that continue it."""
        sentences, flat = rows[:, 0] // self.hypotheses, rows.flatten()  # [S'], [N']
        memory = None if self.memory is None else self.memory.select(sentences)
        input_feed = None if self.input_feed is None else self.input_feed[flat]
        return RecurrentState(self.hidden[flat], memory, input_feed, rows.size(1))


class Recurrent(EncoderDecoder):
    """Reads the source into one state of fixed size, and writes the target from it."""

    bidirectional = False  # the last state of a reader from left to right is a summary of all it read

    def __init__(self, settings: config.Recurrent, source_size: int, target_size: int, input_feed: int = 0) -> None:
        """The decoder is fed so many numbers with each token besides its embedding (`input_feed`)."""
        super().__init__()
        self.max_positions = settings.max_positions
        width, layers = settings.width, settings.decoder_layers
        source, target = embeddings(settings, source_size, target_size)
        self.source_embedding = Embedding(source, settings.dropout)
        self.target_embedding = Embedding(target, settings.dropout)
        self.encoder = RecurrentStack(settings, width, settings.encoder_layers, self.bidirectional)
        self.decoder = RecurrentStack(settings, width + input_feed, layers)
        self.bridge = Linear(self.encoder.state_tensors * width, layers * self.decoder.state_tensors * width)
        self.drop = Dropout(settings.dropout)
        self.output = output_layer(settings, target)

    def forward(self, source: Tensor, target: Tensor, packed: bool = False) -> Tensor:
        states, _ = self.decode(self.target_embedding(target), self.start(source))  # [S, T, D]
        self.note(states=states)
        return PADDED.only_real(states, target) if packed else states

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """Source ids [S, K] → outputs of the encoder [S, K, D], and its last state [S, P, D]."""
        lengths = (source != PAD).sum(1).clamp(min=1)
        outputs, last = self.encoder.encode(self.source_embedding(source), lengths)
        self.note(memory=outputs)
        return outputs, last

    def encoder_states(self, source: Tensor) -> Tensor:
        return PADDED.only_real(self.encode(source)[0], source)

    def start(self, source: Tensor) -> RecurrentState:
        outputs, last = self.encode(source)
        hidden = self.bridge(last.flatten(1)).view(len(source), -1, *last.shape[1:])  #  [S, L, P, D]
        return RecurrentState(hidden, self.attention_memory(outputs, source != PAD))

    def advance(self, last: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        states, state = self.decode(self.target_embedding(last[:, None]), state)  # [N, 1, D]
        return states.squeeze(1), state

    def attention_memory(self, outputs: Tensor, real: Tensor) -> Memory | None:
        """What of the encoder's outputs [S, K, D] stays within reach: nothing."""
        return None

    def decode(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """Embedded tokens [N, T, D] → states that the output is made from [N, T, D], and the state after."""
        outputs, hidden = self.decoder(x, state.hidden)
        return self.drop(outputs), replace(state, hidden=hidden)

    def attention_names(self) -> dict[str, list[str]]:
        return {}


class RecurrentAttention(Recurrent):
    """Reads the source both ways, and looks at all of it for each token it writes."""

    bidirectional = True

    def __init__(self, settings: config.RecurrentAttention, source_size: int, target_size: int) -> None:
        super().__init__(settings, source_size, target_size, settings.width if settings.input_feeding else 0)
        self.attention = SCORES[settings.score](settings.width)
        self.join = Linear(2 * settings.width, settings.width)
        self.input_feeding = settings.input_feeding

    def attention_memory(self, outputs: Tensor, real: Tensor) -> Memory:
        return Memory(self.attention.project_keys(outputs), outputs, real.unsqueeze(1))

    def decode(self, x: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        """With input feeding one position after the other, for each is shown what the one before attended to."""
        memory = state.memory
        assert memory is not None, "`start` has read it"
        states, attentions = [], []
        for token in x.chunk(x.size(1), 1) if self.input_feeding else (x,):  # [N, 1, D], or all at once
            if self.input_feeding:
                input_feed = torch.zeros_like(token) if state.input_feed is None else state.input_feed
                token = torch.cat([token, input_feed], 2)  #    [N, 1, 2 × D]
            outputs, hidden = self.decoder(token, state.hidden)
            joined, attended = self.attend(outputs, memory)
            state = replace(state, hidden=hidden, input_feed=joined if self.input_feeding else None)
            states.append(joined)
            attentions.append(attended)
        self.attention.note_outputs(attentions, memory)
        return torch.cat(states, 1), state

    def attend(self, outputs: Tensor, memory: Memory) -> tuple[Tensor, AttentionOutput]:
        """Outputs of the decoder [N, T, D], joined by what they find in the source [N, T, D].

        The queries of a sentence are its positions in training, and its hypotheses in a search.
        """
        attended: AttentionOutput = self.attention(outputs.reshape(len(memory.key), -1, outputs.size(2)), memory)
        joined = torch.tanh(self.join(torch.cat([attended.context, attended.query], 2)))  # [S, Q, D]
        return self.drop(joined).view_as(outputs), attended

    def attention_names(self) -> dict[str, list[str]]:
        return {"cross": ["attention"]}
