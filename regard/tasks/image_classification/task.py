"""The row of image classification."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import config
from regard.config.image_classification import SETTINGS
from regard.data import pictures, pixels
from regard.data.prepare import Builder
from regard.models.vit import CompactTransformer, VisionTransformer
from regard.tasks.image_classification import verbs
from regard.tasks.image_classification.assets import PictureAssets, open_prepared
from regard.tasks.image_classification.exporting import export
from regard.tasks.image_classification.recognizer import Recognizer
from regard.tasks.image_classification.training import (
    PictureClassificationTraining,
    dry_run_batch,
    dry_run_loss,
    dry_run_sizes,
)
from regard.tasks.task import DryRunner, Task, Trained

if TYPE_CHECKING:  # what an extra installs
    from fastapi import FastAPI

    from regard.serve.limits import Limits
    from regard.serve.service import Service


def load(trained: Trained, name: str | Path) -> Recognizer:
    return Recognizer(trained.model, trained.recipe, trained.assets, trained.provenance, origin=name)


def serve(app: FastAPI, service: Service) -> None:
    from regard.tasks.image_classification.routes import add_routes

    add_routes(app, service)


def ask(model: Recognizer, limits: Limits) -> dict[str, Any]:
    from regard.tasks.image_classification.routes import asked_of

    return asked_of(model, limits)


TASK = Task(
    settings=SETTINGS,
    models={config.VisionTransformer: VisionTransformer, config.CompactTransformer: CompactTransformer},
    assets=PictureAssets,
    data=Builder(
        pixels.SETTINGS, (), pixels.build, pixels.Report.from_dict, open_prepared, pictures.find, pictures.files_of
    ),
    read=pictures.read_split,
    training=PictureClassificationTraining,
    dry_run=DryRunner(
        dry_run_sizes,
        lambda sizes: f"pictures of {sizes[1]} × {sizes[1]} and {sizes[2]:,} labels",
        dry_run_batch,
        dry_run_loss,
    ),
    load=load,
    serve=serve,
    ask=ask,
    evaluate=verbs.evaluate,
    score=verbs.score,
    view=verbs.view,
    export=export,
)
