"""One experiment: the sections of each task, and the tables that say which they are."""

from __future__ import annotations

from dataclasses import dataclass, field

from regard.config.data import Data, LabelledText, ParallelText, PlainText, Tokenizer
from regard.config.models import (
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
from regard.config.training import ClassifierTraining, Decoding, LanguageTraining, Training


@dataclass(frozen=True)
class Recipe:
    """One experiment. What a model file stores of itself."""

    name: str = "model"
    """Names the run folder, `runs/NAME`; the recipe's file name unless stated."""
    task: str = ""
    """What the model does."""
    data: Data = field(default_factory=Data)
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    model: Model = field(default_factory=Model)
    training: Training = field(default_factory=Training)


@dataclass(frozen=True)
class TranslationRecipe(Recipe):
    """Text in one language → text in another."""

    task: str = "translate"
    data: ParallelText = field(default_factory=ParallelText)
    model: Translating = field(default_factory=Transformer)
    decoding: Decoding = field(default_factory=Decoding)


@dataclass(frozen=True)
class ClassificationRecipe(Recipe):
    """Text → label."""

    task: str = "classify"
    data: LabelledText = field(default_factory=LabelledText)
    model: TextEncoder = field(default_factory=TextEncoder)
    training: ClassifierTraining = field(default_factory=ClassifierTraining)


@dataclass(frozen=True)
class LanguageRecipe(Recipe):
    """Text → how it goes on."""

    task: str = "language-model"
    data: PlainText = field(default_factory=PlainText)
    model: Continuing = field(default_factory=TextDecoder)
    training: LanguageTraining = field(default_factory=LanguageTraining)


# One row per task: the class of its recipes, whose fields name the classes that read each section …
TASKS: dict[str, type[Recipe]] = {
    "translate": TranslationRecipe,
    "classify": ClassificationRecipe,
    "language-model": LanguageRecipe,
}
# … but for [model], which depends on the architecture. The first is what a recipe means that names none.
ARCHITECTURES: dict[str, dict[str, type[Model]]] = {
    "translate": {
        "transformer": Transformer,
        "rnn": Recurrent,
        "rnn-attention": RecurrentAttention,
        "conv": Convolutional,
    },
    "classify": {"transformer": TextEncoder},
    "language-model": {"transformer": TextDecoder, "rnn": RecurrentDecoder},
}
