"""A trained classifier at work: raw text in, a label and its probability out, one answer for every text.

`regard.load("runs/imdb")` returns a Classifier.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard import config
from regard.data.batching import pad
from regard.data.labelled import clean, read_split
from regard.data.tokenizer import START, Side
from regard.errors import UsageError
from regard.models.classifier import TextClassifier
from regard.models.layers import Table
from regard.models.packed import pack_weights
from regard.tasks.alternatives import SHOWN_BY_LENS
from regard.tasks.classification.assets import ClassificationAssets
from regard.tasks.classification.attribution import attribute
from regard.tasks.classification.page import Explanation
from regard.tasks.classification.training import classify_ids, in_reach
from regard.tasks.provenance import told_count, told_scores
from regard.tasks.registry import count_parameters
from regard.tasks.switches import Switchable
from regard.tasks.texts import LOOK_AHEAD, Texts, in_blocks, shown
from regard.tasks.vectors import BATCH_TOKENS, Reading, TextVectors, Window
from regard.view.words import text_of


@dataclass(frozen=True)
class Classification:
    """What became of one text. An empty text has no label, and nothing is probable."""

    label: str
    probabilities: Mapping[str, float]
    """Of every label, the most probable first; calibrated on the validation text."""
    token_count: int
    """Of the whole text, also of what was not read."""
    windows: int = 1
    """How many windows voted, of a text longer than the model reads at once."""
    cut: bool = False
    """Whether the text was longer than the model reads, and only a part of it was read."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "probabilities": dict(self.probabilities)}


