"""Models of every kind that can be exported, with weights at random, and sentences for them."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import pytest
import torch

from regard import config
from regard.data.tokenizer import END, PAD, START, UNKNOWN, train_tokenizer
from regard.decoding.options import Engine, Hypothesis, Search
from regard.tasks.registry import build
from regard.tasks.task import Trained
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.native import decode
from tests.conftest import made_up_sentences
from tests.decoding.steady import steady

VARIANTS: dict[str, dict[str, str | bool | int]] = {
    "paper": {},
    "pre-norm": {"norm": "pre"},
    "learned positions": {"positions": "learned"},
    "untied": {"tied": False},
    "separate vocabularies": {"tied": False, "joint": False, "norm": "pre", "positions": "learned"},
    "unlike stacks": {"encoder_layers": 3, "decoder_layers": 1},
    "no positions": {"positions": "none"},
    "no scale": {"scale": False},
    "no bias": {"bias": False},
    "gelu": {"activation": "gelu"},
    "swish, pre-norm": {"activation": "swish", "norm": "pre"},
    "large epsilon": {"norm_epsilon": 0.3},
    "no norm": {"norm": "none"},
    "wide values": {"value_width": 12},
    "narrow keys": {"key_width": 3},
    "no residual": {"residual": False},
    "no feed-forward": {"feed_forward": 0},
}
LACKING = {
    "no norm": "norm", "no residual": "residual", "no feed-forward": "feed_forward", "wide values": "value_width",
    "narrow keys": "key_width",
}  # fmt: skip
"""What CTranslate2's layers cannot do without."""
each_variant = pytest.mark.parametrize("variant", VARIANTS)


def trained(variant: str, recipe: config.TranslationRecipe) -> Trained:
    """No two parameters are alike, neither biases nor norms, so that none can take another's place unnoticed."""
    changes = dict(VARIANTS[variant])
    tokens = replace(recipe.tokenizer, joint=bool(changes.pop("joint", True)))
    recipe = replace(recipe, tokenizer=tokens, model=replace(recipe.model, **changes))
    tokenizer = train_tokenizer(made_up_sentences(1), made_up_sentences(2), tokens)
    torch.manual_seed(len(variant))
    model = build(recipe.model, tokenizer.size("source"), tokenizer.size("target"))
    layer = model.decoder[-1]
    last = model.decoder_norm if recipe.model.norm == "pre" else (layer.after_feed_forward or layer.after_cross).norm
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
        # What is never written has no probability, as after training; CTranslate2 would share it out among the rest.
        # Nor has the end: where most of a beam ends at once, as it does at random, CTranslate2 forgets some of it.
        if recipe.model.norm == "none":  # then a bias of what it adds last
            layer.feed_forward.narrow.bias[0] += 10
        else:
            last.bias[0] += 10
        model.output.weight[[PAD, START, END, UNKNOWN], 0] -= 5
    return Trained(model.eval(), recipe, TranslationAssets(tokenizer), {})


def source_ids(trained: Trained, count: int = 12) -> list[list[int]]:
    """Sentences of several lengths."""
    return trained.assets.tokenizer.encode_all(made_up_sentences(3, count), "source")


def require_agreement(
    model: Trained,
    engine: Engine,
    sources: list[list[int]],
    search: Search,
    settings: config.Decoding | None = None,
    prefixes: list[list[int]] | None = None,
) -> list[list[Hypothesis]]:
    """What an engine writes is what the model itself writes, wherever no rounding decides → all that the model writes."""
    settings = settings or model.recipe.decoding
    ours, theirs = decode(model.model, sources, search, settings, prefixes), engine.decode(
        sources, search, settings, prefixes
    )  # fmt: skip
    sure = steady(model.model, sources, search, settings, prefixes)
    require_same([ours[place] for place in sure], [theirs[place] for place in sure])
    return ours


def require_same(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> None:
    """The same texts, ended for the same reason, with the same probabilities."""
    assert [[each.tokens for each in found] for found in theirs] == [[each.tokens for each in found] for found in ours]
    for left, right in zip(chain(*ours), chain(*theirs), strict=True):
        assert right.finish_reason == left.finish_reason
        assert right.token_log_probabilities == pytest.approx(left.token_log_probabilities, abs=1e-4)
        assert right.log_probability == pytest.approx(left.log_probability, abs=1e-3)  # a sum of such
        assert right.score == pytest.approx(left.score, abs=1e-3)
