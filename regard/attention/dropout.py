"""Dropout with cheap random numbers on the CPU, where torch draws one number per element in a single thread."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

LEVELS = 65_536  # a probability is rounded to a multiple of 1/65536


class Dropout(nn.Module):
    """Zeroes a share of the elements in training and scales the rest so that the mean stays."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = share

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.share == 0:
            return x
        if x.device.type != "cpu":
            return functional.dropout(x, self.share)
        return x * keep_mask(x, self.share)

    def extra_repr(self) -> str:
        return str(self.share)


def keep_mask(like: Tensor, share: float) -> Tensor:
    """0 where dropped, else 1 / (1 - share). One 64-bit draw of torch's generator serves four elements."""
    dropped = min(round(share * LEVELS), LEVELS - 1)
    draws = torch.empty((like.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    kept = draws.view(torch.int16)[: like.numel()].view(like.shape) >= dropped - LEVELS // 2
    return kept.to(like.dtype).mul_(LEVELS / (LEVELS - dropped))
