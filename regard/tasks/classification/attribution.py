"""What a classifier's decision looked at: attention from the pooled vector down to the tokens, and gradient × input.

T positions · D width · C labels · L layers · H heads
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.attention.record import Record, record
from regard.models.classifier import NgramBag, TextClassifier

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class NgramContribution:
    """An n-gram and how much it adds to the label's log-odds."""

    first: int
    length: int
    contribution: float


@dataclass(frozen=True)
class Attribution:
    """Of one text and one label. Contributions are in log-odds of the label: +0.7 doubles its odds."""

    log_odds: float
    weights: NDArray[np.float32] | None
    """Every look: [L, H, T, T], rows sum to 1; None: no token looks at others."""
    attention: Numbers | None
    """[T], sums to 1: from which tokens attention can have carried what was pooled; None: the model has none."""
    gradient: Numbers
    """[T]: gradient × input of each token's vector."""
    ngrams: Numbers
    """[T]: what n-grams add, shared evenly among their tokens; zeros if the model has none."""
    ngram_contributions: Sequence[NgramContribution]
    """What each n-gram adds, wherever it stands."""
    logits: Sequence[Numbers]
    """[C] of what attention found, and of n-grams if the model has them; not calibrated."""
    record: Record
    """All recorded tensors of the pass."""


def attribute(model: TextClassifier, ids: Tensor, label: int, temperature: float) -> Attribution:
    """Read one text again, ids [1, T], with gradients; the model must not be training."""
    with torch.inference_mode(False), torch.enable_grad(), record(model) as seen:
        embedded = model.embed(ids).detach().requires_grad_()  # [T, D]
        states = model.encode(ids, embedded)  #                  [T, D]
        separate = model.separate_logits(states, ids)  #         [1, C] each
        logits = torch.stack(separate).sum(0)  #                 [1, C]
        wanted = log_odds(logits[0] / temperature, label)
        by_token, by_logit = torch.autograd.grad(wanted, [embedded, logits])
    with torch.inference_mode():
        vectors = seen["embedding"]["vectors"]
        gradient = (by_token * vectors).view(ids.size(1), -1).sum(-1)
        looks = [seen[name]["weights"] for name in model.attention_names().get("encoder", [])]  # [1, H, T, T] each
        weights = torch.cat(looks).float().cpu().numpy() if looks else None  # [L, H, T, T]
        pooled = _numbers(pooled_from(model, states, by_logit[0], seen))
        attention = pooled if weights is None else attention_rollout(weights.astype(np.float64), pooled)
        ngrams = contributions_of(model.ngram_bag, ids, by_logit[0]) if model.ngram_bag is not None else []
    return Attribution(
        wanted.item(), weights, attention if model.attention_names() else None, _numbers(gradient),
        _shared(ngrams, ids.size(1)), ngrams, [_numbers(each[0].detach()) for each in separate], seen,
    )  # fmt: skip


def log_odds(logits: Tensor, label: int) -> Tensor:
    """log p / (1 − p) of one label [C] → []: what all logits share drops out, and it does not flatten where p nears 1."""
    others = torch.cat([logits[:label], logits[label + 1 :]])
    return logits[label] - others.logsumexp(0)


def pooled_from(model: TextClassifier, states: Tensor, by_logit: Tensor, seen: Record) -> Tensor:
    """Which share of the pooled vector each position gave [T]; of `max`, each number counts as much as it decides."""
    if names := model.attention_names().get("pooling", []):
        return seen[names[0]]["weights"].view(-1)  # [1, 1, 1, T]
    if model.pooling == "mean":
        return torch.full_like(states[:, 0], 1 / len(states))
    if model.pooling in ("first", "last"):
        place = torch.arange(len(states), device=states.device)
        return (place == (0 if model.pooling == "first" else len(states) - 1)).to(states)
    most, winners = states.max(0)  # [D] each
    decides = ((by_logit @ model.output.weight) * most).abs()
    decides = decides / decides.sum() if decides.sum() > 0 else torch.full_like(decides, 1 / len(decides))
    return torch.zeros_like(states[:, 0]).index_add(0, winners, decides)


def attention_rollout(weights: Numbers, pooled: Numbers) -> Numbers:
    """Attention rollout (Abnar and Zuidema 2020): weights [L, H, T, T] and shares of the last layer [T] → of the first.

    A position keeps half of itself in every layer, for the way around attention, and mixes in the other half.
    """
    share = pooled
    for layer in weights.mean(1)[::-1]:
        share = (share + share @ layer) / 2
    return share


def contributions_of(bag: NgramBag, ids: Tensor, by_logit: Tensor) -> list[NgramContribution]:
    """Each n-gram wherever it stands; one that comes again counts once, divided among its places."""
    scale = bag.scale(bag.ngrams(ids))[0]
    buckets = [each[0] for each in bag.ngrams_by_length(ids)]
    _, inverse, counts = torch.unique(torch.cat(buckets), return_inverse=True, return_counts=True)
    values = (bag.table.weight[torch.cat(buckets)] @ by_logit) * scale / counts[inverse]  # [G]
    places = [(first, length) for length, found in enumerate(buckets, start=1) for first in range(len(found))]
    return [NgramContribution(*place, value) for place, value in zip(places, values.tolist(), strict=True)]


def _shared(ngrams: Sequence[NgramContribution], length: int) -> Numbers:
    shared = np.zeros(length)
    for each in ngrams:
        shared[each.first : each.first + each.length] += each.contribution / each.length
    return shared


def _numbers(values: Tensor) -> Numbers:
    return values.double().cpu().numpy()
