"""Dropout with cheap random numbers on the CPU, where torch draws one number per element in a single thread."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

LEVELS = 65_536  # a probability is rounded to a multiple of 1/65536


class Dropout(nn.Module):
    """Zeroes elements with this probability in training and scales the rest so that the mean stays."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, x: Tensor) -> Tensor:
        if x.device.type != "cpu":
            return functional.dropout(x, self.probability, self.training)
        mask = self.mask(x.shape, x)
        return x if mask is None else x * mask

    def add(self, x: Tensor, update: Tensor) -> Tensor:
        """x + dropout(update), on a CPU in one pass."""
        if x.device.type != "cpu":
            return x + functional.dropout(update, self.probability, self.training)
        mask = self.mask(update.shape, update)
        return x + update if mask is None else torch.addcmul(x, update, mask)

    def mask(self, shape: torch.Size, like: Tensor) -> Tensor | None:
        """What a tensor of this shape is multiplied by: 0 where dropped, else 1 / (1 - probability); None: all is kept."""
        return keep_mask(shape, self.probability, like.dtype) if self.training and self.probability else None

    def extra_repr(self) -> str:
        return str(self.probability)


def keep_mask(shape: torch.Size, probability: float, dtype: torch.dtype = torch.float32) -> Tensor:
    """A 64-bit draw serves four elements. torch's generator seeds a stream of NumPy's fastest, so that its seed decides."""
    dropped, count = min(round(probability * LEVELS), LEVELS - 1), math.prod(shape)
    stream = np.random.SFC64(int(torch.randint(2**63 - 1, ())))
    draws = torch.from_numpy(stream.random_raw((count + 3) // 4).view(np.int16))[:count]
    # Arithmetic instead of a comparison: on a CPU torch is four times as slow to make, convert and apply booleans.
    above = draws.float().view(shape).sub_(dropped - LEVELS // 2 - 0.5)  # at least ½ from zero
    return above.clamp_(0.0, 0.5).mul_(2 * LEVELS / (LEVELS - dropped)).to(dtype)
