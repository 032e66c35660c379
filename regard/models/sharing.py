"""A second model over the same numbers, so that one may be rearranged for speed while the other stays as it is."""

from __future__ import annotations

from copy import deepcopy
from itertools import chain
from typing import TypeVar

from torch import nn

M = TypeVar("M", bound=nn.Module)


def copy_sharing(model: M) -> M:
    """New modules, the same tensors: replacing a layer or a weight of the copy leaves the model as it was.

    What is written into a tensor is seen by both, as long as both have it.
    """
    shared = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    return deepcopy(model, shared)  # what stands there already is not copied
