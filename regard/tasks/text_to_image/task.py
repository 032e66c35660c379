"""The row of painting."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import config
from regard.checkpoint import find_model
from regard.config.text_to_image import SETTINGS
from regard.data import captioned, pictures
from regard.data.captioned import CaptionedSet, Report, captions_of, open_set
from regard.data.encoding import load_tokenizer
from regard.data.pairs import TOKENIZER, write_tokenizer
from regard.data.prepare import Builder
from regard.data.tokenizer import train_text_tokenizer
from regard.errors import DataError, UsageError
from regard.models.text_to_image import TextToImage
from regard.tasks.task import DryRunner, Task, Trained
from regard.tasks.text_to_image import verbs
from regard.tasks.text_to_image.assets import PaintingAssets
from regard.tasks.text_to_image.live_page import live_page
from regard.tasks.text_to_image.painter import Painter
from regard.tasks.text_to_image.training import PaintingTraining, dry_run_batch, dry_run_loss, dry_run_sizes
from regard.tasks.trained import load_trained

if TYPE_CHECKING:  # what an extra installs
    from fastapi import FastAPI

    from regard.serve.limits import Limits
    from regard.serve.service import Service

CODES = "codes.safetensors"
"""In a prepared folder: the first stage."""
ENOUGH = 50_000  # captions that a tokenizer learns from


def load(trained: Trained, name: str | Path) -> Painter:
    return Painter(trained.model, trained.recipe, trained.assets, trained.provenance)


def first_stage(recipe: config.PaintingRecipe) -> Path:
    if not recipe.data.codes:
        raise UsageError(
            "data.codes must name the model of the first stage: train one with a recipe of task = 'image-codes'"
        )
    return find_model(recipe.data.codes)


def build(
    folder: Path, recipe: config.PaintingRecipe, workers: int | None, show: bool
) -> tuple[dict[str, Any], Report]:
    """Pictures and captions, the tokenizer, and a copy of the first stage."""
    file = first_stage(recipe)
    stage = load_trained(file)
    if not isinstance(stage.recipe, config.ImageCodesRecipe):
        raise DataError(
            f"data.codes = {recipe.data.codes!r} is a model of the task {stage.recipe.task!r}, not 'image-codes'"
        )
    wanted = (recipe.data.size, recipe.data.channels)
    if (stage.recipe.model.picture_size, stage.assets.channels) != wanted:
        raise DataError(
            f"{file} reads pictures of {stage.recipe.model.picture_size} pixels and {stage.assets.channels} channels; data.size and"
            f" data.colour ask for {wanted[0]} and {wanted[1]}"
        )
    shutil.copyfile(file, folder / CODES)
    splits, report = captioned.build(folder, recipe.data, workers, show)
    captions = captions_of(open_set(folder, "train", report), min(ENOUGH, recipe.tokenizer.sample))
    write_tokenizer(folder, train_text_tokenizer(captions, recipe.tokenizer))
    return splits, report


def open_prepared(folder: Path, report: Report) -> tuple[PaintingAssets, CaptionedSet, CaptionedSet]:
    stage = load_trained(folder / CODES)
    assets = PaintingAssets(load_tokenizer(folder / TOKENIZER), stage.model, stage.recipe.model)
    return assets, open_set(folder, "train", report), open_set(folder, "valid", report)


def serve(app: FastAPI, service: Service) -> None:
    from regard.tasks.text_to_image.routes import add_routes

    add_routes(app, service)


def ask(model: Painter, limits: Limits) -> dict[str, Any]:
    from regard.tasks.text_to_image.routes import asked_of

    return asked_of(model, limits)


TASK = Task(
    settings=SETTINGS,
    models={config.TextToImage: TextToImage},
    assets=PaintingAssets,
    data=Builder(
        (*captioned.SETTINGS, "codes"),
        ("tokenizer",),
        build,
        Report.from_dict,
        open_prepared,
        pictures.find,
        pictures.files_of,
        lambda recipe: {"data.codes": first_stage(recipe)},
    ),
    read=captioned.read_split,
    training=PaintingTraining,
    dry_run=DryRunner(
        dry_run_sizes, lambda sizes: f"{sizes[0]:,} tokens and {sizes[1]:,} codes", dry_run_batch, dry_run_loss
    ),
    load=load,
    serve=serve,
    ask=ask,
    evaluate=verbs.evaluate,
    view=verbs.view,
    live_page=live_page,
)
