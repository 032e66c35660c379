"""Attention sees a set; positions make it a sequence (the paper's section 3.5).

T positions · D width
"""

from __future__ import annotations

import math
from typing import TypeAlias

import torch
from torch import Tensor, nn


def sinusoidal_table(positions: int, width: int) -> Tensor:
    """[T, D]: sine and cosine interleaved, wavelengths from 2π to 10000·2π."""
    position = torch.arange(positions, dtype=torch.float64)[:, None]
    frequency = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10_000.0) / width))
    table = torch.empty(positions, width, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * frequency)
    table[:, 1::2] = torch.cos(position * frequency)
    return table.float()


class SinusoidalPositions(nn.Module):
    """Fixed; nothing to learn, nothing to store."""

    table: Tensor

    def __init__(self, positions: int, width: int) -> None:
        super().__init__()
        self.register_buffer("table", sinusoidal_table(positions, width), persistent=False)

    def forward(self, positions: Tensor) -> Tensor:
        return self.table[positions]  # [T] → [T, D]


class LearnedPositions(nn.Module):
    """One learned vector per position."""

    def __init__(self, positions: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(positions, width))
        nn.init.normal_(self.table, std=width**-0.5)

    def forward(self, positions: Tensor) -> Tensor:
        return self.table[positions]  # [T] → [T, D]


Positions: TypeAlias = SinusoidalPositions | LearnedPositions
POSITIONS: dict[str, type[Positions]] = {
    "sinusoidal": SinusoidalPositions,
    "learned": LearnedPositions,
}
