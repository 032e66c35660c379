"""What a page needs to translate as a Translator does."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from regard import config
from regard.data.sentences import rules_of
from regard.errors import UsageError
from regard.tasks.translation.recording import stacks_of
from regard.tasks.translation.translator import Translator
from regard.view.inside import shape_of
from regard.view.portable import pack_weights


def portable(translator: Translator) -> dict[str, Any]:
    """Of a Transformer with any of its settings; other architectures are refused by name."""
    settings = translator.recipe.model
    if type(settings) is not config.Transformer:
        raise UsageError(
            f"{translator.recipe.name} cannot run inside a page: its architecture is {settings.architecture!r}, and only"
            " 'transformer' can. `regard serve` has a live page for it"
        )
    return {
        "kind": "translator",
        "title": translator.recipe.name,
        "facts": {**translator.facts(), "weights": "8 bits"},
        "shape": {**shape_of(settings), "vocabulary": translator.tokenizer.size("target")},
        "stacks": [asdict(stack) for stack in stacks_of(settings)],
        "settings": vars(settings),
        "weights": pack_weights(translator.model),
        "tokenizer": translator.tokenizer.to_dict(),
        "decoding": vars(translator.recipe.decoding),
        "tags": translator.tags,
        "longest": translator.longest,
        "sentences": translator.sentences,
        "rules": rules_of(translator.recipe.data.source_language),
    }
