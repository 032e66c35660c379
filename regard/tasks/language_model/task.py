"""The row of language modelling."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import config
from regard.config.language_model import SETTINGS
from regard.data import plain
from regard.data.prepare import Builder
from regard.models.language_model import RecurrentLanguageModel, TransformerLanguageModel
from regard.tasks.language_model import verbs
from regard.tasks.language_model.assets import LanguageAssets, open_prepared
from regard.tasks.language_model.ensemble import ensemble
from regard.tasks.language_model.exporting import export
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.language_model.glass_box import GLASS_BOX
from regard.tasks.language_model.judging import JUDGE, examples_of
from regard.tasks.language_model.racing import RACING
from regard.tasks.language_model.training import LanguageTraining, dry_run_batch, dry_run_loss, dry_run_sizes, survey
from regard.tasks.task import DryRunner, Task, Trained

if TYPE_CHECKING:  # what an extra installs
    from fastapi import FastAPI

    from regard.serve.limits import Limits
    from regard.serve.service import Service


def load(trained: Trained, name: str | Path) -> TextGenerator:
    generator = TextGenerator(trained.model, trained.assets.tokenizer, trained.recipe, trained.provenance)
    generator.origin = name
    return generator


def serve(app: FastAPI, service: Service) -> None:
    from regard.tasks.language_model.routes import add_routes

    add_routes(app, service)


def ask(model: TextGenerator, limits: Limits) -> dict[str, Any]:
    from regard.tasks.language_model.routes import asked_of

    return asked_of(model, limits)


TASK = Task(
    settings=SETTINGS,
    models={config.TextDecoder: TransformerLanguageModel, config.RecurrentDecoder: RecurrentLanguageModel},
    assets=LanguageAssets,
    data=Builder(plain.SETTINGS, ("tokenizer",), plain.build, plain.Report.from_dict, open_prepared),
    read=plain.read_split,
    training=LanguageTraining,
    dry_run=DryRunner(dry_run_sizes, lambda sizes: f"{sizes[0]:,} tokens", dry_run_batch, dry_run_loss, survey),
    load=load,
    ensemble=ensemble,
    serve=serve,
    ask=ask,
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
