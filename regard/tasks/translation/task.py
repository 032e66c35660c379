"""The row of translation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from regard import config
from regard.config.translation import SETTINGS
from regard.data import pairs
from regard.data.cleaning import Report
from regard.data.mixture import read_split
from regard.data.prepare import Builder
from regard.data.text_doubts import doubts
from regard.models.conv import Convolutional
from regard.models.rnn import Recurrent, RecurrentAttention
from regard.models.transformer import Transformer
from regard.notes import detail
from regard.tasks.task import ENOUGH_EXAMPLES, DryRunner, Task, Trained
from regard.tasks.translation import verbs
from regard.tasks.translation.assets import TranslationAssets, open_prepared
from regard.tasks.translation.engine import about, choose_engine, cores
from regard.tasks.translation.ensemble import ensemble
from regard.tasks.translation.exporting import export
from regard.tasks.translation.glass_box import GLASS_BOX
from regard.tasks.translation.judging import JUDGE, examples_of
from regard.tasks.translation.racing import RACING
from regard.tasks.translation.training import (
    TranslationTraining,
    dry_run_batch,
    dry_run_loss,
    dry_run_sizes,
    survey,
)
from regard.tasks.translation.translator import Translator

if TYPE_CHECKING:  # what an extra installs
    from fastapi import FastAPI

    from regard.serve.service import Service


def load(
    trained: Trained,
    name: str | Path,
    *,
    engine: str = "auto",
    int8: bool = False,
    shortlist: bool = False,
    workers: int = 1,
    to: str | None = None,
) -> Translator:
    """A Translator into a language `to` of those that it knows, and what decodes for it; `workers` 0 is one process for each core, and a GPU needs no company."""
    workers = (workers or cores()) if trained.model.device.type == "cpu" else 1
    chosen = choose_engine(trained, name, engine, int8=int8, shortlist=shortlist, workers=workers)
    detail(f"{name} is decoded by {about(chosen)}")
    translator = Translator(trained.model, trained.assets.tokenizer, trained.recipe, trained.provenance, chosen)
    translator.origin = name
    return translator if to is None else translator.to(to)


def serve(app: FastAPI, service: Service) -> None:
    from regard.tasks.translation.routes import add_routes

    add_routes(app, service)


def front_page(service: Service, folders: Sequence[Path]) -> str:
    from regard.tasks.translation import routes

    return routes.front_page(service, folders)


TASK = Task(
    settings=SETTINGS,
    models={
        config.Transformer: Transformer,
        config.Recurrent: Recurrent,
        config.RecurrentAttention: RecurrentAttention,
        config.Convolutional: Convolutional,
    },
    assets=TranslationAssets,
    data=Builder(pairs.SETTINGS, ("tokenizer",), pairs.build, Report.from_dict, open_prepared),
    read=read_split,
    training=TranslationTraining,
    dry_run=DryRunner(
        dry_run_sizes,
        lambda sizes: f"{sizes[0]:,} tokens",
        dry_run_batch,
        dry_run_loss,
        survey,
        lambda recipe: doubts(recipe.data, ENOUGH_EXAMPLES),
    ),
    load=load,
    ensemble=ensemble,
    serve=serve,
    front_page=front_page,
    evaluate=verbs.evaluate,
    score=verbs.score,
    view=verbs.view,
    examples=examples_of,
    glass_box=GLASS_BOX,
    judge=JUDGE,
    race=RACING,
    embed=verbs.embed,
    export=export,
    neighbours=verbs.neighbours,
)
