"""The first stage of painting as training sees it: pictures that must come back from their codes.

S pictures · C channels · P height and width in pixels
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard import config
from regard.data.batching import EpochRows, RowBatches
from regard.data.prepare import Prepared
from regard.models.image_codes import ImageCodes, as_tensor
from regard.training.loss import Loss
from regard.training.trainable import Finished, MicroBatch, WithoutMovie

VALIDATED = 64  # pictures at once


class CodesTraining(WithoutMovie):
    """Batches, loss and validation of a recipe of image codes."""

    unit = "pictures"

    def __init__(
        self, recipe: config.ImageCodesRecipe, prepared: Prepared, micro_batches: int, device: torch.device
    ) -> None:
        self.recipe, self.device, self.assets = recipe, device, prepared.assets
        self.train, self.valid = prepared.train, prepared.valid
        self.batches = RowBatches(len(self.train), batch_size(recipe, micro_batches), recipe.training.seed)

    def take(self, position: tuple[int, int], count: int) -> tuple[list[MicroBatch], tuple[int, int]]:
        taken, after = self.batches.take(position, count)
        return [MicroBatch(batch, len(batch.rows)) for batch in taken], after

    def loss(self, model: ImageCodes, batch: EpochRows) -> Loss:
        return reconstruction_loss(model, as_tensor(self.train.pictures(batch.rows, batch.epoch)).to(self.device))

    def validate(self, model: ImageCodes) -> dict[str, float]:
        """The squared error of a channel's value in [0, 1] as a loss and in decibels, and which share of the codes is used."""
        total, count, used = 0.0, 0, torch.zeros(model.codes, dtype=torch.bool)
        for begin in range(0, len(self.valid), VALIDATED):
            rows = np.arange(begin, min(begin + VALIDATED, len(self.valid)))
            pictures = as_tensor(self.valid.pictures(rows, 0)).to(self.device)
            painted, quantised = model(pictures)
            total += (painted.clamp(0, 1) - pictures).square().mean((1, 2, 3)).sum().item()
            used[quantised.codes.flatten().cpu()] = True
            count += len(rows)
        error = total / count
        return {
            "loss": error,
            "psnr": -10 * math.log10(max(error, 1e-12)),
            "codes_used": 100 * used.float().mean().item(),
        }

    def finish(self, averaged: Callable[[], ImageCodes]) -> Finished:
        return Finished(self.assets)


def reconstruction_loss(model: ImageCodes, pictures: Tensor) -> Loss:
    """Pictures [S, C, P, P] → sums over pictures: the mean squared error, and a tenth of the mean error, which sharpens edges."""
    painted, quantised = model(pictures)
    difference = painted - pictures
    squared = difference.square().mean((1, 2, 3)).sum()
    loss = squared + 0.1 * difference.abs().mean((1, 2, 3)).sum() + quantised.loss / model.grid**2
    return Loss(loss, squared.detach())


def batch_size(recipe: config.ImageCodesRecipe, micro_batches: int = 1) -> int:
    """Pictures of a micro-batch: each counts as its codes."""
    return max(1, recipe.training.batch_tokens // micro_batches // recipe.model.grid**2)


def dry_run_batch(recipe: config.ImageCodesRecipe, tokens: int) -> MicroBatch:
    """Made-up pictures."""
    size, count = recipe.data.size, max(1, tokens // recipe.model.grid**2)
    return MicroBatch(torch.rand(count, recipe.data.channels, size, size), count)


def dry_run_loss(recipe: config.ImageCodesRecipe, model: ImageCodes, batch: Any) -> Loss:
    return reconstruction_loss(model, batch)
