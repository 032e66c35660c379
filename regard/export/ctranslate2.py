"""regard's Transformer for CTranslate2: the conversion, straight from the weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
from torch import Tensor, nn

from regard import config
from regard.attention.multi_head import MultiHead
from regard.data.tokenizer import END, START, UNKNOWN, Side, Tokenizer
from regard.export.folder import CTRANSLATE2, describe, need, replacing, transformer_of
from regard.models.layers import DecoderLayer, Embedding, EncoderLayer
from regard.models.transformer import Transformer
from regard.tasks.task import Trained
from regard.tasks.translation.warnings import alignment_layer

NAME = CTRANSLATE2
ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "swish": "SWISH"}


def export_ctranslate2(trained: Trained, folder: Path, *, int8: bool = False, made_from: str = "") -> None:
    """Write a folder that CTranslate2 can load; `int8` stores matrices in 8 bits, a quarter of the size."""
    with replacing(folder) as temporary:
        write_model(trained, temporary, int8=int8, made_from=made_from)


def write_model(trained: Trained, folder: Path, *, int8: bool = False, made_from: str = "") -> None:
    """The files of an export into a folder that is there."""
    need(NAME)
    import ctranslate2

    model = specification(*transformer_of(trained, NAME), trained.assets.tokenizer)
    model.validate()
    model.optimize(quantization="int8" if int8 else None)
    model.save(str(folder))
    describe(folder, trained, NAME, made_from, int8=int8, version=ctranslate2.__version__)


def specification(model: Transformer, settings: config.Transformer, tokenizer: Tokenizer) -> Any:
    """The model in CTranslate2's terms."""
    from ctranslate2.specs import Activation, TransformerSpec

    found = TransformerSpec.from_config(
        (settings.encoder_layers, settings.decoder_layers),
        settings.heads,
        pre_norm=settings.norm == "pre",
        activation=Activation[ACTIVATIONS[settings.activation]],
        alignment_layer=alignment_layer(settings.decoder_layers),
        alignment_heads=settings.heads,
    )
    tokens: dict[Side, list[str]] = {
        side: tokenizer.tokens(range(tokenizer.size(side)), side) for side in ("source", "target")
    }
    found.register_source_vocabulary(tokens["source"])
    found.register_target_vocabulary(tokens["target"])
    found.config.unk_token, found.config.bos_token = tokens["target"][UNKNOWN], tokens["target"][START]
    found.config.eos_token, found.config.decoder_start_token = tokens["target"][END], tokens["target"][START]
    found.config.add_source_eos = True  # what a model of regard reads ends with the end
    found.config.layer_norm_epsilon = settings.norm_epsilon
    fill_embedding(found.encoder.embeddings[0], found.encoder, model.source_embedding, settings.max_positions)
    fill_embedding(found.decoder.embeddings, found.decoder, model.target_embedding, settings.max_positions)
    for layer, reading in zip(found.encoder.layer, model.encoder, strict=True):
        fill_encoder_layer(layer, cast(EncoderLayer, reading))
    for layer, writing in zip(found.decoder.layer, model.decoder, strict=True):
        fill_decoder_layer(layer, cast(DecoderLayer, writing))
    if settings.norm == "pre":
        fill_norm(found.encoder.layer_norm, model.encoder_norm)
        fill_norm(found.decoder.layer_norm, model.decoder_norm)
    found.decoder.projection.weight = values(model.output.weight)
    return found


def fill_embedding(embedding: Any, stack: Any, ours: Embedding, max_positions: int) -> None:
    embedding.weight = values(ours.table.weight)
    stack.scale_embeddings = True  # by √D
    nothing = ours.table.weight.new_zeros(
        max_positions, ours.table.embedding_dim
    )  # CTranslate2 would add sines of its own
    stack.position_encodings.encodings = values(nothing if ours.positions is None else ours.positions.rows())


def fill_encoder_layer(layer: Any, ours: EncoderLayer) -> None:
    fill_self_attention(layer.self_attention, ours)
    fill_feed_forward(layer.ffn, ours)


def fill_decoder_layer(layer: Any, ours: DecoderLayer) -> None:
    fill_self_attention(layer.self_attention, ours)
    fill_scale(layer.attention, ours.cross_attention)
    fill_linear(layer.attention.linear[0], ours.cross_attention.query)
    fill_linear(layer.attention.linear[1], ours.cross_attention.key_value)
    fill_linear(layer.attention.linear[2], ours.cross_attention.output)
    fill_norm(layer.attention.layer_norm, ours.after_cross.norm)
    fill_feed_forward(layer.ffn, ours)


def fill_self_attention(attention: Any, ours: EncoderLayer | DecoderLayer) -> None:
    fill_scale(attention, ours.self_attention)
    fill_linear(attention.linear[0], ours.self_attention.query_key_value)
    fill_linear(attention.linear[1], ours.self_attention.output)
    fill_norm(attention.layer_norm, ours.after_self.norm)


def fill_scale(attention: Any, ours: MultiHead) -> None:
    if not ours.scale:
        attention.queries_scale = np.dtype("float32").type(1.0)


def fill_feed_forward(network: Any, ours: EncoderLayer | DecoderLayer) -> None:
    if ours.feed_forward is not None and ours.after_feed_forward is not None:  # a model without is refused before
        fill_linear(network.linear_0, ours.feed_forward.widen)
        fill_linear(network.linear_1, ours.feed_forward.narrow)
        fill_norm(network.layer_norm, ours.after_feed_forward.norm)


def fill_linear(linear: Any, ours: nn.Linear) -> None:
    linear.weight = values(ours.weight)
    if ours.bias is not None:
        linear.bias = values(ours.bias)


def fill_norm(norm: Any, ours: nn.Module) -> None:
    norm.gamma, norm.beta = (values(ours.get_parameter(name)) for name in ("weight", "bias"))


def values(tensor: Tensor) -> np.ndarray[Any, np.dtype[np.float32]]:
    """A copy, for CTranslate2 rounds in place."""
    return tensor.detach().float().cpu().numpy().copy()
