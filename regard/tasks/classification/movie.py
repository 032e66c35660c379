"""The frames of a classifier's movie: which words of a few texts are looked at, and what the model would call them by now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.attention.record import record
from regard.data.batching import pad
from regard.data.tokenizer import Tokenizer
from regard.models.classifier import TextClassifier
from regard.tasks.classification.page import percent
from regard.view.arrays import pack_probabilities
from regard.view.inside import side_of
from regard.view.words import SPACE

QUERY = f"{SPACE}query"  # the one row of attention that pools


class Probe(NamedTuple):
    """A text as it is read, and what it is called."""

    ids: list[int]
    label: str


def record_probes(
    model: TextClassifier,
    probes: Sequence[Probe],
    tokenizer: Tokenizer,
    labels: Sequence[str],
    ratios: Tensor | None = None,
) -> list[dict[str, Any]]:
    """Attention within each probe, and the label that the model gives it now; nothing if it has no attention. `ratios` multiply
    the weights of n-grams."""
    return [_frame(model, probe, tokenizer, labels, ratios) for probe in probes] if model.attention_names() else []


def _frame(
    model: TextClassifier, probe: Probe, tokenizer: Tokenizer, labels: Sequence[str], ratios: Tensor | None
) -> dict[str, Any]:
    ids = torch.from_numpy(pad([np.array(probe.ids)], start=model.pooling == "first")).to(model.device)  # [1, T]
    with record(model) as seen:
        probabilities = model.classify(model.encode(ids), ids, ratios)[0].float().softmax(-1)  # [C]
    [(kind, modules)] = model.attention_names().items()
    weights = torch.stack([seen[module]["weights"][0] for module in modules])  # [L, H, T, T], or [1, 1, 1, T]
    tokens, best = tokenizer.tokens(ids[0].tolist(), "source"), int(probabilities.argmax())
    looking = tokens if weights.size(2) == len(tokens) and kind == "encoder" else [QUERY]
    return {
        "source": side_of(tokenizer.decode(probe.ids, "source"), tokens),
        "target": side_of(probe.label, looking),
        kind: pack_probabilities(weights.float().cpu().numpy()),
        "text": f"{labels[best]} {percent(probabilities[best].item())}",
    }
