"""Model file ↔ model: what a task's row makes of what a file says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard.checkpoint import ModelFile, check_weights, load_weights, read_model, save_model, unusable
from regard.config import Recipe
from regard.errors import DataError
from regard.models.outline import outline
from regard.tasks.registry import find_task
from regard.tasks.task import Assets, Task, Trained


def open_model(name: str | Path) -> tuple[ModelFile, Task, Assets]:
    """A model's file by run folder, file, or bundled name (`demo`), its task's row, and what it carries besides weights."""
    file = read_model(name)
    row = find_task(file.recipe.task)
    try:
        return file, row, row.assets.read(file.assets)
    except DataError as error:
        raise unusable(file.path, file.provenance, error) from None


def load_trained(name: str | Path, device: str | torch.device = "cpu") -> Trained:
    """Read a model by run folder, file, or bundled name (`demo`)."""
    file, row, assets = open_model(name)
    with outline():  # sizes that the file does not fill cost no memory
        check_weights(row.build(file.recipe.model, assets.sizes), file.weights, file.path)
    model = row.build(file.recipe.model, assets.sizes)
    load_weights(model, file.weights, file.path)
    return Trained(model.to(device).eval(), file.recipe, assets, file.provenance)


def save_trained(
    path: Path,
    weights: Mapping[str, Tensor],
    recipe: Recipe,
    assets: Assets,
    provenance: Mapping[str, Any],
    *,
    half: bool = False,
) -> None:
    """Write a model file that `load_trained` reads."""
    save_model(path, weights, recipe, assets.write(), provenance, half=half)
