"""Weights turned round in memory for decoding on a CPU, where a few rows at a time are multiplied by them.

Nothing else changes: the layers, their results and their names stay as they are.
"""

from __future__ import annotations

from typing import TypeVar

from torch import nn

M = TypeVar("M", bound=nn.Module)


def transpose_weights(model: M) -> M:
    """The model with every linear layer's weight [O, I] lying as [I, O]: products of few rows take up to half the time.

    An output matrix that was tied to the embeddings becomes a copy, for embeddings are read row by row.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.weight = nn.Parameter(module.weight.detach().t().contiguous().t(), module.weight.requires_grad)
    return model
