"""Weights that format 1 called by other names are found, whatever model they belong to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from regard import config
from regard.checkpoint import read, unique_weights, write
from regard.data.tokenizer import Tokenizer
from regard.errors import CheckpointError
from regard.tasks.language_model.assets import LanguageAssets
from regard.tasks.registry import build
from regard.tasks.task import Assets
from regard.tasks.trained import load_trained, save_trained
from regard.tasks.translation.assets import TranslationAssets
from tests.tasks.labelled import untrained
from tests.tasks.writers import recipe_of

OLD = {
    "decoder.0.attention_output.weight": "decoder.0.found.weight",
    "decoder.0.attention_output.bias": "decoder.0.found.bias",
    "ngram_bag.table.weight": "votes.table.weight",
    "output.cluster_weight": "output.gates",
    "pointer.sentinel": "pointer.vocabulary",
    "pointer.sentinel_bias": "pointer.calm",
}


def recipe_and_assets(kind: str, tiny: config.TranslationRecipe, tokenizer: Tokenizer) -> tuple[Any, Assets]:
    if kind == "classifier":
        classifier = untrained(ngrams=2, buckets=50)
        return classifier.recipe, classifier.assets
    if kind == "language model":
        return recipe_of("transformer-pointer", cutoffs=(100, 200)), LanguageAssets(tokenizer)
    model = config.Convolutional(width=16, encoder_layers=1, decoder_layers=1, max_positions=64)
    return replace(tiny, model=model), TranslationAssets(tokenizer)


@pytest.mark.parametrize(
    ("kind", "renamed"),
    [
        ("classifier", {"ngram_bag.table.weight"}),
        ("language model", {"output.cluster_weight", "pointer.sentinel", "pointer.sentinel_bias"}),
        ("convolutional", {"decoder.0.attention_output.weight", "decoder.0.attention_output.bias"}),
    ],
)
def test_old_names_are_known(
    tmp_path: Path, kind: str, renamed: set[str], tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer
) -> None:
    recipe, assets = recipe_and_assets(kind, tiny_recipe, tiny_tokenizer)
    saved = build(recipe.model, *assets.sizes)
    for parameter in saved.parameters():
        torch.nn.init.normal_(parameter)
    path = tmp_path / "model.safetensors"
    save_trained(path, unique_weights(saved), recipe, assets, {})
    weights, metadata = read(path)
    assert renamed == OLD.keys() & weights.keys()

    old = {OLD.get(name, name): tensor for name, tensor in weights.items()}
    write(path, old, metadata)  # what a file of today calls a weight is its name
    with pytest.raises(CheckpointError, match="is missing"):
        load_trained(path)

    content = json.loads(metadata.pop("assets"))
    tokenizer = json.dumps(content.pop("tokenizer"))
    write(path, old, {**metadata, "format": "1", "tokenizer": tokenizer, "facts": json.dumps(content)})
    loaded = unique_weights(load_trained(path).model)
    assert loaded.keys() == weights.keys()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in loaded.items())
