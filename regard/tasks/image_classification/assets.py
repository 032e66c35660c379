"""What an image classifier's file carries besides its weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from regard.checkpoint import StoredAssets
from regard.data.pixels import PixelSet, Report
from regard.errors import DataError
from regard.tasks.text_assets import require


@dataclass(frozen=True)
class PictureAssets:
    """The labels, how pixels are normalised, and what calibrates the probabilities."""

    labels: tuple[str, ...]
    """What pictures are called; a label's number is its place."""
    side: int
    """Pixels, of a square."""
    mean: tuple[float, ...]
    """Of each channel in the training pictures, of 1."""
    deviation: tuple[float, ...]
    temperature: float = 1.0
    """At which the model is as sure as it is right."""

    @classmethod
    def read(cls, stored: StoredAssets) -> PictureAssets:
        content = {"temperature": 1.0, **stored.content}
        labels = require(content, "labels", tuple[str, ...])
        side = require(content, "side", int)
        mean, deviation = (require(content, name, tuple[float, ...]) for name in ("mean", "deviation"))
        temperature = require(content, "temperature", float)
        if not labels or len(set(labels)) < len(labels):
            raise DataError("its labels are not a list of different texts")
        if temperature <= 0:
            raise DataError("its temperature is not above 0")
        if side < 1 or len(mean) not in (1, 3) or len(mean) != len(deviation) or min(deviation) <= 0:
            raise DataError("its pictures are no squares of one or three normalised channels")
        return cls(labels, side, mean, deviation, temperature)

    def write(self) -> StoredAssets:
        return StoredAssets({
            "labels": list(self.labels), "side": self.side, "mean": list(self.mean), "deviation": list(self.deviation),
            "temperature": self.temperature,
        })  # fmt: skip

    @property
    def sizes(self) -> tuple[int, int, int]:
        return len(self.mean), self.side, len(self.labels)

    def normalise(self, pixels: Tensor) -> Tensor:
        """Bytes [S, H, W, C] → numbers around 0 [S, C, H, W], channels last in memory as convolutions like them."""
        mean, deviation = (torch.tensor(each, device=pixels.device) for each in (self.mean, self.deviation))
        scale = 1 / (255 * deviation)
        return torch.addcmul(-mean / deviation, pixels.float(), scale).permute(0, 3, 1, 2)


def open_prepared(folder: Path, report: Report) -> tuple[PictureAssets, PixelSet, PixelSet]:
    """What data/pixels.py built."""
    assets = PictureAssets(tuple(report.labels), report.size, tuple(report.mean), tuple(report.deviation))
    return assets, PixelSet(folder, "train", report.shape), PixelSet(folder, "valid", report.shape)
