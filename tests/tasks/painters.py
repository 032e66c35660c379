"""A painter that never learned: as good as any for telling answers apart."""

from __future__ import annotations

import torch

from regard.config import recipes
from regard.data.tokenizer import Tokenizer
from regard.models.image_codes import ImageCodes
from regard.tasks.registry import find_task
from regard.tasks.text_to_image.assets import PaintingAssets
from regard.tasks.text_to_image.painter import Painter

GRID = 4


def make_painter(tokenizer: Tokenizer) -> Painter:
    """Pictures of 16 × 16 pixels from 4 × 4 codes, in double precision: no rounding decides which code is drawn."""
    codes = recipes.parse({
        "task": "image-codes", "data": {"size": 16},
        "model": {"width": 8, "blocks": 0, "grid": GRID, "levels": [4, 4], "picture_size": 16},
    })  # fmt: skip
    recipe = recipes.parse({
        "task": "text-to-image", "name": "brush", "data": {"size": 16},
        "model": {"width": 16, "feed_forward": 32, "heads": 2, "layers": 2, "dropout": 0.0, "max_positions": 24},
    })  # fmt: skip
    torch.manual_seed(3)
    assets = PaintingAssets(tokenizer, ImageCodes(codes.model, 3), codes.model)  # type: ignore[arg-type]
    model = find_task(recipe.task).build(recipe.model, assets.sizes).double()
    return Painter(model, recipe, assets)  # type: ignore[arg-type]
