"""Who may look at whom. In every mask of regard, True = may look; `additive_mask` turns one into what is added to scores.

B batch · Q query positions · K key positions
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.errors import UsageError

PAD = 0  # the id that fills up rows


def padding_mask(ids: Tensor) -> Tensor:
    """Nobody looks at padding: ids [B, K] → [B, 1, 1, K], the same for every head and query."""
    if ids.ndim != 2:
        raise UsageError(
            f"a padding mask is made of ids [batch, positions], not of a tensor of shape {list(ids.shape)}"
        )
    return (ids != PAD)[:, None, None, :]


def causal_mask(queries: int, keys: int | None = None, device: torch.device | None = None) -> Tensor:
    """No position looks at a later one: [Q, K]. With more keys than queries, the queries are the last positions."""
    keys = queries if keys is None else keys
    if min(queries, keys) < 0:
        raise UsageError(f"there are no {queries} queries or {keys} keys to make a mask for")
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def additive_mask(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """0 where a query may look, else the lowest number: for a mask that many attentions share, made once for all.

    The lowest finite number and not -inf, as a row of -inf would make softmax NaN. No query may be without a key.
    """
    return (~mask).to(dtype).mul_(torch.finfo(dtype).min)


def as_numbers(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """`additive_mask` of a mask, or what is numbers already."""
    return additive_mask(mask, dtype) if mask.dtype == torch.bool else mask


def as_mask(mask: Tensor) -> Tensor:
    """The other way round: True where a query may look, also if numbers say so."""
    return mask if mask.dtype == torch.bool else mask == 0
