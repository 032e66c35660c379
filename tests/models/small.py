"""Small models of every architecture, and ragged ids, for the tests of models."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard import config
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.tasks.registry import build

VOCABULARY = 31


RIVALS: list[dict[str, Any]] = [
    {"architecture": "rnn"},
    {"architecture": "rnn", "cell": "gru", "tied": False},
    {"architecture": "rnn-attention"},
    {"architecture": "rnn-attention", "cell": "gru", "score": "dot", "tied": False},
    {"architecture": "rnn-attention", "input_feeding": False},
    {"architecture": "conv"},
    {"architecture": "conv", "kernel": 5, "tied": False},
    {"architecture": "conv", "kernel": 1},
]


TAKEN_OUT: list[dict[str, Any]] = [
    {"positions": "none"},
    {"residual": False},
    {"norm": "none"},
    {"scale": False},
    {"feed_forward": 0},
    {"bias": False},
    {"activation": "gelu"},
    {"activation": "swish", "norm": "pre"},
    {"norm_epsilon": 0.2},
    {"residual": False, "norm": "pre"},
    {"positions": "none", "residual": False, "norm": "none", "scale": False, "feed_forward": 0, "bias": False},
]
"""Transformers that lack a part, or have another in its place."""


def small_model(seed: int = 0, **changes: Any) -> Model:
    """In double precision, so that a law holds to twelve digits or is broken."""
    settings: dict[str, Any] = dict(width=16, encoder_layers=2, decoder_layers=3, dropout=0.1, max_positions=40)
    kind = config.TASKS["translation"].architectures[changes.get("architecture", "transformer")].settings
    if kind is config.Transformer:
        settings |= dict(feed_forward=24, heads=4)
    torch.manual_seed(seed)
    model = build(kind(**{**settings, **changes}), VOCABULARY, VOCABULARY)
    for parameter in model.parameters():  # biases start at 0 and norms at 1, which could hide a mistake
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter, mean=parameter.mean().item(), std=0.2)
    return model.double().eval()


def ragged(lengths: list[int], seed: int = 0, width: int | None = None) -> Tensor:
    """Random ids, padded to the longest or to `width`: [rows, width]."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.zeros(len(lengths), width or max(lengths), dtype=torch.long)
    for row, length in zip(ids, lengths, strict=True):
        row[:length] = torch.randint(4, VOCABULARY, (length,), generator=generator)
    return ids


def assert_same(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)
