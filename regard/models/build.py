"""Settings → model: the one table of architectures."""

from __future__ import annotations

from typing import Any, overload

import torch
from torch import nn

from regard import config
from regard.models.classifier import TextClassifier
from regard.models.conv import Convolutional
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.models.language_model import LanguageModel, RecurrentLanguageModel, TransformerLanguageModel
from regard.models.rnn import Recurrent, RecurrentAttention
from regard.models.transformer import Transformer

__all__ = ["MODELS", "Model", "build", "count_parameters"]

MODELS: dict[type[config.Model], Any] = {
    config.Transformer: Transformer,
    config.Recurrent: Recurrent,
    config.RecurrentAttention: RecurrentAttention,
    config.Convolutional: Convolutional,
    config.TextEncoder: TextClassifier,
    config.TextDecoder: TransformerLanguageModel,
    config.RecurrentDecoder: RecurrentLanguageModel,
}


@overload
def build(settings: config.Translating, *sizes: int) -> Model: ...
@overload
def build(settings: config.TextEncoder, *sizes: int) -> TextClassifier: ...
@overload
def build(settings: config.Continuing, *sizes: int) -> LanguageModel: ...
@overload
def build(settings: config.Model, *sizes: int) -> nn.Module: ...


def build(settings: config.Model, *sizes: int) -> nn.Module:
    """An untrained model; torch's seed decides its weights.

    `sizes` are of its vocabularies: source and target of a translator, text and labels of a classifier.
    """
    model: nn.Module = MODELS[type(settings)](settings, *sizes)
    return model


def count_parameters(settings: config.Model, *sizes: int) -> int:
    """How many numbers such a model learns; it is built without any memory for them."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in build(settings, *sizes).parameters())
