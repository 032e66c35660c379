"""Keys and values already computed, so that a decoding step touches one position and not the whole prefix.

S sentences · H heads · T positions so far, of all hypotheses of a sentence · E width of a head's key · F of its value
"""

from __future__ import annotations

import torch
from torch import Tensor

CAPACITY = 16  # positions reserved at first


class KeyValueCache:
    """Keys [S, H, T, E] and values [S, H, T, F] of one attention, in buffers with room to grow.

    What a beam gives up stays where it is: hypotheses tell their own past from that of others by a mask, which is far
    less to move than keys and values. Keys lie transposed in memory, [S, H, E, T]: for a few queries at a time, that
    makes the scores several times as fast.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.length, self._capacity = 0, capacity
        self._key = self._value = torch.empty(0)

    @property
    def key(self) -> Tensor:
        return self._key[:, :, :, : self.length].transpose(2, 3)

    @property
    def value(self) -> Tensor:
        return self._value[:, :, : self.length]

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add n positions, [S, H, n, E] and [S, H, n, F]; returns all so far."""
        end = self.length + key.size(2)
        if self.length == 0 or end > self._value.size(2):
            self._grow(key, value, end)
        self._key[:, :, :, self.length : end] = key.transpose(2, 3)
        self._value[:, :, self.length : end] = value
        self.length = end
        return self.key, self.value

    def select(self, sentences: Tensor) -> KeyValueCache:
        """A new cache that holds the given sentences, in their order."""
        chosen = KeyValueCache(self._capacity)
        chosen.length = self.length
        if self.length:
            chosen._key, chosen._value = (each.index_select(0, sentences) for each in (self._key, self._value))
        return chosen

    def _grow(self, key: Tensor, value: Tensor, end: int) -> None:
        size = max(self._capacity, 2 * end if self.length else end)
        before = self._key, self._value
        self._key = key.new_empty(*key.shape[:2], key.size(3), size)
        self._value = value.new_empty(*value.shape[:2], size, value.size(3))
        if self.length:
            self._key[:, :, :, : self.length] = before[0][:, :, :, : self.length]
            self._value[:, :, : self.length] = before[1][:, :, : self.length]
