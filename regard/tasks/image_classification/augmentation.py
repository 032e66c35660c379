"""Training pictures as they might have been: moved, mirrored, partly hidden. torch's seed decides.

S pictures · H height · W width · C channels
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.config import PictureTraining

SMALLEST, LARGEST = 0.02, 0.33  # share of a picture that is erased
NARROWEST = 0.3  # height by width of the rectangle, or the other way round (Zhong et al. 2020)


def augment(pixels: Tensor, settings: PictureTraining) -> Tensor:
    """Bytes [S, H, W, C] → bytes of the same shape. They are only moved about, as bytes: that is a quarter of the memory."""
    if settings.crop or settings.flip:
        pixels = move(pixels, settings.crop, settings.flip)
    return erase(pixels, settings.erase) if settings.erase else pixels


def move(pixels: Tensor, most: int, flip: bool) -> Tensor:
    """By up to `most` pixels each way, black coming in, and half of them mirrored; one look-up does both."""
    count, height, width, _ = pixels.shape
    padded = torch.nn.functional.pad(pixels, (0, 0, most, most, most, most))  # [S, H + 2 most, W + 2 most, C]
    down, right = torch.randint(2 * most + 1, (2, count, 1))
    rows = torch.arange(height) + down  # [S, H]
    columns = torch.arange(width).expand(count, -1)
    if flip:
        columns = torch.where(torch.rand(count, 1) < 0.5, columns.flip(1), columns)
    columns = columns + right  # [S, W]
    return padded[torch.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]


def erase(pixels: Tensor, share: float) -> Tensor:
    """Of this share of the pictures, a rectangle anywhere becomes noise."""
    count, height, width, _ = pixels.shape
    chosen = torch.rand(count) < share
    area = (SMALLEST + (LARGEST - SMALLEST) * torch.rand(count)) * height * width
    ratio = NARROWEST ** (2 * torch.rand(count) - 1)  # evenly spread on a logarithmic scale
    tall = (area * ratio).sqrt().round().clamp(1, height)
    wide = (area / ratio).sqrt().round().clamp(1, width)
    top = (torch.rand(count) * (height - tall + 1)).floor()
    left = (torch.rand(count) * (width - wide + 1)).floor()
    rows, columns = torch.arange(height), torch.arange(width)
    in_rows = (rows >= top[:, None]) & (rows < (top + tall)[:, None]) & chosen[:, None]  # [S, H]
    in_columns = (columns >= left[:, None]) & (columns < (left + wide)[:, None])  #       [S, W]
    hidden = in_rows[:, :, None, None] & in_columns[:, None, :, None]  #                  [S, H, W, 1]
    noise = torch.randint(256, pixels.shape, dtype=torch.uint8)
    return torch.where(hidden, noise, pixels)
