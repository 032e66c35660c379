"""What a decision about a picture looked at: every layer and head, rollout, gradient × input, and the numbers of the walk.

T tokens: G × G patches, with `vit` a class token before them · D width · L layers · H heads · E width of one head
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.attention.record import record
from regard.models.vit import PictureClassifier

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class PictureAttribution:
    """Of one picture and one label. Contributions are in log-odds of the label: +0.7 doubles its odds."""

    log_odds: float
    weights: Numbers
    """Every look: [L, H, T, T], rows sum to 1."""
    pooled: Numbers
    """[T], sums to 1: how much each token's last state counts for the label."""
    rollout: Numbers
    """[G × G], of the looks of all layers followed down from there; what ends in the class token is left out."""
    gradient: Numbers
    """[G × G]: gradient × input of each patch's vector."""
    vectors: Numbers
    """[T, D] before positions are added."""
    query_key_value: Numbers
    """[3, L, H, T, E]"""
    states: Numbers
    """[T, D] after the last layer."""


def attribute(model: PictureClassifier, pictures: Tensor, label: int, temperature: float) -> PictureAttribution:
    """Look at one picture again, [1, C, H, W], with gradients; the model must not be training."""
    with torch.inference_mode(False), torch.enable_grad(), record(model) as seen:
        embedded = model.embed(pictures.clone()).detach().requires_grad_()  # [1, T, D]
        logits = model.classify(model.encode(embedded))[0] / temperature  #    [C]
        others = torch.cat([logits[:label], logits[label + 1 :]])
        wanted = logits[label] - others.logsumexp(0)
        (by_token,) = torch.autograd.grad(wanted, embedded)
    names, own = model.attention_names()["encoder"], seen["model"]
    weights = _numbers(torch.cat([seen[name]["weights"] for name in names]))  # [L, H, T, T]
    parts = [torch.cat([seen[name][part] for name in names]) for part in ("query", "key", "value")]
    pooled = own["pooling"][0] if "pooling" in own else torch.eye(1, embedded.size(1))[0]
    share = _numbers(pooled)
    for layer in weights.mean(1)[::-1]:  # half goes around attention (Abnar and Zuidema 2020)
        share = (share + share @ layer) / 2
    gradient = _numbers((by_token * own["vectors"])[0].sum(-1))  # [T]
    return PictureAttribution(
        wanted.item(), weights, _numbers(pooled), share[model.extra :], gradient[model.extra :],
        _numbers(own["vectors"][0]), _numbers(torch.stack(parts)), _numbers(own["states"][0]),
    )  # fmt: skip


def position_similarity(model: PictureClassifier) -> Numbers | None:
    """Cosine of each patch's position vector with each other one's [G × G, G × G]; None if there are no positions."""
    table = model.position_table()
    if table is None:
        return None
    rows = _numbers(table[model.extra :])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return np.asarray(rows @ rows.T)


def _numbers(values: Tensor) -> Numbers:
    return values.detach().double().cpu().numpy()
