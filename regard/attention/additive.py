"""Additive attention (Bahdanau et al. 2015): the score of a query and a key is a small network, not a product.

B batch · Q query positions · K key positions
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.attention.record import Observed
from regard.attention.scaled_dot import to_weights


class AdditiveAttention(Observed):
    """score(query, key) = vᵀ tanh(W query + U key). Query, key and value may have different widths."""

    def __init__(self, query_width: int, key_width: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, hidden, bias=False)
        self.key = nn.Linear(key_width, hidden)
        self.score = nn.Linear(hidden, 1, bias=False)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, may_look: Tensor | None = None, *, hard: bool = False
    ) -> tuple[Tensor, Tensor]:
        """query [B, Q, ·], key [B, K, ·], value [B, K, F] → mix [B, Q, F] and weights [B, Q, K]."""
        joined = torch.tanh(self.query(query).unsqueeze(2) + self.key(key).unsqueeze(1))  # [B, Q, K, hidden]
        scores = self.score(joined).squeeze(-1)  #                                          [B, Q, K]
        weights = to_weights(scores, may_look, hard=hard)  #                                [B, Q, K]
        mixed = weights @ value  #                                                          [B, Q, F]
        self.note(query=query, key=key, value=value, scores=scores, weights=weights, merged=mixed)
        return mixed, weights