class Classifier(TextVectors, Switchable):
    """A model, its tokenizer, its labels and its recipe, ready to classify."""

    model: TextClassifier
    recipe: config.ClassificationRecipe

    def __init__(
        self,
        model: TextClassifier,
        recipe: config.ClassificationRecipe,
        assets: ClassificationAssets,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.model, self.recipe, self.assets = pack_weights(model.eval()), recipe, assets
        self.provenance = provenance or {}
        self.tokenizer, self.labels, self.temperature = assets.tokenizer, assets.labels, assets.temperature

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
            encoded, logits = self.logits(block)
            found = iter((logits / self.temperature).softmax(-1).tolist())
            yield from (self._answer(len(ids), next(found) if len(ids) else ()) for ids in encoded)
            before += len(block)

    def logits(self, texts: Sequence[str]) -> tuple[list[NDArray[np.int64]], Tensor]:
        """The ids of each text, and of those that have any the logits [S, C], before the temperature calibrates them."""
        encoded = self.encode(texts)
        real = [ids for ids in encoded if len(ids)]
        if not real:
            return encoded, torch.empty(0, len(self.labels))
        return encoded, classify_ids(self.model, real, self.recipe.data, BATCH_TOKENS)

    def encode(self, texts: Sequence[str]) -> list[NDArray[np.int64]]:
        """The ids of each text, cleaned as in training."""
        encoded = self.tokenizer.encode_all([clean(text, self.recipe.data) for text in texts], "source")
        return [np.array(ids, dtype=np.int64) for ids in encoded]

    def window_lengths(self, text: str) -> list[int]:
        """How many tokens each window over a text has."""
        return [len(window.ids) for window in self._reading(text).windows]

    def cost(self, texts: Sequence[str]) -> list[int]:
        """Of each text, how many tokens `classify` computes: those of all windows, which overlap."""
        return [sum(len(part) + 1 for part in in_reach(ids, self.recipe.data)) for ids in self.encode(texts)]

    def _answer(self, token_count: int, probabilities: Sequence[float]) -> Classification:
        if not token_count:
            return Classification("", {}, 0, windows=0)
        ranked = sorted(zip(self.labels, probabilities, strict=True), key=lambda each: -each[1])
        windows = len(in_reach(np.empty(token_count, dtype=np.bool_), self.recipe.data))
        cut = token_count > self.recipe.data.max_tokens and windows == 1
        return Classification(ranked[0][0], dict(ranked), token_count, windows, cut)

    def look(self, text: str) -> Explanation:
        """Which words the decision looked at; of a text that is read in windows, in the first of them."""
        return next(self.looks(text))

    def looks(self, text: str) -> Iterator[Explanation]:
        """The same, of every window."""
        if not isinstance(text, str):
            raise UsageError(f"look takes a text, not {shown(text)}")
        (ids,) = self.encode([text])
        if not len(ids):
            raise UsageError("an empty text has nothing to look at")
        answer = self.classify(text)
        for number, part in enumerate(in_reach(ids, self.recipe.data), start=1):
            yield self._explain(text, answer, part, number)

    def _explain(self, text: str, answer: Classification, part: NDArray[np.int64], window: int) -> Explanation:
        ids = torch.from_numpy(pad([part], start=self.model.pooling == "first"))  # [1, T]
        found = attribute(self.model, ids.to(self.model.device), self.labels.index(answer.label), self.temperature)
        tokens = self.tokenizer.tokens(ids[0].tolist(), "source")
        ngrams: dict[str, float] = defaultdict(float)
        for each in found.ngram_contributions:
            ngram = text_of(tokens[each.first : each.first + each.length])
            ngrams[ngram.replace("\ufffd", "…") or "␣"] += each.contribution  # … are some bytes of a character
        left_out = {"first": len(part), "ends": len(part) - len(part) // 2}[self.recipe.data.long] if answer.cut else 0
        return Explanation(
            title=self.recipe.name,
            text=text,
            label=answer.label,
            probabilities=answer.probabilities,
            tokens=tokens,
            weights=found.weights,
            attention=found.attention,
            gradient=found.gradient,
            log_odds=found.log_odds,
            ngrams=found.ngrams if found.ngram_contributions else None,
            ngram_contributions=sorted(ngrams.items(), key=lambda each: -abs(each[1])),
            window=window,
            windows=answer.windows,
            gap=left_out + (len(tokens) - len(part)) if answer.cut else None,
            facts=self.facts(),
            labels=self.labels,
            logits=found.logits,
            temperature=self.temperature,
            inside=self.inside(
                found.record, len(tokens), "label", lambda states: [self._lens(states, ids, answer.label)]
            ),
        )

    def _lens(self, states: Tensor, ids: Tensor, label: str) -> dict[str, Any]:
        """What states [T, D] of ids [1, T] would decide."""
        logits = torch.stack(self.model.separate_logits(states, ids)).sum(0)[0] / self.temperature  # [C]
        shares = logits.softmax(-1)
        best = shares.topk(min(SHOWN_BY_LENS, len(self.labels)))
        own = shares[self.labels.index(label)]
        return {
            "tokens": [self.labels[each] for each in best.indices.tolist()],
            "probabilities": best.values.tolist(),
            "logits": logits[best.indices].tolist(),
            "probability": own.item(),
            "rank": int((shares > own).sum()) + 1,
        }

    @property
    def usual_pool(self) -> str:
        """What the labels are decided by, or, where a query chooses, all states alike."""
        return self.model.pooling if self.model.pooling in self.pools else "mean"

    def _reading(self, text: str) -> Reading:
        """In the windows that `classify` would take."""
        (ids,) = self.encode([text])
        if not len(ids):
            return Reading([])
        before = [START] if self.model.pooling == "first" else []
        parts = [[*before, *part.tolist()] for part in in_reach(ids, self.recipe.data)]
        cut = len(ids) > self.recipe.data.max_tokens and len(parts) == 1
        return Reading([Window(part, len(part)) for part in parts], cut)

    def _states(self, windows: Sequence[Window]) -> Tensor:
        ids = pad([np.array(window.ids, dtype=np.int64) for window in windows])  # [S, T]
        return self.model.encode(torch.from_numpy(ids).to(self.model.device))

    def _table(self, side: Side) -> Table:
        return self.model.embedding.table

    def _training_lines(self, recipe: config.ClassificationRecipe, side: Side) -> Iterator[str]:
        return (clean(example.text, recipe.data) for example in read_split(recipe.data, "train"))

    def about_long(self, cut: int, windowed: int) -> str:
        """What to tell of so many texts that were cut or read in windows, and which setting decided it; or nothing."""
        data = self.recipe.data
        read = {
            "first": "their beginning",
            "ends": "half from each end",
            "windows": "all of them, in windows",
        }
        if not cut and not windowed:
            return ""
        return (
            f"{cut + windowed:,} text(s) longer than data.max_tokens = {data.max_tokens:,}: "
            f'read was {read[data.long]} (data.long = "{data.long}")'
        )

    def facts(self) -> dict[str, str]:
        """What a person would like to know of the model, for pages and reports."""
        sizes = self.tokenizer.size("source"), len(self.labels)
        facts = {
            "labels": f"{len(self.labels):,}",
            "parameters": f"{count_parameters(self.recipe.model, *sizes):,}",
            "training texts": f"{told_count(self.provenance, 'training_examples'):,}",
            "updates": f"{told_count(self.provenance, 'updates'):,}",
        }
        return facts | {name: f"{value:.1f}" for name, value in told_scores(self.provenance)}
