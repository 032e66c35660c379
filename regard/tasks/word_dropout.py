"""Tokens that a model must do without: what makes it rely on all the others.

S texts · T positions
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.data.tokenizer import UNKNOWN


def hide(ids: Tensor, share: float) -> Tensor:
    """Ids [S, T] with this share of the tokens unknown."""
    hidden = (torch.rand(ids.shape, device=ids.device) < share) & (ids > UNKNOWN)
    return ids.masked_fill(hidden, UNKNOWN)
