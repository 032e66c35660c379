"""How a server looks into a classifier at work."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.page import MOST_WINDOWS, Explanation
from regard.tasks.classification.portable import portable
from regard.tasks.task import GlassBox

PASSES = 4  # to classify, to look, and back again for the gradient


def scenes(classifier: Classifier, text: str) -> Iterator[Explanation]:
    return islice(classifier.looks(text), MOST_WINDOWS)


def size(classifier: Classifier, text: str) -> int:
    lengths = classifier.window_lengths(text)[:MOST_WINDOWS]
    return classifier.inside_size(lengths)


def cost(classifier: Classifier, text: str) -> int:
    return PASSES * classifier.cost([text])[0]


def about(classifier: Classifier) -> dict[str, Any]:
    return {
        "attentions": classifier.model.attention_names(),
        "beam": None,
        "languages": "",
        "targets": [],
        "by_letters": False,
        "examples": [],
    }


GLASS_BOX = GlassBox(scenes, size, cost, about, portable=portable)
