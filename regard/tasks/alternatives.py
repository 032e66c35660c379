"""What a model might have written instead, at each position of what it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from regard.data.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

SHOWN = 10


@dataclass(frozen=True)
class Alternatives:
    """The most probable tokens for one position, and what became of the token that was written there."""

    tokens: list[str]
    probabilities: list[float]
    logits: list[float]
    probability: float
    """Of the token that was written …"""
    rank: int
    """… and its place among all tokens; 1 is the most probable."""


def alternatives(logits: Tensor, written: Sequence[int], tokenizer: Tokenizer) -> list[Alternatives]:
    """Of each position [T, V], the ten most probable tokens, and where the one stands that was written [T]."""
    import torch

    probabilities = logits.float().softmax(-1)  # [T, V]
    best = probabilities.topk(min(SHOWN, logits.size(-1)))  # [T, 10]
    chosen = torch.tensor(list(written), device=logits.device).unsqueeze(1)  # [T, 1]
    probability = probabilities.gather(1, chosen)  # [T, 1]
    ranks = (probabilities > probability).sum(1) + 1  # [T]
    columns = (best.indices, best.values, logits.gather(1, best.indices), probability.squeeze(1), ranks)
    return [
        Alternatives(tokenizer.tokens(ids, "target"), shares, raw, own, rank)
        for ids, shares, raw, own, rank in zip(*(each.tolist() for each in columns), strict=True)
    ]
