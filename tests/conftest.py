"""What several stages test with: a tokenizer learned from made-up words and a small untrained translator."""

from __future__ import annotations

import random

import pytest
import torch

from regard import config
from regard.data.tokenizer import BYTES, END, Tokenizer, train_tokenizer
from regard.models.build import build
from regard.tasks.translator import Translator

SYLLABLES = [consonant + vowel for consonant in "bdkmnt" for vowel in "aeiou"]


def made_up_sentences(seed: int, count: int = 300) -> list[str]:
    """Sentences of two to nine words from a vocabulary of 200."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 3))) for _ in range(200)]
    return [" ".join(chance.choices(words, k=chance.randint(2, 9))).capitalize() + "." for _ in range(count)]


@pytest.fixture(scope="session")
def tiny_recipe() -> config.Recipe:
    """Small enough to translate in milliseconds; nothing in it is trained."""
    return config.Recipe(
        name="tiny",
        data=config.ParallelText(max_pieces=40),
        tokenizer=config.Tokenizer(pieces=400),
        model=config.Transformer(
            width=32, feed_forward=64, heads=4, encoder_layers=2, decoder_layers=2, max_positions=64, tied=False
        ),
        decoding=config.Decoding(max_ratio=1.0, max_extra=5),
    )


@pytest.fixture(scope="session")
def tiny_tokenizer(tiny_recipe: config.Recipe) -> Tokenizer:
    return train_tokenizer(made_up_sentences(1), made_up_sentences(2), tiny_recipe.tokenizer)


@pytest.fixture(scope="session")
def tiny_translator(tiny_recipe: config.Recipe, tiny_tokenizer: Tokenizer) -> Translator:
    """Speaks nonsense, but always the same nonsense, and another for each sentence."""
    torch.manual_seed(1)
    model = build(tiny_recipe.model, tiny_tokenizer.size("source"), tiny_tokenizer.size("target"))
    with torch.no_grad():  # whole pieces rather than bytes, and some sentences that end by themselves
        model.output.weight *= 2
        model.output.weight[list(BYTES)] = 0
        model.output.weight[END] *= 2
    return Translator(model, tiny_tokenizer, tiny_recipe)
