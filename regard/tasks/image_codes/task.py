"""The row of image codes, the first stage of painting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regard import config
from regard.config.image_codes import SETTINGS
from regard.data import captioned, pictures
from regard.data.prepare import Builder
from regard.models.image_codes import ImageCodes
from regard.tasks.image_codes import verbs
from regard.tasks.image_codes.assets import CodesAssets, open_prepared
from regard.tasks.image_codes.coder import PictureCoder
from regard.tasks.image_codes.training import CodesTraining, dry_run_batch, dry_run_loss
from regard.tasks.task import DryRunner, Task, Trained


def load(trained: Trained, name: str | Path) -> PictureCoder:
    return PictureCoder(trained.model, trained.recipe, trained.assets, trained.provenance)


def build(folder: Path, recipe: config.ImageCodesRecipe, workers: int | None, show: bool) -> tuple[dict[str, Any], Any]:
    return captioned.build(folder, recipe.data, workers, show)


TASK = Task(
    settings=SETTINGS,
    models={config.ImageCodes: ImageCodes},
    assets=CodesAssets,
    data=Builder(
        captioned.SETTINGS, (), build, captioned.Report.from_dict, open_prepared, pictures.find, pictures.files_of
    ),
    read=captioned.read_split,
    training=CodesTraining,
    dry_run=DryRunner(
        lambda recipe: (recipe.data.channels,),
        lambda sizes: f"pictures of {sizes[0]} channels",
        dry_run_batch,
        dry_run_loss,
    ),
    load=load,
    evaluate=verbs.evaluate,
)
