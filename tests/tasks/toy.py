"""A translator that copies made-up sentences, or turns the order of their words around: its alignment is known."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import torch

from regard import config
from regard.data.batching import pad
from regard.data.tokenizer import PAD, train_tokenizer
from regard.tasks.registry import build
from regard.tasks.translation.training import translation_loss
from regard.tasks.translation.translator import Translator

WORDS = ["ba", "duko", "ne", "mita", "ko", "tuda", "mi", "bokenu", "ta", "demo", "nu", "kitabe"]


def sentences(seed: int, count: int) -> list[list[str]]:
    """Four or five words each, no word twice."""
    chance = random.Random(seed)
    return [chance.sample(WORDS, chance.randint(4, 5)) for _ in range(count)]


@cache
def toy(reverse: bool, layers: int, heads: int, updates: int = 250) -> Translator:
    """Learns in a few seconds."""
    recipe = config.TranslationRecipe(
        name="toy",
        data=config.ParallelText(max_tokens=30),
        tokenizer=config.Tokenizer(vocabulary=300, coverage=1.0),
        model=config.Transformer(
            width=48, feed_forward=96, heads=heads, encoder_layers=1, decoder_layers=layers, dropout=0.0,
            max_positions=40, norm="pre",
        ),
        decoding=config.Decoding(max_ratio=1.0, max_extra=5),
    )  # fmt: skip
    lines = [" ".join(words) for words in sentences(0, 200)]
    tokenizer = train_tokenizer(lines, lines, recipe.tokenizer)
    torch.manual_seed(1)
    model = build(recipe.model, tokenizer.size("source"), tokenizer.size("target"))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=updates, pct_start=0.2)
    for number in range(updates):
        drawn = sentences(1_000 + number, 32)
        sources = [np.array(tokenizer.encode(" ".join(words), "source")) for words in drawn]
        targets = [np.array(tokenizer.encode(" ".join(words[::-1] if reverse else words), "target")) for words in drawn]
        source, read, wanted = map(
            torch.from_numpy, (pad(sources, end=True), pad(targets, start=True), pad(targets, end=True))
        )
        loss = translation_loss(model, source, read, wanted, smoothing=0.1).smoothed
        optimizer.zero_grad()
        (loss / (wanted != PAD).sum()).backward()
        optimizer.step()
        schedule.step()
    return Translator(model, tokenizer, recipe)
