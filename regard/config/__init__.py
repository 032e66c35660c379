"""Every setting: its name, type, default, bounds and one sentence. A recipe is a TOML file that states only what differs.

Sections are frozen dataclasses; the sentence below a field is its documentation, in `docs/settings.md` as here. What all
tasks share is in data.py, model.py, training.py and recipe.py; what only one can be told is in the file of its name.
`recipes.py` reads and writes them.
"""

from __future__ import annotations

from regard.config.classification import (
    ClassificationRecipe,
    ClassifierModel,
    ClassifierTraining,
    ConvolutionalEncoder,
    LabelledText,
    RecurrentAttentionEncoder,
    RecurrentEncoder,
    TextEncoder,
)
from regard.config.data import Data, TextData, Tokenizer
from regard.config.image_classification import (
    CompactTransformer,
    LabelledPictures,
    PictureModel,
    PictureRecipe,
    PictureTraining,
    VisionTransformer,
)
from regard.config.image_codes import CaptionedPictures, CodesTraining, ImageCodes, ImageCodesRecipe
from regard.config.language_model import (
    LanguageModel,
    LanguageRecipe,
    LanguageTraining,
    PlainText,
    RecurrentDecoder,
    TextDecoder,
)
from regard.config.model import AttentionModel, ConvolutionalModel, Model, RecurrentModel
from regard.config.recipe import Architecture, Recipe, TaskSettings, TextRecipe
from regard.config.tasks import TASKS, task_settings
from regard.config.text_to_image import PaintingData, PaintingRecipe, PaintingTraining, TextToImage
from regard.config.training import ConsistentTraining, TextTraining, Training
from regard.config.translation import (
    Convolutional,
    Corpus,
    Decoding,
    ParallelText,
    Recurrent,
    RecurrentAttention,
    Transformer,
    TranslationModel,
    TranslationRecipe,
    TranslationTraining,
)

__all__ = [
    "TASKS",
    "Architecture",
    "AttentionModel",
    "CaptionedPictures",
    "ClassificationRecipe",
    "ClassifierModel",
    "ClassifierTraining",
    "CodesTraining",
    "CompactTransformer",
    "ConsistentTraining",
    "Convolutional",
    "ConvolutionalEncoder",
    "ConvolutionalModel",
    "Corpus",
    "Data",
    "Decoding",
    "ImageCodes",
    "ImageCodesRecipe",
    "LabelledPictures",
    "LabelledText",
    "LanguageModel",
    "LanguageRecipe",
    "LanguageTraining",
    "Model",
    "PaintingData",
    "PaintingRecipe",
    "PaintingTraining",
    "ParallelText",
    "PictureModel",
    "PictureRecipe",
    "PictureTraining",
    "PlainText",
    "Recipe",
    "Recurrent",
    "RecurrentAttention",
    "RecurrentAttentionEncoder",
    "RecurrentDecoder",
    "RecurrentEncoder",
    "RecurrentModel",
    "TaskSettings",
    "TextData",
    "TextDecoder",
    "TextEncoder",
    "TextRecipe",
    "TextToImage",
    "TextTraining",
    "Tokenizer",
    "Training",
    "Transformer",
    "TranslationModel",
    "TranslationRecipe",
    "TranslationTraining",
    "VisionTransformer",
    "task_settings",
]
