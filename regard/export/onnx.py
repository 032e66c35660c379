"""regard's Transformer for onnxruntime: two graphs, one that reads and one that writes a token, and an engine that runs
them under our own search.

S sentences · W hypotheses of each · N = S·W rows · K source positions · T tokens so far · L decoder layers · H heads
· E width of a head · D width · V vocabulary
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.attention.layout import PADDED
from regard.attention.scaled_dot import attend_unchecked as attend
from regard.data.tokenizer import END, PAD
from regard.export.folder import describe, need, replacing, transformer_of
from regard.export.graphs import (
    NAME,
    OPSET,
    apply_residual,
    embed,
    encode,
    feed_forward_of,
    merge,
    open_graphs,
    run,
    save,
)
from regard.models.layers import DecoderLayer
from regard.models.transformer import Transformer
from regard.tasks.task import Trained

ENCODER, DECODER = "encoder.onnx", "decoder.onnx"
MEMORY = ("memory_key", "memory_value", "memory_mask")
CACHE = ("past_key", "past_value")
GROWN = ("key", "value")


def export_onnx(trained: Trained, folder: Path, *, made_from: str = "") -> None:
    """Write a folder with two graphs; docs/export.md says what goes in and comes out."""
    need("onnx")
    import onnx

    model, _ = transformer_of(trained, NAME)
    for embedding in (model.source_embedding, model.target_embedding):
        embedding.position_table(model.max_positions)  # whole before it is traced: a graph cannot make it longer
    reader, writer = EncoderGraph(model).eval(), DecoderGraph(model).eval()  # torch sets back what mode it finds
    with replacing(folder) as temporary:
        source = torch.tensor([[4, 5, END], [6, END, PAD]])  # any ids: shapes are what matters
        with torch.no_grad():
            memory = reader(source)
        layers, _, heads, _, width = memory[0].shape
        past_key, past_value = (torch.zeros(layers, 4, heads, 3, each.size(4)) for each in memory[:2])
        save(reader, (source,), temporary / ENCODER, ("source",), MEMORY, AXES)
        save(
            writer,
            (source.new_ones(4), past_key, past_value, *memory),
            temporary / DECODER,
            ("last", *CACHE, *MEMORY),
            ("logits", *GROWN),
            AXES,
        )
        shape = [layers, heads, width, past_value.size(4)]
        describe(temporary, trained, NAME, made_from, version=onnx.__version__, opset=OPSET, shape=shape)


AXES = {
    "source": {0: "sentences", 1: "source_positions"},
    "memory_key": {1: "sentences", 3: "source_positions"},
    "memory_value": {1: "sentences", 3: "source_positions"},
    "memory_mask": {0: "sentences", 1: "source_positions"},
    "last": {0: "rows"},
    "past_key": {1: "rows", 3: "written"},
    "past_value": {1: "rows", 3: "written"},
    "logits": {0: "rows"},
    "key": {1: "rows", 3: "written_now"},
    "value": {1: "rows", 3: "written_now"},
}


class EncoderGraph(nn.Module):
    """Source ids [S, K] → what the decoder looks at: keys and values [L, S, H, K, E], and where [S, K]."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        memory_mask = source != PAD  #                                       [S, K]
        x = encode(self.model.encoder, embed(self.model.source_embedding, source, 0), memory_mask)  # [S, K, D]
        memory = self.model.encoder_norm(x)
        read = [layer.cross_attention for layer in cast("Sequence[DecoderLayer]", self.model.decoder)]
        pairs = [attention.split(attention.key_value(memory), 2, PADDED) for attention in read]
        return torch.stack([key for key, _ in pairs]), torch.stack([value for _, value in pairs]), memory_mask


class DecoderGraph(nn.Module):
    """Last ids [N] and the keys and values so far [L, N, H, T, E] → logits [N, V], and both grown by one position."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        last: Tensor,
        past_key: Tensor,
        past_value: Tensor,
        memory_key: Tensor,
        memory_value: Tensor,
        memory_mask: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        keys, values = [], []
        x = embed(self.model.target_embedding, last[:, None], past_key.size(3))  # [N, 1, D]
        for number, layer in enumerate(cast("Sequence[DecoderLayer]", self.model.decoder)):
            own, cross = layer.self_attention, layer.cross_attention

            def attend_self(x: Tensor, number: int = number, own: Any = own) -> Tensor:
                query, key, value = own.split(own.query_key_value(x), 3, PADDED)  #   [N, H, 1, E]
                keys.append(torch.cat([past_key[number], key], 2))
                values.append(torch.cat([past_value[number], value], 2))
                return merge(own, attend(query, keys[-1], values[-1], scale=own.scale)[0])

            def attend_source(x: Tensor, number: int = number, cross: Any = cross) -> Tensor:
                together = x.view(memory_key.size(1), -1, x.size(2))  # [S, W, D]: a sentence's memory is held once
                (query,) = PADDED.split(cross.query(together), 1, cross.heads)
                mixed, _ = attend(
                    query, memory_key[number], memory_value[number], memory_mask[:, None, None], scale=cross.scale
                )
                return merge(cross, mixed).view(-1, 1, x.size(2))

            x = apply_residual(layer.after_self, x, attend_self)
            x = apply_residual(layer.after_cross, x, attend_source)
            x = feed_forward_of(layer, x)
        logits = self.model.output(self.model.decoder_norm(x))[:, 0]
        return logits, torch.stack(keys), torch.stack(values)


class OnnxModel:
    """The two graphs as something our search can step through."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        description, (self._reader, self._writer) = open_graphs(folder, (ENCODER, DECODER), threads)
        self.max_positions = int(description["recipe"]["model"]["max_positions"])
        self._shape = description["shape"]

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def start(self, source: Tensor) -> OnnxState:
        """Read the source once; nothing is written yet."""
        memory = run(self._reader, {"source": source})
        layers, heads, *widths = self._shape  # of keys and of values; exports of before had one for both
        nothing = [torch.zeros(layers, source.size(0), heads, 0, width) for width in (widths[0], widths[-1])]
        return OnnxState(memory, nothing, hypotheses=1)

    def step(self, last: Tensor, state: OnnxState) -> tuple[Tensor, OnnxState]:
        """The last id of each row [N] → logits for the next [N, V], and the state after."""
        given = dict(zip((*CACHE, *MEMORY), (*state.past, *state.memory), strict=True))
        logits, *past = run(self._writer, {"last": last, **given})
        return logits, OnnxState(state.memory, past, state.hypotheses)


@dataclass(frozen=True)
class OnnxState:
    """What goes into the decoder's graph besides the last token."""

    memory: list[Tensor]  # keys [L, S, H, K, E], values [.., F] and memory_mask [S, K]
    past: list[Tensor]  #   keys, values [L, N, H, T, E]
    hypotheses: int  #      W

    def select(self, rows: Tensor) -> OnnxState:
        """rows [S', W']: for each sentence that goes on, the rows that continue it."""
        key, value, memory_mask = self.memory
        sentences = rows[:, 0] // self.hypotheses
        if sentences.numel() < memory_mask.size(0):
            key, value, memory_mask = key[:, sentences], value[:, sentences], memory_mask[sentences]
        past = [each.index_select(1, rows.flatten()) for each in self.past]
        return OnnxState([key, value, memory_mask], past, rows.size(1))
