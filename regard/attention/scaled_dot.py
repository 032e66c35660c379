"""Each query looks at every key it may, and takes a weighted mix of the values (the paper's section 3.2.1).

`attend` is the definition. `attend_fused` is the same function through torch's fused kernel, which never holds the
weights; tests hold the two equal.

B batch · H heads · Q query positions · K key positions · E width of a query or key · F width of a value
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    may_look: Tensor | None = None,
    *,
    temperature: float = 1.0,
    hard: bool = False,
    drop: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """The mix of values for each query, and the weights that made it. A query that may look at nothing gets zeros.

    `may_look` broadcasts to [B, H, Q, K]; True = may look. `hard` puts all weight on the best key, shared if tied.
    """
    scores = query @ key.transpose(-2, -1) / (temperature * query.size(-1) ** 0.5)  # [B, H, Q, K]
    weights = to_weights(scores, may_look, hard=hard)  #                              [B, H, Q, K], rows sum to 1
    mixed = drop(weights) if drop is not None else weights
    return mixed @ value, weights  #                                                  [B, H, Q, F], [B, H, Q, K]


def to_weights(scores: Tensor, may_look: Tensor | None = None, *, hard: bool = False) -> Tensor:
    """Scores → weights over the last axis. Shared by every kind of attention."""
    if may_look is not None:
        # The lowest finite number, not -inf: a row of -inf would make softmax and its gradient NaN.
        scores = scores.masked_fill(~may_look, torch.finfo(scores.dtype).min)
    weights = best_only(scores) if hard else scores.softmax(-1)
    return weights if may_look is None else weights.masked_fill(~may_look, 0.0)


def best_only(scores: Tensor) -> Tensor:
    """All weight on the highest score; equal best scores share it."""
    best = (scores == scores.amax(-1, keepdim=True)).to(scores.dtype)
    return best / best.sum(-1, keepdim=True)


def attend_fused(
    query: Tensor, key: Tensor, value: Tensor, may_look: Tensor | None = None, *, dropout: float = 0.0
) -> Tensor:
    """Soft attention without the weights, in one kernel."""
    if may_look is None:
        return functional.scaled_dot_product_attention(query, key, value, dropout_p=dropout)
    mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=may_look, dropout_p=dropout)
    return mixed.masked_fill(~may_look.any(-1, keepdim=True), 0.0)
