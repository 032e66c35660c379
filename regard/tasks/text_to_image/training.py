"""Painting as training sees it: what is a batch, what is lost, what is good.

S pictures · K positions of a caption · G height and width in codes
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard import config
from regard.data.batching import EpochRows, RowBatches
from regard.data.captioned import CaptionedSet
from regard.data.pictures import Example
from regard.data.prepare import Prepared
from regard.data.tokenizer import UNKNOWN
from regard.models.image_codes import as_tensor
from regard.models.text_to_image import TextToImage
from regard.notes import note
from regard.tasks.task import read_through
from regard.tasks.text_assets import guess_vocabulary
from regard.tasks.text_to_image.assets import PaintingAssets
from regard.tasks.text_to_image.captions import caption_ids, no_caption
from regard.tasks.text_to_image.loss import bits, painting_loss
from regard.training.loss import Loss
from regard.training.trainable import Finished, MicroBatch, WithoutMovie

CODES, GRID = 240, 8  # a guess, where the first stage is not there yet
VALIDATED = 64  # pictures at once
COUNTED = 1_000  # captions, to see whether they fit


class PaintingTraining(WithoutMovie):
    """Batches, loss and validation of a painting recipe."""

    unit = "pictures"

    def __init__(
        self, recipe: config.PaintingRecipe, prepared: Prepared, micro_batches: int, device: torch.device
    ) -> None:
        self.recipe, self.device = recipe, device
        self.assets: PaintingAssets = prepared.assets
        self.codes = self.assets.codes.to(device).eval()
        self.train: CaptionedSet = prepared.train
        self.valid: CaptionedSet = prepared.valid
        positions = recipe.model.max_positions + self.codes.grid**2
        size = max(1, recipe.training.batch_tokens // micro_batches // positions)
        self.batches = RowBatches(len(self.train), size, recipe.training.seed)
        self._tell_of_cut_captions()

    def _tell_of_cut_captions(self) -> None:
        """What a caption ends with may be what it is about, and nobody would notice that it is never read."""
        captions = self.train.captions(range(min(COUNTED, len(self.train))), 0)
        _, cut = caption_ids(captions, self.assets.tokenizer, self.recipe.model.max_positions)
        if any(cut):
            note(
                f"{sum(cut):,} of {len(cut):,} captions are longer than the model reads, and lose their ends: raise"
                " model.max_positions, or tokenizer.vocabulary, so that they are fewer tokens"
            )

    def take(self, position: tuple[int, int], count: int) -> tuple[list[MicroBatch], tuple[int, int]]:
        taken, after = self.batches.take(position, count)
        return [MicroBatch(batch, len(batch.rows)) for batch in taken], after

    def loss(self, model: TextToImage, batch: EpochRows) -> Loss:
        captions, codes = self._tensors(model, self.train, batch)
        if share := self.recipe.training.caption_dropout:
            dropped = torch.rand(len(captions)) < share  # on the CPU, whose seed the loop sets
            captions[dropped.to(self.device)] = no_caption(captions.size(1)).to(self.device)
        return painting_loss(model, captions, codes, self.recipe.training.text_weight)

    def validate(self, model: TextToImage) -> dict[str, float]:
        """Bits per code with the pictures' own captions, and with none: what a caption is worth."""
        told, untold, count = 0.0, 0.0, 0
        nothing = no_caption(model.caption_positions).to(self.device)
        for begin in range(0, len(self.valid), VALIDATED):
            rows = np.arange(begin, min(begin + VALIDATED, len(self.valid)))
            captions, codes = self._tensors(model, self.valid, EpochRows(rows, 0))
            told += bits(model, captions, codes).sum().item()
            untold += bits(model, nothing.expand_as(captions), codes).sum().item()
            count += codes.numel()
        return {"loss": told / count * math.log(2), "bits": told / count, "bits_untold": untold / count}

    def finish(self, averaged: Callable[[], TextToImage]) -> Finished:
        return Finished(self.assets)

    def _tensors(self, model: TextToImage, pictures: CaptionedSet, batch: EpochRows) -> tuple[Tensor, Tensor]:
        """Captions [S, K] and codes [S, G·G]."""
        captions = pictures.captions(batch.rows, batch.epoch)
        ids, _ = caption_ids(captions, self.assets.tokenizer, self.recipe.model.max_positions)
        with (
            torch.no_grad(),
            torch.autocast(self.device.type, enabled=False),
        ):  # what training reads is what painting writes
            codes = self.codes.encode(as_tensor(pictures.pictures(batch.rows, batch.epoch)).to(self.device))
        return ids.to(self.device), codes.flatten(1)


def survey(recipe: config.PaintingRecipe, split: str, examples: Iterator[Example]) -> Iterator[str]:
    return read_through(recipe, split, examples)


def dry_run_sizes(recipe: config.PaintingRecipe) -> tuple[int, int, int]:
    return guess_vocabulary(recipe.tokenizer), CODES, GRID


def dry_run_batch(recipe: config.PaintingRecipe, tokens: int) -> MicroBatch:
    """Made-up captions and codes."""
    count = max(1, tokens // (recipe.model.max_positions + GRID**2))
    captions = torch.randint(UNKNOWN + 1, guess_vocabulary(recipe.tokenizer), (count, recipe.model.max_positions))
    return MicroBatch((captions, torch.randint(CODES, (count, GRID**2))), count)


def dry_run_loss(recipe: config.PaintingRecipe, model: TextToImage, batch: Any) -> Loss:
    captions, codes = batch
    return painting_loss(model, captions, codes, recipe.training.text_weight)
