"""Greedy search: always the most probable token. S sentences · V vocabulary"""

from __future__ import annotations

from torch import Tensor

from regard.decoding.search_loop import ActiveHypotheses, Candidates


def most_probable(allowed: Tensor, active: ActiveHypotheses) -> Candidates:
    """One candidate for the one hypothesis of each sentence."""
    best, token = allowed.squeeze(1).max(-1, keepdim=True)  # [S, 1, V] → [S, 1]
    return Candidates(token.new_zeros(token.shape), token, best)
