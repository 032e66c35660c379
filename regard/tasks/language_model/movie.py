"""The frames of a language model's movie: how far it looks back in a few texts, and what it expects at each place by now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from regard.attention.record import record
from regard.data.tokenizer import Tokenizer
from regard.models.language_model import LanguageModel
from regard.tasks.language_model.page import tokens_read
from regard.view.arrays import pack_probabilities
from regard.view.inside import side_of


class Probe(NamedTuple):
    """Tokens as they are read, and as they should go on."""

    read: list[int]
    wanted: list[int]


def record_probes(model: LanguageModel, probes: Sequence[Probe], tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Attention to what was read before each token, and the token that was expected there; nothing if it has no attention."""
    modules = model.attention_names().get("decoder", [])
    return [_frame(model, modules, probe, tokenizer) for probe in probes] if modules else []


def _frame(model: LanguageModel, modules: list[str], probe: Probe, tokenizer: Tokenizer) -> dict[str, Any]:
    read = torch.tensor([probe.read], device=model.device)  # [1, T]
    with record(model) as seen:
        states = model(read)  # [1, T, D]
        expected = model.project(states, model.point(states, read))[0].argmax(-1)  # [T]
    weights = torch.stack([seen[module]["weights"][0] for module in modules])  # [L, H, T, T]
    text = tokenizer.decode(probe.wanted, "target")
    return {
        "source": side_of(text, tokens_read(tokenizer.tokens(probe.read, "target"))),
        "target": side_of(text, tokenizer.tokens(probe.wanted, "target")),
        "decoder": pack_probabilities(weights.float().cpu().numpy()),
        "text": tokenizer.decode(expected.tolist(), "target"),
    }
