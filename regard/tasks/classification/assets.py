"""What a classifier's file carries besides its weights."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from regard.checkpoint import StoredAssets
from regard.data.encoding import load_tokenizer
from regard.data.ids import PairIds
from regard.data.labelled import Report
from regard.data.pairs import TOKENIZER
from regard.data.tokenizer import Tokenizer
from regard.errors import DataError
from regard.tasks.text_assets import read_tokenizer, require


@dataclass(frozen=True)
class ClassificationAssets:
    """The tokenizer, the labels and what calibrates their probabilities."""

    tokenizer: Tokenizer
    labels: tuple[str, ...]
    """What texts are called; a label's number is its place."""
    temperature: float = 1.0
    """At which the model is as sure as it is right."""

    @classmethod
    def read(cls, stored: StoredAssets) -> ClassificationAssets:
        tokenizer, labels = read_tokenizer(stored), require(stored.content, "labels", list)
        temperature = stored.content.get("temperature", 1.0)
        if not labels or not all(isinstance(label, str) for label in labels) or len(set(labels)) < len(labels):
            raise DataError("its labels are not a list of different texts")
        if isinstance(temperature, bool) or not isinstance(temperature, (int, float)) or not 0 < temperature < math.inf:
            raise DataError("its temperature is not a number above 0")
        return cls(tokenizer, tuple(labels), float(temperature))

    def write(self) -> StoredAssets:
        content = {"labels": list(self.labels), "temperature": self.temperature}
        return StoredAssets({"tokenizer": self.tokenizer.to_dict(), **content})

    @property
    def sizes(self) -> tuple[int, int]:
        return self.tokenizer.size("source"), len(self.labels)


def open_prepared(folder: Path, report: Report) -> tuple[ClassificationAssets, PairIds, PairIds]:
    """What data/labelled.py built."""
    assets = ClassificationAssets(load_tokenizer(folder / TOKENIZER), tuple(report.labels))
    return assets, PairIds.open(folder, "train"), PairIds.open(folder, "valid")
