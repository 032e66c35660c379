"""The row of text classification."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard import config
from regard.config.classification import SETTINGS
from regard.data import labelled
from regard.data.prepare import Builder
from regard.models.classifier import (
    ConvolutionalClassifier,
    RecurrentAttentionClassifier,
    RecurrentClassifier,
    TransformerClassifier,
)
from regard.tasks.classification import verbs
from regard.tasks.classification.assets import ClassificationAssets, open_prepared
from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.ensemble import ensemble
from regard.tasks.classification.exporting import export
from regard.tasks.classification.glass_box import GLASS_BOX
from regard.tasks.classification.judging import JUDGE, examples_of
from regard.tasks.classification.racing import RACING
from regard.tasks.classification.training import (
    ClassificationTraining,
    dry_run_batch,
    dry_run_loss,
    dry_run_sizes,
    survey,
)
from regard.tasks.task import DryRunner, Task, Trained

if TYPE_CHECKING:  # what an extra installs
    from fastapi import FastAPI

    from regard.serve.limits import Limits
    from regard.serve.service import Service


def load(trained: Trained, name: str | Path) -> Classifier:
    classifier = Classifier(trained.model, trained.recipe, trained.assets, trained.provenance)
    classifier.origin = name
    return classifier


def serve(app: FastAPI, service: Service) -> None:
    from regard.tasks.classification.routes import add_routes

    add_routes(app, service)


def ask(model: Classifier, limits: Limits) -> dict[str, Any]:
    from regard.tasks.classification.routes import asked_of

    return asked_of(model, limits)


TASK = Task(
    settings=SETTINGS,
    models={
        config.TextEncoder: TransformerClassifier,
        config.RecurrentEncoder: RecurrentClassifier,
        config.RecurrentAttentionEncoder: RecurrentAttentionClassifier,
        config.ConvolutionalEncoder: ConvolutionalClassifier,
    },
    assets=ClassificationAssets,
    data=Builder(labelled.SETTINGS, ("tokenizer",), labelled.build, labelled.Report.from_dict, open_prepared),
    read=labelled.read_split,
    training=ClassificationTraining,
    dry_run=DryRunner(
        dry_run_sizes,
        lambda sizes: f"{sizes[0]:,} tokens and {sizes[1]:,} label{'s' if sizes[1] != 1 else ''}",
        dry_run_batch,
        dry_run_loss,
        survey,
    ),
    renewed=lambda theirs, own: () if theirs.labels == own.labels else ("output", "ngram_bag"),
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
