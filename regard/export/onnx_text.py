"""Classifiers and language models for onnxruntime: a graph each, and what runs it.

S texts, or rows that are written · T positions · P positions of the past · L layers · H heads · E width of a key, F of a value
· D width · C labels · V vocabulary
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
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
from regard.models.classifier import (
    ConvolutionalClassifier,
    NgramBag,
    RecurrentAttentionClassifier,
    RecurrentClassifier,
    TransformerClassifier,
)
from regard.models.conv import HALF
from regard.models.conv import EncoderLayer as ConvolutionalLayer
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
        self.model, self.states = model, CLASSIFIERS[type(model)](model)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        ids = ids.masked_fill(~mask, PAD)
        nothing = float("-inf") if self.model.pooling == "max" else 0.0
        rows = self.states(embed(self.model.embedding, ids, 0), mask).masked_fill(~mask[:, :, None], nothing)
        logits: Tensor = self.model.output(self.model.pool_rows(rows, mask))
        return logits if self.model.ngram_bag is None else logits + ngram_logits(self.model.ngram_bag, ids)


class AttentionStates(nn.Module):
    """Embedded tokens [S, T, D] and which are real [S, T] → states [S, T, D]."""

    def __init__(self, model: TransformerClassifier) -> None:
        super().__init__()
        self.model = model
        model.embedding.position_table(model.max_positions)  # whole before it is traced: a graph cannot make it longer

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        states: Tensor = self.model.norm(encode(self.model.layers, x, mask))
        return states


class RecurrentStates(nn.Module):
    """The same, without packing, which graphs do not know: padding is last, so what reads from the left meets it too late."""

    def __init__(self, model: RecurrentClassifier) -> None:
        super().__init__()
        layers = cast("Sequence[nn.LSTM | nn.GRU]", model.stack.layers)
        self.forwards = nn.ModuleList(one_way(layer, "") for layer in layers)
        self.backwards = nn.ModuleList(one_way(layer, "_reverse") for layer in layers if layer.bidirectional)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        length, place = mask.sum(1, keepdim=True), torch.arange(mask.size(1))  # [S, 1], [T]
        from_right = torch.where(place < length, length - 1 - place, place)  # [S, T]: places of the real tokens
        for number, layer in enumerate(self.forwards):
            outputs = layer(x)[0]
            if len(self.backwards):
                back = self.backwards[number](reordered(x, from_right))[0]
                outputs = torch.cat([outputs, reordered(back, from_right)], 2)
            x = outputs
        return x


def one_way(layer: nn.LSTM | nn.GRU, suffix: str) -> nn.LSTM | nn.GRU:
    """A layer that reads in one of the directions of another."""
    made = type(layer)(layer.input_size, layer.hidden_size, batch_first=True)
    made.load_state_dict({name: getattr(layer, name + suffix) for name, _ in made.named_parameters()})
    return made


def reordered(x: Tensor, places: Tensor) -> Tensor:
    """x [S, T, D] in another order of positions [S, T]."""
    return x.gather(1, places[:, :, None].expand(-1, -1, x.size(2)))


class ConvolutionalStates(nn.Module):
    """The same; windows are slices side by side, because graphs unfold only what has a fixed length."""

    def __init__(self, model: ConvolutionalClassifier) -> None:
        super().__init__()
        self.convolutions = [layer.convolution for layer in cast("Sequence[ConvolutionalLayer]", model.layers)]

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        real = mask[:, :, None].to(x.dtype)  # [S, T, 1]
        x = x * real
        for convolution in self.convolutions:
            side = x.new_zeros(x.size(0), convolution.kernel // 2, x.size(2))
            padded = torch.cat([side, x, side], 1)  # [S, T + k - 1, D]
            windows = [padded[:, place : place + x.size(1)] for place in range(convolution.kernel)]
            x = (nn.functional.glu(convolution.linear(torch.cat(windows, 2))) + x) * HALF * real
        return x


CLASSIFIERS: dict[type[nn.Module], Callable[[Any], nn.Module]] = {
    TransformerClassifier: AttentionStates,
    RecurrentClassifier: RecurrentStates,
    RecurrentAttentionClassifier: RecurrentStates,
    ConvolutionalClassifier: ConvolutionalStates,
}


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


class WritingGraph(nn.Module, ABC):
    """What a graph of a language model says of its memory: tensors by name, and along which axis each grows."""

    grows: dict[str, tuple[int, int | None]]
    """By name of what is remembered: the axis of rows, and that of positions if it has one."""

    @abstractmethod
    def memory(self, rows: int, past: int) -> dict[str, Tensor]:
        """What so many rows remember after so many tokens, all zeros."""

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
