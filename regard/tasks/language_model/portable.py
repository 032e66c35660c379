"""What a page needs to read a text as a TextGenerator does."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from regard import config
from regard.errors import UsageError
from regard.tasks.language_model.generator import TextGenerator
from regard.view.inside import Stack, shape_of
from regard.view.portable import pack_weights


def portable(writer: TextGenerator) -> dict[str, Any]:
    """Of a Transformer without pointer and without clusters of rare tokens; others are refused by name."""
    settings = writer.recipe.model
    if type(settings) is not config.TextDecoder:
        raise UsageError(
            f"{writer.recipe.name} cannot run inside a page: its architecture is {settings.architecture!r}, and only"
            " 'transformer' can. `regard view` without --live shows it"
        )
    for name, used in (("pointer", settings.pointer), ("cutoffs", writer.model.output.cutoffs)):
        if used:
            raise UsageError(f"{writer.recipe.name} cannot run inside a page: model.{name} is not computed there")
    return {
        "kind": "language-model",
        "title": writer.recipe.name,
        "facts": {**writer.facts(), "weights": "8 bits"},
        "shape": {**shape_of(settings), "vocabulary": writer.tokenizer.size("target"), "clusters": 0},
        "stacks": [asdict(Stack("decoder", "target", "embedding", "layers", settings.layers, "next"))],
        "settings": vars(settings),
        "weights": pack_weights(writer.model),
        "tokenizer": writer.tokenizer.to_dict(),
        "stream": writer.whole,
        "context": writer.context,
    }
