"""Weights copied in the order that products of a handful of rows like best, for whoever writes or judges on a CPU.

Nothing else changes: the layers, their names and, but for rounding, their results stay as they are.
"""

from __future__ import annotations

from typing import TypeVar

from torch import nn

from regard.models.sharing import copy_sharing
from regard.products import PackedLinear

M = TypeVar("M", bound=nn.Module)


def pack_weights(model: M) -> M:
    """A copy with every linear layer replaced. The model stays as it is, and all its tensors are shared with the copy.

    On a GPU it is the model itself.
    """
    if any(tensor.device.type != "cpu" for tensor in model.parameters()):
        return model
    copy = copy_sharing(model)
    for module in list(copy.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, PackedLinear(child))
    return copy
