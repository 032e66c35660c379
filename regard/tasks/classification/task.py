"""The row of text classification."""

from __future__ import annotations

from pathlib import Path

from regard import config
from regard.config.classification import SETTINGS
from regard.data import labelled
from regard.data.prepare import Builder
from regard.models.classifier import TextClassifier
from regard.tasks.classification import verbs
from regard.tasks.classification.assets import ClassificationAssets, open_prepared
from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.training import ClassificationTraining, rehearsed_loss, rehearsed_sizes
from regard.tasks.task import Rehearsal, Task, Trained


def load(trained: Trained, name: str | Path) -> Classifier:
    return Classifier(trained.model, trained.recipe, trained.assets, trained.provenance)


TASK = Task(
    settings=SETTINGS,
    models={config.TextEncoder: TextClassifier},
    assets=ClassificationAssets,
    data=Builder(labelled.SETTINGS, ("tokenizer",), labelled.build, labelled.Report.from_dict, open_prepared),
    read=labelled.read_split,
    training=ClassificationTraining,
    rehearsal=Rehearsal(rehearsed_sizes, lambda sizes: f"{sizes[0]:,} tokens and {sizes[1]:,} labels", rehearsed_loss),
    load=load,
    evaluate=verbs.evaluate,
    score=verbs.score,
    view=verbs.view,
)
