"""Every setting: its name, type, default and one sentence. A recipe is a TOML file that states only what differs.

Sections are frozen dataclasses; the sentence below a field is its documentation, in `docs/settings.md` as here.
`regard/recipes.py` reads and writes them.
"""

from __future__ import annotations

from regard.config.data import FILES, PLACES, Data, LabelledText, ParallelText, PlainText, Tokenizer
from regard.config.models import (
    Attending,
    Continuing,
    Convolutional,
    Model,
    Recurrent,
    RecurrentAttention,
    RecurrentDecoder,
    TextDecoder,
    TextEncoder,
    Transformer,
    Translating,
)
from regard.config.recipe import ARCHITECTURES, TASKS, ClassificationRecipe, LanguageRecipe, Recipe, TranslationRecipe
from regard.config.training import ClassifierTraining, Decoding, LanguageTraining, TextTraining, Training

__all__ = [
    "ARCHITECTURES",
    "FILES",
    "PLACES",
    "TASKS",
    "Attending",
    "ClassificationRecipe",
    "ClassifierTraining",
    "Continuing",
    "Convolutional",
    "Data",
    "Decoding",
    "LabelledText",
    "LanguageRecipe",
    "LanguageTraining",
    "Model",
    "ParallelText",
    "PlainText",
    "Recipe",
    "Recurrent",
    "RecurrentAttention",
    "RecurrentDecoder",
    "TextDecoder",
    "TextEncoder",
    "TextTraining",
    "Tokenizer",
    "Training",
    "Transformer",
    "Translating",
    "TranslationRecipe",
]
