"""Who may look at whom. In every mask of regard, True = may look.

B batch · Q query positions · K key positions
"""

from __future__ import annotations

import torch
from torch import Tensor

PAD = 0  # the id that fills up rows


def padding_mask(ids: Tensor) -> Tensor:
    """Nobody looks at padding: ids [B, K] → [B, 1, 1, K], the same for every head and query."""
    return (ids != PAD)[:, None, None, :]


def causal_mask(queries: int, keys: int | None = None, device: torch.device | None = None) -> Tensor:
    """No position looks at a later one: [Q, K]. With more keys than queries, the queries are the last positions."""
    keys = queries if keys is None else keys
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
