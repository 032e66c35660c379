"""What the verbs of every task do with image codes: evaluate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.captioned import pictures_to_test
from regard.tasks.data_folder import choose_test, require_test, with_data_folder
from regard.tasks.verbs import load

TESTED = 2_000
"""Pictures of a test set that are looked at, the first, or so many made-up scenes."""
TOGETHER = 64


@dataclass(frozen=True)
class Reconstruction:
    """How much of pictures their codes keep."""

    name: str
    pictures: int
    psnr: float
    """Decibels, of all pixels together."""
    used: int
    codes: int
    entropy: float
    """Bits that a code is worth, of log2(codes)."""

    def lines(self) -> list[str]:
        """For people."""
        return [
            f"{self.name}: PSNR {self.psnr:.2f} dB of {self.pictures:,} pictures; {self.used} of {self.codes} codes used,"
            f" {self.entropy:.2f} of {math.log2(self.codes):.2f} bits each"
        ]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "scores": self.stored()}

    def stored(self) -> list[dict[str, Any]]:
        return [{"name": "psnr", "value": round(self.psnr, 3)}, {"name": "codes used", "value": self.used}]


def evaluate(
    model: str | Path, data: str | Path | None = None, *, test: str | None = None, device: str = "cpu"
) -> Iterator[Reconstruction]:
    """How well the pictures of each test set, or only of `test`, come back from their codes."""
    coder = load(model, device, task="image-codes")
    recipe = with_data_folder(coder.recipe, model, data)
    require_test(recipe)
    for name in choose_test(recipe.data.test, test):
        error, count, counts = 0.0, 0, np.zeros(coder.model.codes, dtype=np.int64)
        for pixels, _ in pictures_to_test(recipe.data, name, TESTED, TOGETHER):
            codes = coder.encode(list(pixels))
            difference = coder.decode(codes).astype(np.float64) / 255 - pixels / 255
            error += float(np.square(difference).mean((1, 2, 3)).sum())
            count += len(pixels)
            counts += np.bincount(codes.ravel(), minlength=len(counts))
        shares = counts[counts > 0] / counts.sum()
        entropy = float(-(shares * np.log2(shares)).sum())
        psnr = -10 * math.log10(max(error / count, 1e-12))
        yield Reconstruction(name, count, psnr, int((counts > 0).sum()), coder.model.codes, entropy)
