"""The row of language modelling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from regard import config
from regard.config.language_model import SETTINGS
from regard.data import plain
from regard.data.prepare import Builder
from regard.models.language_model import RecurrentLanguageModel, TransformerLanguageModel
from regard.tasks.language_model.assets import LanguageAssets, open_prepared
from regard.tasks.language_model.evaluation import measure
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.language_model.training import LanguageTraining, rehearsed_batch, rehearsed_loss, rehearsed_sizes
from regard.tasks.task import Rehearsal, Task, Trained


def load(trained: Trained, name: str | Path) -> TextGenerator:
    return TextGenerator(trained.model, trained.assets.tokenizer, trained.recipe, trained.provenance)


def recipe_scores(writer: TextGenerator, recipe: config.LanguageRecipe) -> dict[str, list[dict[str, Any]]]:
    """Perplexity on the recipe's test sets, or on its validation text if it has none."""
    sets = recipe.data.test or {"valid": recipe.data.valid}
    texts = {name: plain.read_documents(files, recipe.data) for name, files in sets.items()}
    return {
        name: [measure(writer.model, writer.tokenizer, recipe.data, lines).to_dict()] for name, lines in texts.items()
    }


TASK = Task(
    settings=SETTINGS,
    models={config.TextDecoder: TransformerLanguageModel, config.RecurrentDecoder: RecurrentLanguageModel},
    assets=LanguageAssets,
    data=Builder(plain.SETTINGS, ("tokenizer",), plain.build, plain.Report.from_dict, open_prepared),
    read=plain.read_split,
    training=LanguageTraining,
    rehearsal=Rehearsal(rehearsed_sizes, lambda sizes: f"{sizes[0]:,} tokens", rehearsed_batch, rehearsed_loss),
    load=load,
    test=recipe_scores,
    look=TextGenerator.look,
)
