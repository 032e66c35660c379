"""The decoder alone: what was written so far → what comes next (Radford et al. 2018), and its recurrent rival.

S texts · W hypotheses of each · N = S·W rows · K positions of the prompt · T positions · D width · V vocabulary
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from torch import Tensor, nn

from regard import config
from regard.attention.cache import KeyValueCache
from regard.attention.dropout import Dropout
from regard.attention.layout import PADDED, lay_out
from regard.attention.masks import additive_mask, causal_mask
from regard.attention.positions import positions_of
from regard.models.adaptive import Output, output_of, table_of
from regard.models.autoregressive import AutoregressiveModel, DecoderState
from regard.models.inference import for_inference, watched
from regard.models.layers import Embedding, EncoderLayer, Reader, last_norm
from regard.models.pointer import Pointer, PointerMemory, PointerOutput
from regard.models.rnn import RecurrentStack, RecurrentState


class LanguageModel(AutoregressiveModel):
    """Ids in, hidden states out. It starts from ids that were written before [S, K], all of them real."""

    embedding: Embedding
    output: Output
    pointer: Pointer | None

    @abstractmethod
    def forward(self, ids: Tensor, packed: bool = False) -> Tensor:
        """Ids [S, T] → states [S, T, D], each seeing only its past; `packed` gives those of real positions only [N, D]."""

    def point(self, states: Tensor, ids: Tensor) -> PointerOutput | None:
        """What states [S, T, D] after ids [S, T] expect to come again, if the model has a pointer."""
        if self.pointer is None:
            return None
        past = additive_mask(causal_mask(ids.size(1), device=ids.device), states.dtype)
        pointed: PointerOutput = self.pointer(states, self.pointer.memory(states, ids), past)
        return pointed

    def project(self, states: Tensor, pointed: PointerOutput | None = None) -> Tensor:
        """States [.., D] → logits [.., V], with what they point at."""
        logits: Tensor = self.output(states)
        if pointed is not None:
            logits = pointed.mix(logits.log_softmax(-1))
        self.note(logits=logits)
        return logits


@dataclass(frozen=True)
class LanguageModelState(DecoderState):
    """Besides, what can be pointed at."""

    pointer_memory: PointerMemory | None = None

    def with_pointer_memory(self, more: PointerMemory) -> LanguageModelState:
        before = self.pointer_memory
        return replace(self, pointer_memory=more if before is None else before.append(more))

    def select_sentences(self, sentences: Tensor) -> LanguageModelState:
        memory = self.pointer_memory and self.pointer_memory.select(sentences)
        return replace(super().select_sentences(sentences), pointer_memory=memory)


class TransformerLanguageModel(LanguageModel):
    """Layers of self-attention that look only back, and nothing else to look at."""

    reader: ClassVar[Reader] = Reader()

    def __init__(self, settings: config.TextDecoder, size: int) -> None:
        super().__init__()
        self.max_positions, self.heads = settings.max_positions, settings.heads
        table = table_of(settings, size)
        positions = positions_of(settings.positions, settings.max_positions, settings.width)
        self.embedding = Embedding(table, settings.entering_dropout, positions)
        self.layers = nn.ModuleList(EncoderLayer(settings) for _ in range(settings.layers))
        self.norm = last_norm(settings)
        self.drop = Dropout(settings.leaving_dropout)
        self.output = output_of(table if settings.tied else table_of(settings, size), settings.cutoffs)
        self.pointer = Pointer(settings.width) if settings.pointer else None

    def forward(self, ids: Tensor, packed: bool = False) -> Tensor:
        layout = lay_out(ids, packed)
        mask = causal_mask(ids.size(1), device=ids.device)  # padding is last, hence in the future
        x = self.embedding(ids, layout=layout)  #                      [S, T, D]
        for layer in self.layers:
            x = layer(x, mask, layout)
        states: Tensor = self.drop(self.norm(x))
        self.note(states=states)
        return layout.only_real(states, ids) if packed else states

    def start(self, source: Tensor) -> LanguageModelState:
        caches, layers = [KeyValueCache() for _ in self.layers], for_inference(self.layers)
        state = LanguageModelState(caches, layers=layers, length=source.size(1))
        if source.size(1):
            x = self.embedding(source)  #  [S, K, D]
            mask = additive_mask(causal_mask(source.size(1), device=source.device), x.dtype)
            for layer, cache in zip(layers, caches, strict=True):
                x = layer(x, mask, cache=cache)
            if self.pointer is not None:
                state = state.with_pointer_memory(self.pointer.memory(self.norm(x), source))
        return state

    def advance(self, last: Tensor, state: LanguageModelState) -> tuple[Tensor, LanguageModelState]:
        x = self.embedding(last[:, None], state.length)  #  [N, 1, D]
        x = x.view(-1, state.hypotheses, x.size(-1))  #     [S, W, D]
        state = state.extend()
        layers = self.decoder_layers() if watched() else state.layers
        for layer, cache in zip(layers, state.caches, strict=True):
            x = layer(x, state.past_mask, cache=cache)
        states: Tensor = self.norm(x)
        if self.pointer is not None:
            state = state.with_pointer_memory(self.pointer.memory(states, last.view(states.shape[:2])))
        return states.flatten(0, 1), state  #               [N, D]

    def step(self, last: Tensor, state: LanguageModelState) -> tuple[Tensor, LanguageModelState]:
        states, state = self.advance(last, state)
        if self.pointer is None or state.pointer_memory is None:
            return self.project(states), state
        mask = None if state.past_mask is None else state.past_mask.squeeze(1)  # [S, W, T]
        rows = states.view(-1, state.hypotheses, states.size(-1))  # [S, W, D]
        pointed = self.pointer(rows, state.pointer_memory, mask)
        return self.project(rows, pointed).flatten(0, 1), state

    def decoder_layers(self) -> Iterable[EncoderLayer]:
        return cast("Iterable[EncoderLayer]", self.layers)  # ModuleList does not tell what it holds

    def attention_names(self) -> dict[str, list[str]]:
        return {"decoder": [f"layers.{layer}.self_attention" for layer in range(len(self.layers))]}


class RecurrentLanguageModel(LanguageModel):
    """A state that is carried from token to token (Mikolov et al. 2010, with LSTM or GRU cells)."""

    def __init__(self, settings: config.RecurrentDecoder, size: int) -> None:
        super().__init__()
        self.max_positions = settings.max_positions
        table = table_of(settings, size)
        self.embedding = Embedding(table, settings.entering_dropout)
        self.stack = RecurrentStack(settings, settings.width, settings.layers)
        self.drop = Dropout(settings.leaving_dropout)
        self.output = output_of(table if settings.tied else table_of(settings, size), settings.cutoffs)
        self.layers, self.width, self.pointer = settings.layers, settings.width, None

    def forward(self, ids: Tensor, packed: bool = False) -> Tensor:
        states, _ = self.decode(ids, self.initial_state(len(ids)))  # [S, T, D]
        self.note(states=states)
        return PADDED.only_real(states, ids) if packed else states

    def decode(self, ids: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Ids [N, T] after a state [N, L, P, D] → states [N, T, D], and the state after."""
        outputs, hidden = self.stack(self.embedding(ids), hidden)
        return self.drop(outputs), hidden

    def initial_state(self, rows: int) -> Tensor:
        weight = next(self.parameters())
        return weight.new_zeros(rows, self.layers, self.stack.state_tensors, self.width)  # [N, L, P, D]

    def start(self, source: Tensor) -> RecurrentState:
        hidden = self.initial_state(len(source))
        return RecurrentState(self.decode(source, hidden)[1] if source.size(1) else hidden)

    def advance(self, last: Tensor, state: RecurrentState) -> tuple[Tensor, RecurrentState]:
        states, hidden = self.decode(last[:, None], state.hidden)  # [N, 1, D]
        return states.squeeze(1), RecurrentState(hidden, hypotheses=state.hypotheses)

    def attention_names(self) -> dict[str, list[str]]:
        return {}
