"""What several stages test with: a tokenizer of made-up words, and a small translator that knows a few sentences."""

from __future__ import annotations

import copy
import os
import random
import tempfile

os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # before torch: toys gain nothing from threads, and lose on a busy machine
# Toys are compared to the last token with the native engine; tests of the others name them, or take this away.
os.environ["REGARD_ENGINE"] = "native"
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # where there are threads: every core has tests of its own
os.environ["REGARD_CACHE"] = tempfile.mkdtemp(prefix="regard-tests-")
os.environ["REGARD_COURSE"] = tempfile.mkdtemp(prefix="regard-tests-")

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, settings

from regard import config
from regard.data.batching import pad
from regard.data.tokenizer import PAD, Tokenizer, train_tokenizer
from regard.tasks.registry import build
from regard.tasks.translation.training import translation_loss
from regard.tasks.translation.translator import Translator

SYLLABLES = [consonant + vowel for consonant in "bdkmnt" for vowel in "aeiou"]


# No test depends on how fast or how busy a machine is.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

SLOW_SECONDS = 900  # longer than any patience of their own, so that what they wait for in vain is said first


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """No test may hang: pyproject.toml limits every one, and here those marked slow get more."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))


def made_up_sentences(seed: int, count: int = 300) -> list[str]:
    """Sentences of two to nine words from a vocabulary of 200."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 3))) for _ in range(200)]
    return [" ".join(chance.choices(words, k=chance.randint(2, 9))).capitalize() + "." for _ in range(count)]


@pytest.fixture(scope="session")
def tiny_recipe() -> config.TranslationRecipe:
    """Small enough to learn in seconds and to translate in milliseconds."""
    return config.TranslationRecipe(
        name="tiny",
        data=config.ParallelText(max_tokens=40),
        tokenizer=config.Tokenizer(vocabulary=400),
        model=config.Transformer(
            width=32, feed_forward=64, heads=4, encoder_layers=2, decoder_layers=2, dropout=0.0, max_positions=64
        ),
        decoding=config.Decoding(max_ratio=1.0, max_extra=5),
    )


@pytest.fixture(scope="session")
def tiny_tokenizer(tiny_recipe: config.TranslationRecipe) -> Tokenizer:
    return train_tokenizer(made_up_sentences(1), made_up_sentences(2), tiny_recipe.tokenizer)


@pytest.fixture(scope="session")
def tiny_translator(tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer) -> Translator:
    return taught(tiny_recipe, tiny_tokenizer)


@pytest.fixture(scope="session")
def exact_translator(tiny_translator: Translator) -> Translator:
    return in_double(tiny_translator)


def in_double(translator: Translator) -> Translator:
    """The same in double precision: where two ways to compute must write the same, no rounding decides what they write."""
    return Translator(copy.deepcopy(translator.model).double(), translator.tokenizer, translator.recipe)


def taught(recipe: config.TranslationRecipe, tokenizer: Tokenizer, updates: int = 60) -> Translator:
    """Has seen sixteen sentences often, so that its outputs differ from source to source and come to an end."""
    sources = [np.array(ids) for ids in tokenizer.encode_all(made_up_sentences(1, 16), "source")]
    targets = [np.array(ids) for ids in tokenizer.encode_all(made_up_sentences(2, 16), "target")]
    source, read, wanted = map(
        torch.from_numpy, (pad(sources, end=True), pad(targets, start=True), pad(targets, end=True))
    )
    torch.manual_seed(1)
    model = build(recipe.model, tokenizer.size("source"), tokenizer.size("target"))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, betas=(0.9, 0.98))
    for _ in range(updates):
        loss = translation_loss(model, source, read, wanted, smoothing=0.1).smoothed
        optimizer.zero_grad()
        (loss / (wanted != PAD).sum()).backward()
        optimizer.step()
    return Translator(model, tokenizer, recipe)
