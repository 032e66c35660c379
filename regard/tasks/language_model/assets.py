"""What a language model's file carries besides its weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.checkpoint import StoredAssets
from regard.data.encoding import load_tokenizer
from regard.data.ids import PairIds
from regard.data.pairs import TOKENIZER
from regard.data.tokenizer import Tokenizer
from regard.tasks.text_assets import read_tokenizer


@dataclass(frozen=True)
class LanguageAssets:
    """The tokenizer."""

    tokenizer: Tokenizer

    @classmethod
    def read(cls, stored: StoredAssets) -> LanguageAssets:
        return cls(read_tokenizer(stored))

    def write(self) -> StoredAssets:
        return StoredAssets({"tokenizer": self.tokenizer.to_dict()})

    @property
    def sizes(self) -> tuple[int]:
        return (self.tokenizer.size("source"),)


def open_prepared(folder: Path, report: Any) -> tuple[LanguageAssets, PairIds, PairIds]:
    """What data/plain.py built."""
    assets = LanguageAssets(load_tokenizer(folder / TOKENIZER))
    return assets, PairIds.open(folder, "train"), PairIds.open(folder, "valid")
