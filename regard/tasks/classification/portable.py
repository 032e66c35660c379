"""What a page needs to classify as a Classifier does."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from regard import config
from regard.errors import UsageError
from regard.tasks.classification.classifier import Classifier
from regard.view.inside import Stack, shape_of
from regard.view.portable import pack_weights


def portable(classifier: Classifier) -> dict[str, Any]:
    """Of an encoder with any of its settings, n-grams included; a plug-in's architecture is refused."""
    settings, data = classifier.recipe.model, classifier.recipe.data
    if type(settings) is not config.TextEncoder:
        raise UsageError(
            f"{classifier.recipe.name} cannot run inside a page: its architecture is {settings.architecture!r}, and only"
            " 'transformer' can. `regard serve` has a live page for it"
        )
    return {
        "kind": "classifier",
        "title": classifier.recipe.name,
        "facts": {**classifier.facts(), "weights": "8 bits"},
        "shape": {**shape_of(settings), "vocabulary": classifier.tokenizer.size("source")},
        "stacks": [asdict(Stack("encoder", "source", "embedding", "layers", settings.layers, "label"))],
        "settings": vars(settings),
        "weights": pack_weights(classifier.model),
        "tokenizer": classifier.tokenizer.to_dict(),
        "labels": list(classifier.labels),
        "temperature": classifier.temperature,
        "max_tokens": data.max_tokens,
        "long": data.long,
        "replace": dict(data.replace),
    }
