"""Classifiers and language models for onnxruntime: a graph each, and what runs it.

S texts, or rows that are written · T positions · P positions of the past · L layers · H heads · E width of a key, F of a value
· D width · C labels · V vocabulary
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.attention.layout import PADDED
from regard.attention.scaled_dot import attend_unchecked as attend
from regard.data.tokenizer import PAD
from regard.errors import UsageError
from regard.export.folder import describe, need, replacing
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
from regard.models.classifier import NgramBag, TextClassifier
from regard.models.language_model import RecurrentLanguageModel, TransformerLanguageModel
from regard.models.layers import EncoderLayer
from regard.models.pointer import PointerMemory
from regard.tasks.task import Trained

MODEL = "model.onnx"


def export_classifier(trained: Trained, folder: Path, *, made_from: str = "") -> None:
    """Write a folder with one graph: ids and what of them is real → logits; docs/export.md says how to use it."""
    need(NAME)
    import onnx

    model = require_own(trained, CLASSIFIERS)
    if isinstance(model, TextClassifier):
        model.embedding.position_table(model.max_positions)  # whole before it is traced: a graph cannot make it longer
    ids = torch.tensor([[4, 5, 6, 7], [8, 9, PAD, PAD]])  # any: shapes are what matters
    texts = {0: "texts", 1: "positions"}
    axes = {"ids": texts, "mask": texts, "logits": {0: "texts"}}
    with replacing(folder) as temporary:
        save(ClassifierGraph(model).eval(), (ids, ids != PAD), temporary / MODEL, ("ids", "mask"), ("logits",), axes)
        describe(
            temporary, trained, NAME, made_from, version=onnx.__version__, opset=OPSET,
            labels=list(trained.assets.labels), temperature=trained.assets.temperature,
        )  # fmt: skip


class ClassifierGraph(nn.Module):
    """Ids [S, T] and which are real → logits [S, C]."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        ids = ids.masked_fill(~mask, PAD)
        states = CLASSIFIERS[type(self.model)](self.model, ids, mask)  # [S, T, D]
        logits: Tensor = self.model.output(pool(states, mask, self.model.pooling))
        return logits if self.model.ngram_bag is None else logits + ngram_logits(self.model.ngram_bag, ids)


def attention_states(model: TextClassifier, ids: Tensor, mask: Tensor) -> Tensor:
    states: Tensor = model.norm(encode(model.layers, embed(model.embedding, ids, 0), mask))
    return states


CLASSIFIERS: dict[type[nn.Module], Any] = {TextClassifier: attention_states}


