"""Settings → model: the one table of architectures."""

from __future__ import annotations

from typing import Any

import torch

from regard import config
from regard.models.conv import Convolutional
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.models.rnn import Recurrent, RecurrentAttention
from regard.models.transformer import Transformer

__all__ = ["MODELS", "Model", "build", "count_parameters"]

MODELS: dict[str, Any] = {
    "transformer": Transformer,
    "rnn": Recurrent,
    "rnn-attention": RecurrentAttention,
    "conv": Convolutional,
}


def build(settings: config.Model, source_size: int, target_size: int) -> Model:
    """An untrained model; torch's seed decides its weights."""
    model: Model = MODELS[settings.architecture](settings, source_size, target_size)
    return model


def count_parameters(settings: config.Model, source_size: int, target_size: int) -> int:
    """How many numbers such a model learns; it is built without any memory for them."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in build(settings, source_size, target_size).parameters())
