"""Greedy search: always the most probable token. S sentences · V vocabulary"""

from __future__ import annotations

from torch import Tensor

from regard.decoding.walk import Candidates, Paths


def most_probable(allowed: Tensor, paths: Paths) -> Candidates:
    """One candidate for the one path of each sentence."""
    best, token = allowed.squeeze(1).max(-1, keepdim=True)  # [S, 1, V] → [S, 1]
    return Candidates(token.new_zeros(token.shape), token, best)
