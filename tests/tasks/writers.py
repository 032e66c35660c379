"""Small language models for the tests of writing: of every kind, and one that knows a text by heart."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from regard import config
from regard.data.batching import pad
from regard.data.tokenizer import END, START, Tokenizer, train_text_tokenizer
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.language_model.training import language_loss
from regard.tasks.registry import build
from tests.conftest import made_up_sentences

KOREAN = ["고래는 바다에 살아요.", "곰은 산에서 울어요."]
ARCHITECTURES = ["transformer", "transformer-pointer", "rnn"]


def recipe_of(
    architecture: str = "transformer", documents: str = "stream", context: int = 16, kind: str = "bpe", **model: Any
) -> config.LanguageRecipe:
    settings: dict[str, Any] = dict(width=24, layers=2, dropout=0.1, max_positions=64)
    architecture, _, pointer = architecture.partition("-")
    if architecture == "transformer":
        settings |= dict(feed_forward=32, heads=4, pointer=bool(pointer))
    return config.LanguageRecipe(
        name="small",
        data=config.PlainText(documents=documents, max_tokens=context),
        tokenizer=config.Tokenizer(kind=kind, vocabulary=0 if kind == "words" else 420, coverage=1.0),
        model=config.TASKS["text-generation"].architectures[architecture].settings(**{**settings, **model}),  # type: ignore[arg-type]
    )


def untaught(tokenizer: Tokenizer, recipe: config.LanguageRecipe, seed: int = 0) -> TextGenerator:
    """Knows nothing, but is of a decided opinion, and in double precision, so that no rounding decides between two."""
    torch.manual_seed(seed)
    model = build(recipe.model, tokenizer.size("source"))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(2)
    return TextGenerator(model.double(), tokenizer, recipe)


def mixed_tokenizer(kind: str = "bpe") -> Tokenizer:
    """English-like tokens; Korean is spelled in bytes."""
    return train_text_tokenizer(made_up_sentences(1), recipe_of(kind=kind).tokenizer)


def taught(lines: list[str], tokenizer: Tokenizer, recipe: config.LanguageRecipe, updates: int) -> TextGenerator:
    """Has read the lines, each as a document of its own, until it knows them by heart."""
    torch.manual_seed(1)
    model = build(recipe.model, tokenizer.size("source"))
    ids = [np.array(each) for each in tokenizer.encode_all(lines, "source")]
    first = START if recipe.data.documents == "lines" else END
    wanted = torch.from_numpy(pad(ids, end=True))
    read = torch.from_numpy(pad([np.array([first, *each]) for each in ids]))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(updates):
        loss = language_loss(model, read, wanted, smoothing=0.0).smoothed / wanted.numel()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return TextGenerator(model, tokenizer, recipe)
