"""Trained image codes at work: a picture in, its codes out, and back.

`regard.load("runs/codes")` returns a PictureCoder.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard import config
from regard.data.images import see
from regard.errors import UsageError
from regard.models.image_codes import ImageCodes, as_tensor
from regard.tasks.image_codes.assets import CodesAssets
from regard.tasks.texts import described

TOGETHER = 64  # pictures at once


class PictureCoder:
    """A model and its recipe, ready to turn pictures into codes and codes into pictures."""

    def __repr__(self) -> str:
        return described(self)

    def __init__(
        self,
        model: ImageCodes,
        recipe: config.ImageCodesRecipe,
        assets: CodesAssets,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.model, self.recipe, self.assets = model.eval(), recipe, assets
        self.provenance = provenance or {}

    def pixels(self, pictures: Sequence[Any]) -> NDArray[np.uint8]:
        """Paths, PIL images or arrays → as the model sees them [S, H, W, C]."""
        if isinstance(pictures, str) or not isinstance(pictures, Sequence | np.ndarray):
            raise UsageError("give a list of pictures: paths, PIL images or arrays")
        return np.stack([see(each, self.recipe.data).pixels for each in pictures])

    def encode(self, pictures: Sequence[Any]) -> NDArray[np.int64]:
        """Pictures → their codes [S, G, G]."""
        pixels = self.pixels(pictures)
        with torch.inference_mode():
            parts = [
                self.model.encode(self._tensor(pixels[at : at + TOGETHER])) for at in range(0, len(pixels), TOGETHER)
            ]
        return torch.cat(parts).cpu().numpy()

    def decode(self, codes: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Codes [S, G, G] → pictures [S, H, W, C]."""
        given = torch.from_numpy(np.asarray(codes, dtype=np.int64))
        if (
            given.ndim != 3
            or given.shape[1:] != (self.model.grid,) * 2
            or given.min() < 0
            or given.max() >= self.model.codes
        ):
            raise UsageError(
                f"codes are numbers from 0 to {self.model.codes - 1} in squares of {self.model.grid} × {self.model.grid}"
            )
        with torch.inference_mode():
            parts = [self.model.decode(each.to(self._device)) for each in torch.split(given, TOGETHER)]
        return (torch.cat(parts) * 255).round().to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy()

    def reconstruct(self, pictures: Sequence[Any]) -> NDArray[np.uint8]:
        """Pictures → what their codes keep of them [S, H, W, C]."""
        return self.decode(self.encode(pictures))

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    def _tensor(self, pixels: NDArray[np.uint8]) -> torch.Tensor:
        return as_tensor(pixels).to(self._device)
