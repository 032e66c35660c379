"""A trained classifier at work: raw text in, a label and its probability out, one answer for every text.

`regard.load("runs/imdb")` returns a Classifier.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from regard import config
from regard.data.labelled import clean
from regard.data.tokenizer import Tokenizer
from regard.errors import UsageError
from regard.models.classifier import TextClassifier
from regard.tasks.classify import classify_ids, in_reach
from regard.tasks.texts import LOOK_AHEAD, Texts, in_blocks, shown

BATCH_TOKENS = 8_192


@dataclass(frozen=True)
class Classification:
    """What became of one text. An empty text has no label, and nothing is probable."""

    label: str
    probabilities: Mapping[str, float]
    """Of every label, the most probable first; calibrated on the validation text."""
    pieces: int
    windows: int = 1
    """How many windows voted, of a text longer than the model reads at once."""
    cut: bool = False
    """Whether the text was longer than the model reads, and only a part of it was read."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "probabilities": dict(self.probabilities)}


class Classifier:
    """A model, its tokenizer, its labels and its recipe, ready to classify."""

    def __init__(
        self,
        model: TextClassifier,
        tokenizer: Tokenizer,
        recipe: config.ClassificationRecipe,
        provenance: Mapping[str, Any] | None = None,
        facts: Mapping[str, Any] = {},
    ) -> None:
        self.model, self.tokenizer, self.recipe = model.eval(), tokenizer, recipe
        self.provenance = provenance or {}
        self.labels: Sequence[str] = facts["labels"]
        self.temperature = float(facts.get("temperature", 1.0))

    @overload
    def classify(self, text: str) -> Classification: ...
    @overload
    def classify(self, text: Texts) -> list[Classification]: ...

    def classify(self, text: str | Texts) -> Classification | list[Classification]:
        """Classify one text or many; a list in, a list out, in the same order."""
        if isinstance(text, str):
            return next(self.stream([text]))
        if not isinstance(text, list | tuple):
            raise UsageError(f"classify takes a text or a list of texts, not {shown(text)}")
        return list(self.stream(text))

    def stream(self, texts: Iterable[str], *, look_ahead: int = LOOK_AHEAD) -> Iterator[Classification]:
        """Classify any number of texts in bounded memory: one answer for each, in order."""
        before = 0
        for block in in_blocks(texts, look_ahead):
            for number, text in enumerate(block, start=before):
                if not isinstance(text, str):
                    raise UsageError(f"text {number} (counting from 0) is {shown(text)}, not a string")
            yield from self._block(block)
            before += len(block)

    def _block(self, texts: list[str]) -> Iterator[Classification]:
        data = self.recipe.data
        encoded = self.tokenizer.encode_all([clean(text, data) for text in texts], "source")
        real = [np.array(ids, dtype=np.int64) for ids in encoded if ids]
        logits = classify_ids(self.model, real, data, BATCH_TOKENS) if real else None
        found = iter((logits / self.temperature).softmax(-1).tolist() if logits is not None else ())
        for ids in encoded:
            if not ids:
                yield Classification("", {}, 0, windows=0)
                continue
            ranked = sorted(zip(self.labels, next(found), strict=True), key=lambda each: -each[1])
            windows = len(in_reach(np.array(ids), data))
            cut = len(ids) > data.max_pieces and windows == 1
            yield Classification(ranked[0][0], dict(ranked), len(ids), windows, cut)
