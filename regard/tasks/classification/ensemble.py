"""Several classifiers as one.

S texts · C labels
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.data.tokenizer import Side
from regard.models.ensemble import log_mean
from regard.models.layers import Table
from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.page import Explanation
from regard.tasks.ensembles import ModelName, none_in_common, require_alike
from regard.tasks.task import Trained
from regard.tasks.vectors import Window


class ClassifierEnsemble(Classifier):
    """Answers by the mean of its members' calibrated probabilities; each reads a text in its own way."""

    def __init__(self, members: Sequence[Classifier]) -> None:
        first = members[0]
        super().__init__(first.model, first.recipe, replace(first.assets, temperature=1.0))
        self.members = members

    def logits(self, texts: Sequence[str]) -> tuple[list[NDArray[np.int64]], Tensor]:
        """The ids of each text as the first reads it, and of those that have any the logarithms of the mean probabilities [S, C]."""
        encoded, found = self.members[0].logits(texts)
        opinions = [[row / self.members[0].temperature] for row in found]
        real = [text for text, ids in zip(texts, encoded, strict=True) if len(ids)]
        for member in self.members[1:]:
            theirs, found = member.logits(real)
            rows = iter(found / member.temperature)
            for opinion, ids in zip(opinions, theirs, strict=True):
                if len(ids):  # whoever finds no word in a text has no opinion of it
                    opinion.append(next(rows))
        means = [log_mean([each.log_softmax(-1) for each in opinion]) for opinion in opinions]
        return encoded, torch.stack(means) if means else found

    def cost(self, texts: Sequence[str]) -> list[int]:
        """Of each text, how many tokens all members together compute."""
        return [sum(each) for each in zip(*(member.cost(texts) for member in self.members), strict=True)]

    def looks(self, text: str) -> Iterator[Explanation]:
        raise none_in_common("attention")

    def _states(self, windows: Sequence[Window]) -> Tensor:
        raise none_in_common("vectors")

    def _table(self, side: Side) -> Table:
        raise none_in_common("embedding")

    def facts(self) -> dict[str, str]:
        """Of all together."""
        return {"models": f"{len(self.members)}", **super().facts()}


def ensemble(members: Sequence[Trained], names: Sequence[ModelName]) -> ClassifierEnsemble:
    """A Classifier that answers what all of them together find most probable; only the labels must be the same."""
    labels = [each.assets.labels for each in members]
    require_alike(names, labels, "the list of labels", "Train them on texts with the same labels")
    together = ClassifierEnsemble(
        [Classifier(each.model, each.recipe, each.assets, each.provenance) for each in members]
    )
    together.origin = names[0]
    return together
