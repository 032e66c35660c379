"""Image classification as training sees it: what is a batch, what is lost, what is good.

S pictures · H height · W width · C channels · L labels
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard import config
from regard.cancellation import check_cancelled
from regard.data.batching import RowBatches
from regard.data.pixels import PixelSet
from regard.data.prepare import Prepared
from regard.evaluation.labels import fit_temperature
from regard.models.vit import PictureClassifier
from regard.tasks.image_classification.assets import PictureAssets
from regard.tasks.image_classification.augmentation import augment
from regard.training.loss import Loss, smoothed_loss
from regard.training.trainable import Finished, MicroBatch, WithoutMovie

TOGETHER = 64  # pictures that are looked at without learning; what lies between two layers then stays in a CPU's cache
LABELS = 10  # a guess, where the training pictures are not there yet


class PictureClassificationTraining(WithoutMovie):
    """Batches, loss and validation of an image recipe."""

    unit = "pictures"

    def __init__(
        self, recipe: config.PictureRecipe, prepared: Prepared, micro_batches: int, device: torch.device
    ) -> None:
        self.recipe, self.device = recipe, device
        self.assets: PictureAssets = prepared.assets
        self.train: PixelSet = prepared.train
        self.valid: PixelSet = prepared.valid
        self.batches = RowBatches(len(self.train), batch_size(recipe, micro_batches), recipe.training.seed)

    def take(self, position: tuple[int, int], count: int) -> tuple[list[MicroBatch], tuple[int, int]]:
        taken, after = self.batches.take(position, count)
        return [MicroBatch(batch.rows, len(batch.rows)) for batch in taken], after

    def loss(self, model: PictureClassifier, batch: NDArray[np.int64]) -> Loss:
        pixels, labels = self._tensors(self.train, np.sort(batch))  # in the order of the file: fewer seeks
        return pictures_loss(model, self.assets, augment(pixels, self.recipe.training), labels, self.recipe.training)

    def validate(self, model: PictureClassifier) -> dict[str, float]:
        """Plain loss per picture, and the share of pictures whose most probable label is theirs."""
        logits, labels = self._validation_logits(model)
        loss = torch.nn.functional.cross_entropy(logits, labels)
        return {"loss": loss.item(), "accuracy": 100 * (logits.argmax(-1) == labels).float().mean().item()}

    def finish(self, averaged: Callable[[], PictureClassifier]) -> Finished:
        """The labels, and the temperature at which the model is as sure as it is right on the validation pictures."""
        logits, labels = self._validation_logits(averaged())
        return Finished(replace(self.assets, temperature=fit_temperature(logits.numpy(), labels.numpy())))

    def _validation_logits(self, model: PictureClassifier) -> tuple[Tensor, Tensor]:
        """Logits [S, L] and labels [S]."""
        labels = torch.from_numpy(self.valid.labels.astype(np.int64))
        return recognize_pixels(model, self.assets, self.valid.pixels), labels

    def _tensors(self, data: PixelSet, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        """Bytes [S, H, W, C] and labels [S]."""
        return torch.from_numpy(data.pixels[rows]), torch.from_numpy(data.labels[rows].astype(np.int64)).to(self.device)


def batch_size(recipe: config.PictureRecipe, micro_batches: int) -> int:
    """Pictures of a micro-batch: a picture counts as its patches."""
    tokens = recipe.model.grid(recipe.data.size) ** 2
    return max(1, recipe.training.batch_tokens // (tokens * micro_batches))


def pictures_loss(
    model: PictureClassifier, assets: PictureAssets, pixels: Tensor, labels: Tensor, settings: config.PictureTraining
) -> Loss:
    logits = model(assets.normalise(pixels.to(labels.device)))  # [S, L]
    return smoothed_loss(logits, labels, settings.label_smoothing)


def recognize_pixels(
    model: PictureClassifier, assets: PictureAssets, pixels: Sequence[Any] | NDArray[np.uint8]
) -> Tensor:
    """Pixels [H, W, C] of many pictures → logits [S, L], in the order given."""
    found = []
    with torch.inference_mode():
        for begin in range(0, len(pixels), TOGETHER):
            check_cancelled()
            some = torch.from_numpy(np.stack(list(pixels[begin : begin + TOGETHER])))  # [S, H, W, C]
            found.append(model(assets.normalise(some.to(model.device))).float().cpu())
    return torch.cat(found) if found else torch.empty(0, len(assets.labels))


def dry_run_sizes(recipe: config.PictureRecipe) -> tuple[int, int, int]:
    return recipe.data.channels, recipe.data.size, len(recipe.data.names) or LABELS


def dry_run_batch(recipe: config.PictureRecipe, tokens: int) -> MicroBatch:
    """Noise."""
    count = max(1, tokens // recipe.model.grid(recipe.data.size) ** 2)
    shape = (count, recipe.data.size, recipe.data.size, recipe.data.channels)
    return MicroBatch(torch.randint(256, shape, dtype=torch.uint8), count)


def dry_run_loss(recipe: config.PictureRecipe, model: PictureClassifier, batch: Tensor) -> Loss:
    channels, side, labels = dry_run_sizes(recipe)
    assets = PictureAssets(tuple(map(str, range(labels))), side, (0.5,) * channels, (0.5,) * channels)
    return pictures_loss(
        model, assets, augment(batch, recipe.training), torch.zeros(len(batch), dtype=torch.long), recipe.training
    )