def pool(states: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """[S, T, D] → [S, D]."""
    if pooling == "first":
        return states[:, 0]
    if pooling == "max":
        return states.masked_fill(~mask[:, :, None], float("-inf")).amax(1)
    return states.masked_fill(~mask[:, :, None], 0.0).sum(1) / mask.sum(1, keepdim=True)


def ngram_logits(bag: NgramBag, ids: Tensor) -> Tensor:
    """What `NgramBag` adds, in operations that a graph has; with padding to the longest n-gram, all lengths are always looked for."""
    ids = torch.cat([ids, ids.new_zeros(ids.size(0), bag.longest - 1)], 1)
    ngrams = bag.ngrams(ids, ShiftXor.apply)  # [S, G]
    counted = (ngrams != PAD).to(bag.table.weight.dtype)
    logits: Tensor = (bag.table(ngrams) * counted[:, :, None]).sum(1)  # [S, C]
    return logits * bag.scale(ngrams)


class ShiftXor(torch.autograd.Function):
    """numbers ^ (numbers >> bits) of signed numbers, which ONNX cannot shift: it divides what the divisor divides."""

    @staticmethod
    def forward(context: Any, numbers: Tensor, bits: int) -> Tensor:
        return numbers ^ (numbers >> bits)

    @staticmethod
    def symbolic(graph: Any, numbers: Any, bits: int) -> Any:
        divisor = graph.op("Constant", value_t=torch.tensor(1 << bits))
        multiple = graph.op("Sub", numbers, graph.op("Mod", numbers, divisor))  # what is left over is never below 0
        return graph.op("BitwiseXor", numbers, graph.op("Div", multiple, divisor))


class OnnxClassifier:
    """A classifier's graph, its labels and its temperature."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        description, (self._graph,) = open_graphs(folder, (MODEL,), threads)
        self.labels: list[str] = description["labels"]
        self.temperature = float(description["temperature"])

    def logits(self, ids: Tensor) -> Tensor:
        """Ids [S, T], filled up with 0 → logits [S, C], before the temperature calibrates them."""
        return run(self._graph, {"ids": ids, "mask": ids != PAD})[0]


def export_language_model(trained: Trained, folder: Path, *, made_from: str = "") -> None:
    """Write a folder with one graph: what is read next and what is remembered → logits after each token, and what is remembered now."""
    need(NAME)
    import onnx

    graph = require_own(trained, WRITERS)
    graph = WRITERS[type(graph)](graph).eval()
    ids, memory = torch.tensor([[4, 5, 6], [7, 8, 9]]), graph.memory(2, 4)
    with replacing(folder) as temporary:
        save(
            graph, (ids, *memory.values()), temporary / MODEL, ("ids", *(f"past_{name}" for name in memory)),
            ("logits", *memory), graph.axes(),
        )  # fmt: skip
        shapes = {
            name: [list(each.shape), str(each.dtype).removeprefix("torch.")]
            for name, each in graph.memory(1, 0).items()
        }
        describe(temporary, trained, NAME, made_from, version=onnx.__version__, opset=OPSET, memory=shapes)


class WritingGraph(nn.Module):
    """What a graph of a language model says of its memory: tensors by name, and along which axis each grows."""

    grows: dict[str, tuple[int, int | None]]
    """By name of what is remembered: the axis of rows, and that of positions if it has one."""

    def memory(self, rows: int, past: int) -> dict[str, Tensor]:
        """What so many rows remember after so many tokens, all zeros."""
        raise NotImplementedError

    def axes(self) -> dict[str, dict[int, str]]:
        named: dict[str, dict[int, str]] = {name: {0: "rows", 1: "positions"} for name in ("ids", "logits")}
        for name, (rows, positions) in self.grows.items():
            for prefix, word in (("past_", "past"), ("", "now")):
                named[prefix + name] = {rows: "rows"} if positions is None else {rows: "rows", positions: word}
        return named


class TransformerGraph(WritingGraph):
    """Ids [S, T] after P others → logits [S, T, V], and keys and values of all so far [L, S, H, P + T, E]."""

    def __init__(self, model: TransformerLanguageModel) -> None:
        super().__init__()
        self.model = model
        model.embedding.position_table(model.max_positions)  # whole before it is traced: a graph cannot make it longer
        self.grows = {"key": (1, 3), "value": (1, 3)}
        if model.pointer is not None:
            self.grows |= {"pointer_key": (0, 1), "pointer_token": (0, 1)}

    def memory(self, rows: int, past: int) -> dict[str, Tensor]:
        attentions = [layer.self_attention for layer in self.model.decoder_layers()]
        shape = len(attentions), rows, attentions[0].heads, past
        widths = attentions[0].total_key_width // shape[2], attentions[0].total_value_width // shape[2]
        found = {name: torch.zeros(*shape, width) for name, width in zip(("key", "value"), widths, strict=True)}
        if self.model.pointer is not None:
            width = self.model.embedding.table.embedding_dim
            found |= {
                "pointer_key": torch.zeros(rows, past, width),
                "pointer_token": torch.zeros(rows, past, dtype=torch.long),
            }
        return found

    def forward(self, ids: Tensor, past_key: Tensor, past_value: Tensor, *pointed: Tensor) -> tuple[Tensor, ...]:
        model, keys, values = self.model, [], []
        past = past_key.size(3)
        place = torch.arange(ids.size(1), device=ids.device)[:, None] + past  # [T, 1]
        seen = torch.arange(past + ids.size(1), device=ids.device) <= place  #   [T, P + T]
        x = embed(model.embedding, ids, past)  #                                 [S, T, D]
        for number, layer in enumerate(cast("Sequence[EncoderLayer]", model.layers)):
            own = layer.self_attention

            def attend_self(x: Tensor, number: int = number, own: Any = own) -> Tensor:
                query, key, value = own.split(own.query_key_value(x), 3, PADDED)  # [S, H, T, E]
                keys.append(torch.cat([past_key[number], key], 2))
                values.append(torch.cat([past_value[number], value], 2))
                return merge(own, attend(query, keys[-1], values[-1], seen, scale=own.scale)[0])

            x = apply_residual(layer.after_self, x, attend_self)
            x = feed_forward_of(layer, x)
        states = model.norm(x)
        remembered = torch.stack(keys), torch.stack(values)
        if model.pointer is None:
            return model.output(states), *remembered
        memory = PointerMemory(*pointed).append(model.pointer.memory(states, ids))
        hidden = torch.zeros(seen.shape).masked_fill(~seen, float("-inf"))
        mixed = model.pointer(states, memory, hidden).mix(model.output(states).log_softmax(-1))
        return mixed, *remembered, *memory


class RecurrentGraph(WritingGraph):
    """Ids [S, T] after a state [S, L, P, D] → logits [S, T, V], and the state after."""

    def __init__(self, model: RecurrentLanguageModel) -> None:
        super().__init__()
        self.model = model
        self.grows = {"state": (0, None)}

    def memory(self, rows: int, past: int) -> dict[str, Tensor]:
        return {"state": self.model.initial_state(rows)}

    def forward(self, ids: Tensor, past_state: Tensor) -> tuple[Tensor, Tensor]:
        states, state = self.model.decode(ids, past_state)
        return self.model.output(states), state


WRITERS: dict[type[nn.Module], type[WritingGraph]] = {
    TransformerLanguageModel: TransformerGraph,
    RecurrentLanguageModel: RecurrentGraph,
}


class OnnxLanguageModel:
    """A language model's graph. What is remembered goes from one call to the next; whole windows or single tokens, as one likes."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        description, (self._graph,) = open_graphs(folder, (MODEL,), threads)
        self._shapes: dict[str, tuple[list[int], str]] = description["memory"]

    def start(self, rows: int) -> dict[str, Tensor]:
        """What rows remember that have read nothing."""
        found = {}
        for name, (shape, kind) in self._shapes.items():
            axis = 1 if name in ("key", "value") else 0
            found[name] = torch.zeros(
                [rows if place == axis else size for place, size in enumerate(shape)], dtype=getattr(torch, kind)
            )
        return found

    def read(self, ids: Tensor, memory: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        """Ids [S, T] → logits after each [S, T, V], and what is remembered now."""
        given = {f"past_{name}": each for name, each in memory.items()}
        logits, *after = run(self._graph, {"ids": ids, **given})
        return logits, dict(zip(memory, after, strict=True))


def require_own(trained: Trained, known: Mapping[type[nn.Module], Any]) -> Any:
    """The model, if there is a graph for it: that of a plug-in may compute anything."""
    if type(trained.model) not in known:
        raise UsageError(f"{NAME} has no graph for models of the architecture {trained.recipe.model.architecture!r}")
    return trained.model
