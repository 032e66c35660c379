"""What every graph of ONNX is made of: the layers of regard in operations that can be traced, and how one is written and run.

B batch · Q query positions · K key positions · L layers · H heads · E width of a head · D width
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.jit._trace import TracerWarning

from regard.attention.layout import PADDED
from regard.attention.scaled_dot import attend_unchecked as attend
from regard.errors import CheckpointError
from regard.export.folder import need, read_description
from regard.models.layers import ACTIVATIONS, AttentionLayer, Embedding, EncoderLayer, Residual

NAME = "onnx"
OPSET = 18  # the first that can tell two bits apart, which the hashes of n-grams need
Axes = Mapping[str, Mapping[int, str]]


def save(
    module: nn.Module,
    inputs: tuple[Tensor, ...],
    file: Path,
    input_names: Sequence[str],
    output_names: Sequence[str],
    axes: Axes,
) -> None:
    """One graph, by the exporter that needs no further package; torch announces that there is a newer one."""
    import onnx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", TracerWarning)  # torch's own checks of a recurrent layer's shapes
        warnings.filterwarnings(
            "ignore", "Exporting a model to ONNX with a batch_size other than 1"
        )  # its state is an input
        torch.onnx.export(
            module,
            inputs,
            str(file),
            input_names=input_names,
            output_names=output_names,
            dynamic_axes={name: axes[name] for name in (*input_names, *output_names)},
            opset_version=OPSET,
            dynamo=False,
        )
    onnx.checker.check_model(str(file))


def open_graphs(folder: Path, names: Sequence[str], threads: int = 1) -> tuple[dict[str, Any], list[Any]]:
    """What an export says of itself, and its graphs ready to run."""
    need("onnxruntime")
    import onnxruntime as runtime

    description = read_description(folder)
    if description is None or description["engine"] != NAME or not all((folder / name).is_file() for name in names):
        raise CheckpointError(f"{folder} is no export of regard for onnxruntime; see `regard export --to {NAME}`")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors only
    try:
        return description, [
            runtime.InferenceSession(str(folder / name), options, providers=["CPUExecutionProvider"]) for name in names
        ]
    except Exception as error:  # onnxruntime's own kinds of exception have no parent but this
        raise CheckpointError(f"onnxruntime cannot load {folder}: {error}") from None


def run(session: Any, inputs: Mapping[str, Tensor]) -> list[Tensor]:
    """Named tensors in, all outputs out."""
    outputs: list[np.ndarray[Any, Any]] = session.run(None, {name: each.numpy() for name, each in inputs.items()})
    return [torch.from_numpy(each) for each in outputs]


def embed(embedding: Embedding, ids: Tensor, start: int) -> Tensor:
    vectors: Tensor = embedding.table(ids) * embedding.scale
    if embedding.positions is None:
        return vectors
    return vectors + embedding.positions.table[start : start + ids.size(1)]


def encode(layers: nn.ModuleList, x: Tensor, real: Tensor) -> Tensor:
    """x [B, K, D] → [B, K, D], each position seeing all that is real [B, K]."""
    for layer in cast("Sequence[EncoderLayer]", layers):
        attention = layer.self_attention

        def attend_self(x: Tensor, attention: Any = attention) -> Tensor:
            query, key, value = attention.split(attention.query_key_value(x), 3, PADDED)
            return merge(attention, attend(query, key, value, real[:, None, None], scale=attention.scale)[0])

        x = apply_residual(layer.after_self, x, attend_self)
        x = feed_forward_of(layer, x)
    return x


def apply_residual(residual: Residual, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
    update = sublayer(residual.norm(x) if residual.pre_norm else x)
    added = x + update if residual.adds else update
    return added if residual.pre_norm else cast("Tensor", residual.norm(added))


def feed_forward_of(layer: AttentionLayer, x: Tensor) -> Tensor:
    network, residual = layer.feed_forward, layer.after_feed_forward
    if network is None or residual is None:
        return x
    activate = ACTIVATIONS[network.activation]
    return apply_residual(residual, x, lambda x: network.narrow(activate(network.widen(x))))


def merge(attention: Any, mixed: Tensor) -> Tensor:
    output: Tensor = attention.output(mixed.transpose(1, 2).flatten(2))  # [B, H, Q, E] → [B, Q, D]
    return output
