"""What a painter's file carries besides its weights: its tokenizer, and the whole model of the first stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

import torch
from torch import nn

from regard import config
from regard.checkpoint import StoredAssets, check_weights
from regard.config import recipes
from regard.data.tokenizer import Tokenizer
from regard.errors import DataError, RegardError
from regard.models.image_codes import ImageCodes
from regard.models.outline import outline
from regard.tasks.text_assets import read_tokenizer, require

CODES = "codes."
"""What names of the first stage's weights begin with."""


@dataclass(frozen=True)
class PaintingAssets:
    """The tokenizer of captions, and what turns codes into pixels."""

    tokenizer: Tokenizer
    codes: ImageCodes
    settings: config.ImageCodes

    @classmethod
    def read(cls, stored: StoredAssets) -> PaintingAssets:
        content = stored.content.get("codes")
        if not isinstance(content, dict):
            raise DataError("it lacks the settings of its first stage")
        channels = require(stored.content, "channels", int)
        try:
            settings = cast("config.ImageCodes", recipes.parse({"task": "image-codes", "model": content}).model)
            if channels not in (1, 3):
                raise DataError(f"pictures have 1 or 3 channels, not {channels}")
            weights = {
                name.removeprefix(CODES): each for name, each in stored.tensors.items() if name.startswith(CODES)
            }
            with outline():  # sizes that the file does not fill cost no memory
                check_weights(ImageCodes(settings, channels), weights, Path("it"))
        except RegardError as error:
            raise DataError(f"its first stage cannot be used: {error}") from None
        model = ImageCodes(settings, channels)
        fill(model, weights)
        return cls(read_tokenizer(stored), model.eval(), settings)

    def write(self) -> StoredAssets:
        content = {"codes": asdict(self.settings), "channels": self.codes.channels}
        tensors = {f"{CODES}{name}": each.detach().cpu() for name, each in self.codes.named_parameters()}
        return StoredAssets({"tokenizer": self.tokenizer.to_dict(), **content}, tensors)

    @property
    def sizes(self) -> tuple[int, int, int]:
        return self.tokenizer.size("source"), self.codes.codes, self.codes.grid


def fill(model: nn.Module, weights: Mapping[str, torch.Tensor]) -> None:
    with torch.no_grad():
        for name, tensor in model.named_parameters():
            tensor.copy_(weights[name])
