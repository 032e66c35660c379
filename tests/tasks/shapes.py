"""A small set of pictures that a toy can learn: bright squares, bars and rings at random places."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from regard.config import recipes
from regard.tasks.image_classification.assets import PictureAssets
from regard.tasks.registry import find_task
from regard.tasks.trained import save_trained

LABELS = ("bar", "ring", "square")
SIDE = 12


def shape(label: str, chance: np.random.Generator) -> NDArray[np.uint8]:
    picture = chance.integers(0, 60, (SIDE, SIDE), dtype=np.uint8)
    top, left = chance.integers(0, SIDE - 6, 2)
    part = picture[top : top + 6, left : left + 6]
    if label == "bar":
        part[2:4] = 220
    else:
        part[:] = 220
    if label == "ring":
        part[2:4, 2:4] = 0
    return picture


def shapes(count: int, seed: int) -> list[tuple[NDArray[np.uint8], str]]:
    chance = np.random.default_rng(seed)
    return [(shape(LABELS[number % 3], chance), LABELS[number % 3]) for number in range(count)]


def write_folders(folder: Path, count: int, seed: int) -> Path:
    """A folder for each label, as everybody has it."""
    from PIL import Image

    for number, (picture, label) in enumerate(shapes(count, seed)):
        (folder / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(folder / label / f"{number:04}.png")
    return folder


def write_idx(folder: Path, name: str, count: int, seed: int) -> tuple[str, str]:
    """As MNIST has them."""
    folder.mkdir(parents=True, exist_ok=True)
    made = shapes(count, seed)
    pictures = np.stack([picture for picture, _ in made])
    labels = bytes(LABELS.index(label) for _, label in made)
    (folder / f"{name}-images").write_bytes(struct.pack(">HBB3I", 0, 8, 3, *pictures.shape) + pictures.tobytes())
    (folder / f"{name}-labels").write_bytes(struct.pack(">HBBI", 0, 8, 1, len(labels)) + labels)
    return f"{name}-images", f"{name}-labels"


def shapes_recipe(folder: Path, architecture: str = "vit", **training: Any) -> dict[str, Any]:
    """Pictures of `folder`, which `write_idx` filled, for a toy that learns them in seconds."""
    own = {"patch": 3} if architecture == "vit" else {"stem": [8]}
    return {
        "name": f"shapes-{architecture}",
        "task": "image-classification",
        "data": {
            "train": ["train-images", "train-labels"], "test": {"own": ["test-images", "test-labels"]},
            "folder": str(folder), "prepared": str(folder / "prepared"), "size": SIDE, "colour": False,
            "names": list(LABELS), "hold_out": 0.1,
        },
        "model": {
            "architecture": architecture, "width": 24, "feed_forward": 48, "heads": 2, "layers": 2, "dropout": 0.0,
            "stochastic_depth": 0.1, **own,
        },
        "training": {
            "batch_tokens": 512, "updates": 120, "learning_rate": 0.004, "warmup": 20, "schedule": "cosine",
            "validate_every": 40, "crop": 1, "flip": True, "erase": 0.1, "label_smoothing": 0.0, "average": 1, "threads": 1,
            **training,
        },
    }  # fmt: skip


def untrained(path: Path, architecture: str = "vit") -> Path:
    """The file of a model with loud weights, so that answers differ from picture to picture."""
    recipe = recipes.read(shapes_recipe(path.parent, architecture))
    assets = PictureAssets(LABELS, SIDE, (0.3,), (0.3,), 1.5)
    torch.manual_seed(1)
    model = find_task(recipe.task).build(recipe.model, assets.sizes)
    torch.nn.init.normal_(model.output.weight, std=2.0)  # type: ignore[union-attr, arg-type]
    save_trained(path, model.state_dict(), recipe, assets, {})
    return path
