"""Weights turned round in memory for decoding on a CPU, where a few rows at a time are multiplied by them.

Nothing else changes: the layers, their results and their names stay as they are.
"""

from __future__ import annotations

from typing import TypeVar

from torch import nn

from regard.models.sharing import copy_sharing

M = TypeVar("M", bound=nn.Module)


def transpose_weights(model: M) -> M:
    """A copy with every linear layer's weight [O, I] lying as [I, O]: products of few rows take up to half the time.

    The model stays as it is, and all but those weights is shared with it: embeddings too, which are read row by row, so
    that an output matrix that was tied to them becomes one of its own.
    """
    copy = copy_sharing(model)
    for module in copy.modules():
        if isinstance(module, nn.Linear):
            module.weight = nn.Parameter(module.weight.detach().t().contiguous().t(), module.weight.requires_grad)
    return copy
