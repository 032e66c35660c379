"""Restricted self-attention: each position looks at a window of neighbours around it (the paper's section 4).

It equals `attend` under a mask of that shape, but never computes what the mask would hide: positions go in blocks of one
window, and the keys that a block can see lie in two blocks. So the cost grows with n × window and not with n².

B batch · H heads · L positions · W window · C = ⌈L / W⌉ blocks · E width of a query or key · F width of a value
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from regard.attention.masks import additive_mask
from regard.attention.scaled_dot import attend_batched
from regard.errors import UsageError


def attend_windowed(query: Tensor, key: Tensor, value: Tensor, window: int) -> Tensor:
    """query, key [B, H, L, E], value [B, H, L, F] → [B, H, L, F]; soft attention to `window` positions around each."""
    if window < 1:
        raise UsageError(f"a window of {window} positions shows nothing; it needs at least 1, the position itself")
    length = query.size(2)
    positions = torch.arange(length, device=query.device)
    if length <= window:  # a single block: nothing to save
        return attend_batched(query, key, value, additive_mask(window_mask(positions, positions, window), query.dtype))
    blocks = -(-length // window)
    key, value = (_spans(each, window, blocks) for each in (key, value))  #     [B, H, C, 2W, E], [B, H, C, 2W, F]
    query = _in_blocks(query, window, blocks, 0)  #                             [B, H, C, W, E]
    starts = torch.arange(blocks, device=query.device)[:, None] * window
    query_positions = starts + torch.arange(window, device=query.device)  #     [C, W]
    key_positions = starts + torch.arange(2 * window, device=query.device) - left_context(window)  # [C, 2W]
    real = (key_positions >= 0) & (key_positions < length)  #                   [C, 2W]
    mask = window_mask(query_positions, key_positions, window) & real[:, None, :]  # [C, W, 2W]
    # Positions that only fill the last block may see nothing; they are cut off, and an additive mask makes them no NaN.
    mixed = attend_batched(query, key, value, additive_mask(mask, query.dtype))  #  [B, H, C, W, F]
    return mixed.flatten(2, 3)[:, :, :length]


def left_context(window: int) -> int:
    """How many positions of a window lie before the one that looks; an even window has one less after it."""
    return window // 2


def window_mask(queries: Tensor, keys: Tensor, window: int) -> Tensor:
    """Positions [.., Q] and [.., K] → [.., Q, K]: True where the key lies in the query's window."""
    distance = keys[..., None, :] - queries[..., :, None] + left_context(window)
    return (distance >= 0) & (distance < window)


def _spans(x: Tensor, window: int, blocks: int) -> Tensor:
    """What each block can see: [B, H, L, ·] → [B, H, C, 2W, ·]."""
    x = _in_blocks(x, window, blocks + 1, left_context(window))  # [B, H, C + 1, W, ·]
    return torch.cat([x[:, :, :-1], x[:, :, 1:]], 3)  # two copies: views that overlap are far slower to go back through


def _in_blocks(x: Tensor, window: int, blocks: int, left: int) -> Tensor:
    """[B, H, L, ·] → [B, H, blocks, W, ·], with zeros at both ends, `left` of them at the first."""
    x = functional.pad(x, (0, 0, left, blocks * window - left - x.size(2)))
    return x.view(*x.shape[:2], blocks, window, x.size(3))
