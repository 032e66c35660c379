"""Keys and values already computed, so that a decoding step touches one position and not the whole prefix.

N rows · H heads · T positions so far · E width of one head
"""

from __future__ import annotations

import torch
from torch import Tensor

GROWTH = 8  # positions reserved at a time: few, because a beam copies them at every step


class KeyValueCache:
    """Keys and values of one self-attention, [N, H, T, E] each, in buffers with room to grow."""

    def __init__(self) -> None:
        self.length = 0
        self._key = self._value = torch.empty(0)

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add positions [N, H, n, E]; returns all so far."""
        end = self.length + key.size(2)
        if self.length == 0 or end > self._key.size(2):
            self._key, self._value = self._grown(self._key, key, end), self._grown(self._value, value, end)
        self._key[:, :, self.length : end] = key
        self._value[:, :, self.length : end] = value
        self.length = end
        return self._key[:, :, :end], self._value[:, :, :end]

    def select(self, rows: Tensor) -> KeyValueCache:
        """A new cache that holds the given rows, in their order."""
        chosen = KeyValueCache()
        chosen.length = self.length
        if self.length:
            chosen._key, chosen._value = self._key.index_select(0, rows), self._value.index_select(0, rows)
        return chosen

    def _grown(self, old: Tensor, new: Tensor, end: int) -> Tensor:
        rows, heads, _, width = new.shape
        buffer = new.new_zeros(rows, heads, (end // GROWTH + 1) * GROWTH, width)
        if self.length:
            buffer[:, :, : self.length] = old[:, :, : self.length]
        return buffer
