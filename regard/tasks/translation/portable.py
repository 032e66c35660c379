"""What a page needs to translate as a Translator does."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from regard import config
from regard.data.languages import letters_of, weight_of
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
        "directions": directions(translator),
        "letters": letters(translator),
        "shape": {**shape_of(settings), "vocabulary": translator.tokenizer.size("target")},
        "stacks": [asdict(stack) for stack in stacks_of(settings)],
        "settings": vars(settings),
        "weights": pack_weights(translator.model),
        "tokenizer": translator.tokenizer.to_dict(),
        "decoding": vars(translator.recipe.decoding),
        "longest": translator.longest,
        "sentences": translator.sentences,
    }


def directions(translator: Translator) -> dict[str, dict[str, Any]]:
    """By each language that it may write: how a text is read for it, and what a person would like to know; the usual first."""
    usual = translator.recipe.data.target_language
    others = [] if translator.fixed else [each for each in translator.targets if each != usual]
    turned = {language: translator.to(language) for language in (usual, *others)}
    return {
        language: {
            "tags": each.tags,
            "rules": rules_of(each.recipe.data.source_language),
            "facts": {**each.facts(), "weights": "8 bits"},
        }
        for language, each in turned.items()
    }


def letters(translator: Translator) -> list[dict[str, Any]]:
    """The letters of each direction's source, as a range of characters, and what they count; none if its direction is known."""
    if translator.fixed:
        return []
    pairs = dict.fromkeys(each.languages for each in translator.data.directions)
    return [
        {"target": target, "letters": range_, "weight": weight_of(range_)}
        for range_, target in ((letters_of(source), target) for source, target in pairs)
    ]
