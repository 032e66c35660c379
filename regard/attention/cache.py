"""Keys and values already computed, so that a decoding step touches one position and not the whole prefix.

S sentences · H heads · T positions so far, of all hypotheses of a sentence · E width of a head's key · F of its value
"""

from __future__ import annotations

import torch
from torch import Tensor

CAPACITY = 16  # positions reserved at first


class KeyValueCache:
    """Keys [S, H, T, E] and values [S, H, T, F] of one attention, in one buffer with room to grow.

    What a beam gives up stays where it is: hypotheses tell their own past from that of others by a mask, which is far
    less to move than keys and values.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.length, self._capacity, self._widths = 0, capacity, (0, 0)
        self._buffer = torch.empty(2, 0, 0, 0, 0)  # [2, S, H, room, the wider of E and F]

    @property
    def key(self) -> Tensor:
        return self._buffer[0, :, :, : self.length, : self._widths[0]]

    @property
    def value(self) -> Tensor:
        return self._buffer[1, :, :, : self.length, : self._widths[1]]

    def append(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Add n positions, [S, H, n, E] and [S, H, n, F]; returns all so far."""
        self._widths = key.size(3), value.size(3)
        room = self._room(key, max(self._widths))  # [2, S, H, n, E or F]
        room[0, ..., : self._widths[0]] = key
        room[1, ..., : self._widths[1]] = value
        return self.key, self.value

    def append_pair(self, pair: Tensor) -> tuple[Tensor, ...]:
        """The same of keys and values that are as wide and lie in one tensor [2, S, H, n, E]."""
        self._widths = pair.size(4), pair.size(4)
        self._room(pair[0], pair.size(4)).copy_(pair)
        return self._buffer[:, :, :, : self.length].unbind(0)

    def select(self, sentences: Tensor) -> KeyValueCache:
        """A new cache that holds the given sentences, in their order."""
        chosen = KeyValueCache(self._capacity)
        chosen.length, chosen._widths = self.length, self._widths
        if self.length:
            chosen._buffer = self._buffer.index_select(1, sentences)
        return chosen

    def _room(self, key: Tensor, width: int) -> Tensor:
        """Where the next positions go, as many as `key` has; the buffer is made larger if they do not fit."""
        begin, end = self.length, self.length + key.size(2)
        if begin == 0 or end > self._buffer.size(3):
            before, size = self._buffer, max(self._capacity, 2 * end if begin else end)
            self._buffer = key.new_empty(2, *key.shape[:2], size, width)
            if begin:
                self._buffer[:, :, :, :begin] = before[:, :, :, :begin]
        self.length = end
        return self._buffer[:, :, :, begin:end]
