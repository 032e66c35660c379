"""What a model might have written instead, at each position of what it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from regard.data.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

SHOWN = 10
SHOWN_BY_LENS = 3
"""What each layer would predict is told more briefly."""


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


def alternatives(
    logits: Tensor, written: Sequence[int], tokenizer: Tokenizer, shown: int = SHOWN
) -> list[Alternatives]:
    """Of each position [T, V], the most probable tokens, and where the one stands that was written [T]."""
    import torch

    probabilities = logits.float().softmax(-1)  # [T, V]
    best = probabilities.topk(min(shown, logits.size(-1)))  # [T, 10]
    chosen = torch.tensor(list(written), device=logits.device).unsqueeze(1)  # [T, 1]
    probability = probabilities.gather(1, chosen)  # [T, 1]
    ranks = (probabilities > probability).sum(1) + 1  # [T]
    columns = (best.indices, best.values, logits.gather(1, best.indices), probability.squeeze(1), ranks)
    return [
        Alternatives(tokenizer.tokens(ids, "target"), shares, raw, own, rank)
        for ids, shares, raw, own, rank in zip(*(each.tolist() for each in columns), strict=True)
    ]


def told_by_lens(logits: Tensor, written: Sequence[int], tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """The same of a layer's own logits [T, V], as a page reads it: what the model would predict if it ended there."""
    return [asdict(each) for each in alternatives(logits, written, tokenizer, SHOWN_BY_LENS)]
