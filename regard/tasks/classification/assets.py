"""What a classifier's file carries besides its weights."""

from __future__ import annotations

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
        content = {"temperature": 1.0, **stored.content}
        labels = require(content, "labels", tuple[str, ...])
        temperature = require(content, "temperature", float)
        if not labels or len(set(labels)) < len(labels):
            raise DataError("its labels are not a list of different texts")
        if temperature <= 0:
            raise DataError("its temperature is not above 0")
        return cls(read_tokenizer(stored), labels, temperature)

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
