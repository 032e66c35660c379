"""Tokens that a model must do without: what makes it rely on all the others.

S texts · T positions
"""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor

from regard.data.tokenizer import UNKNOWN


def hide(ids: Tensor, share: float, spared: Collection[int] = ()) -> Tensor:
    """Ids [S, T] with this share of the tokens unknown, but for special ones and those that are spared."""
    hidden = (torch.rand(ids.shape, device=ids.device) < share) & (ids > UNKNOWN)
    for each in spared:
        hidden &= ids != each
    return ids.masked_fill(hidden, UNKNOWN)
