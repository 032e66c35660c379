"""Classifiers to test with: untrained ones, whose weights are random but whose laws must hold all the same."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import torch

from regard import config
from regard.config.paths import BUNDLED
from regard.data.labelled import read_split
from regard.data.tokenizer import Tokenizer, train_text_tokenizer
from regard.tasks.classification.assets import ClassificationAssets
from regard.tasks.classification.classifier import Classifier
from regard.tasks.registry import build

LABELS = ["negative", "neutral", "positive"]
FILE = (f"{BUNDLED}moods.tsv",)
MOODS = config.LabelledText(train=FILE, valid=FILE, test={"test": FILE}, text="text", label="label", split="split")

ARCHITECTURES: dict[str, type[config.ClassifierModel]] = {
    "transformer": config.TextEncoder,
    "rnn": config.RecurrentEncoder,
    "rnn-attention": config.RecurrentAttentionEncoder,
    "conv": config.ConvolutionalEncoder,
}


@cache
def texts(split: str = "test") -> list[str]:
    return [example.text for example in read_split(MOODS, split)]


@cache
def tokenizer() -> Tokenizer:
    return train_text_tokenizer(texts("train"), config.Tokenizer(vocabulary=600, coverage=1.0))


def untrained(temperature: float = 1.0, data: Mapping[str, Any] = MappingProxyType({}), **model: Any) -> Classifier:
    """With loud weights, so that answers differ from text to text, in double precision: no rounding decides a label."""
    settings = ARCHITECTURES[model.pop("architecture", "transformer")]
    heads = {"feed_forward": 32, "heads": 2} if settings is config.TextEncoder else {}
    shape = {"width": 16, **heads, "layers": 2, "dropout": 0.3, "max_positions": 80, **model}
    recipe = config.ClassificationRecipe(
        name="untrained",
        data=config.LabelledText(**{"max_tokens": 60, **data}),
        model=settings(**shape),
    )
    torch.manual_seed(1)
    made = build(recipe.model, tokenizer().size("source"), len(LABELS))
    torch.nn.init.normal_(made.output.weight, std=2.0)
    if made.ngram_bag is not None:
        torch.nn.init.normal_(made.ngram_bag.table.weight, std=0.1)
    return Classifier(made.double(), recipe, ClassificationAssets(tokenizer(), tuple(LABELS), temperature))
