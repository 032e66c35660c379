"""A picture ↔ a grid of codes: an autoencoder whose middle is discrete (van den Oord et al. 2017, Mentzer et al. 2023).

The encoder halves the picture until one position stands for a small square of it; the quantiser rounds what it says there
to one of a few hundred codes; the decoder paints the picture from the codes alone.

S pictures · C channels · P height and width in pixels · G height and width in codes · D width · L numbers of a code
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from regard import config


def as_tensor(pixels: NDArray[np.uint8]) -> Tensor:
    """[S, height, width, channels] of bytes → [S, C, P, P] from 0 to 1."""
    return torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2).float() / 255


class Quantised(NamedTuple):
    """What the quantiser made of what the encoder said."""

    latents: Tensor
    """[S, L, G, G], of which there are as many as codes; gradients pass as if nothing had been rounded."""
    codes: Tensor
    """[S, G, G]."""
    loss: Tensor
    """What is to be minimised besides, summed over positions; 0 where nothing is."""


class FiniteScalars(nn.Module):
    """Each of a few numbers is squashed and rounded to one of its levels; the code is which levels (FSQ). Nothing to learn,
    hence nothing to collapse."""

    count: Tensor
    place: Tensor

    def __init__(self, levels: Sequence[int]) -> None:
        super().__init__()
        self.levels, self.size = tuple(levels), len(levels)
        self.register_buffer("count", torch.tensor(levels), persistent=False)
        self.register_buffer(
            "place", torch.tensor([math.prod(levels[:each]) for each in range(len(levels))]), persistent=False
        )

    @property
    def codes(self) -> int:
        return math.prod(self.levels)

    def forward(self, encoded: Tensor) -> Quantised:
        """[S, L, G, G]."""
        count = self.count.view(-1, 1, 1)
        # Squashed to [0, count - 1] and a little beyond, so that the outermost levels are as easily reached as the others.
        exact = (encoded.tanh() * (1 + 1e-3) + 1) / 2 * (count - 1)
        level = exact.detach().round().clamp(torch.zeros_like(count), count - 1)
        passed = exact + (level - exact).detach()  # straight through
        codes = (level.long() * self.place.view(-1, 1, 1)).sum(1)  # [S, G, G]
        return Quantised(self.centred(passed), codes, encoded.new_zeros(()))

    def latents(self, codes: Tensor) -> Tensor:
        """Codes [S, G, G] → what the decoder is given for them [S, L, G, G]."""
        return self.centred((codes.unsqueeze(1) // self.place.view(-1, 1, 1) % self.count.view(-1, 1, 1)).float())

    def centred(self, level: Tensor) -> Tensor:
        """Levels → between -1 and 1."""
        return level * 2 / (self.count.view(-1, 1, 1) - 1) - 1


class Codebook(nn.Module):
    """One learned vector per code; what the encoder says is replaced by the nearest (VQ). The encoder is drawn to the vector
    that it chose, and the vector to it."""

    COMMITMENT = 0.25

    def __init__(self, codes: int, size: int) -> None:
        super().__init__()
        self.codes, self.size = codes, size
        self.table = nn.Parameter(torch.empty(codes, size).uniform_(-1, 1))

    def forward(self, encoded: Tensor) -> Quantised:
        """[S, L, G, G]."""
        flat = encoded.permute(0, 2, 3, 1)  #                               [S, G, G, L]
        distance = (
            self.table.square().sum(1) - 2 * flat @ self.table.T
        )  #  [S, G, G, codes], but for what is the same for all
        codes = distance.argmin(-1)  #                                      [S, G, G]
        chosen = self.latents(codes)
        loss = (chosen - encoded.detach()).square().sum() + self.COMMITMENT * (chosen.detach() - encoded).square().sum()
        return Quantised(encoded + (chosen - encoded).detach(), codes, loss)

    def latents(self, codes: Tensor) -> Tensor:
        """Codes [S, G, G] → their vectors [S, L, G, G]."""
        return self.table[codes].permute(0, 3, 1, 2)


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.second(nn.functional.silu(self.first(nn.functional.silu(x))))  # type: ignore[no-any-return]


class ImageCodes(nn.Module):
    """Pictures in [0, 1] → codes → pictures."""

    quantiser: FiniteScalars | Codebook

    def __init__(self, settings: config.ImageCodes, channels: int) -> None:
        super().__init__()
        width, self.channels, self.picture_size = settings.width, channels, settings.picture_size
        self.grid = settings.grid
        halvings = int(math.log2(settings.picture_size // settings.grid))
        widths = [
            max(8, width >> (halvings - each)) for each in range(halvings + 1)
        ]  # narrow where there are many pixels
        self.quantiser = (
            FiniteScalars(settings.levels)
            if settings.quantiser == "fsq"
            else Codebook(settings.codes, settings.code_width)
        )
        down = (nn.Sequential(nn.Conv2d(a, b, 4, stride=2, padding=1), nn.SiLU()) for a, b in pairwise(widths))
        up = (
            nn.Sequential(nn.SiLU(), nn.ConvTranspose2d(b, a, 4, stride=2, padding=1))
            for a, b in zip(widths[-2::-1], widths[:0:-1], strict=True)
        )
        self.encoder = nn.Sequential(
            nn.Conv2d(channels, widths[0], 3, padding=1), nn.SiLU(), *down,
            *(Block(width) for _ in range(settings.blocks)), nn.Conv2d(width, self.quantiser.size, 1),
        )  # fmt: skip
        self.decoder = nn.Sequential(
            nn.Conv2d(self.quantiser.size, width, 3, padding=1), *(Block(width) for _ in range(settings.blocks)),
            *up, nn.SiLU(), nn.Conv2d(widths[0], channels, 3, padding=1),
        )  # fmt: skip

    @property
    def codes(self) -> int:
        """How many there are."""
        return self.quantiser.codes

    def forward(self, pictures: Tensor) -> tuple[Tensor, Quantised]:
        """[S, C, P, P] → the same from their codes, and what was between."""
        quantised = self.quantiser(self.encoder(pictures * 2 - 1))
        return self.paint(quantised.latents), quantised

    def encode(self, pictures: Tensor) -> Tensor:
        """[S, C, P, P] → codes [S, G, G]."""
        return self.quantiser(self.encoder(pictures * 2 - 1)).codes  # type: ignore[no-any-return]

    def decode(self, codes: Tensor) -> Tensor:
        """Codes [S, G, G] → pictures [S, C, P, P] in [0, 1]."""
        return self.paint(self.quantiser.latents(codes)).clamp(0, 1)

    def paint(self, latents: Tensor) -> Tensor:
        return (self.decoder(latents) + 1) / 2  # type: ignore[no-any-return]
