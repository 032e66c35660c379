"""Attention sees a set; positions make it a sequence (the paper's section 3.5).

T positions · D width
"""

from __future__ import annotations

import math
from typing import TypeAlias

import torch
from torch import Tensor, nn

from regard.errors import UsageError, whole

AT_FIRST = 1_024
"""Rows that a table of sines has before a longer sequence asks for more."""


def sinusoidal_positions(positions: int, width: int) -> Tensor:
    """[T, D]: sine and cosine interleaved, wavelengths from 2π to 10000·2π."""
    positions, width = whole(positions, "positions"), whole(width, "the width of positions", 2)
    if width % 2:
        raise UsageError(f"{positions} positions of width {width}: the width must be even (sine and cosine pairs)")
    position = torch.arange(positions, dtype=torch.float64)[:, None]
    frequency = torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10_000.0) / width))
    table = torch.empty(positions, width, dtype=torch.float64)
    table[:, 0::2] = torch.sin(position * frequency)
    table[:, 1::2] = torch.cos(position * frequency)
    return table.float()


class SinusoidalPositions(nn.Module):
    """Fixed; nothing to learn, nothing to store.

    The table is as long as any sequence was so far: a model that says it reads a million positions needs no room for
    them before it does.
    """

    table: Tensor

    def __init__(self, positions: int, width: int) -> None:
        super().__init__()
        self.positions = positions
        self.register_buffer("table", sinusoidal_positions(min(positions, AT_FIRST), width), persistent=False)

    def forward(self, positions: Tensor, end: int | None = None) -> Tensor:
        """`end` is beyond every position; who knows it spares a look at them."""
        if end is None:
            end = int(positions.max()) + 1
        return self.rows(end)[positions]  # [T] → [T, D]

    def rows(self, end: int | None = None) -> Tensor:
        """At least the positions before `end`, as far as there are any; without it, all [T, D]."""
        table = self.table  # another thread may replace it
        end = self.positions if end is None else end
        if len(table) < min(end, self.positions):
            length = min(max(end, 2 * len(table)), self.positions)
            with torch.inference_mode(False):  # it outlasts whoever asked
                table = self.table = sinusoidal_positions(length, table.size(1)).to(table)
        return table


class LearnedPositions(nn.Module):
    """One learned vector per position."""

    def __init__(self, positions: int, width: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.empty(positions, width))
        nn.init.normal_(self.table, std=width**-0.5)

    def forward(self, positions: Tensor, end: int | None = None) -> Tensor:
        return self.table[positions]  # [T] → [T, D]

    def rows(self, end: int | None = None) -> Tensor:
        return self.table  # [T, D]


Positions: TypeAlias = SinusoidalPositions | LearnedPositions
POSITIONS: dict[str, type[Positions]] = {
    "sinusoidal": SinusoidalPositions,
    "learned": LearnedPositions,
}


def positions_of(kind: str, positions: int, width: int) -> Positions | None:
    """The module for what `model.positions` says; `none` adds nothing, and leaves a set."""
    return None if kind == "none" else POSITIONS[kind](positions, width)
