"""What a translation model's file carries besides its weights."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from regard.checkpoint import StoredAssets
from regard.data.encoding import load_tokenizer
from regard.data.ids import PairIds
from regard.data.pairs import TOKENIZER
from regard.data.tokenizer import Tokenizer
from regard.errors import DataError, shown
from regard.models.shortlist import Lexicon
from regard.tasks.text_assets import read_tokenizer

LEXICON = "lexicon."


@dataclass(frozen=True)
class TranslationAssets:
    """The tokenizer of both languages, and what translates what."""

    tokenizer: Tokenizer
    lexicon: Lexicon | None = None
    """For shortlists; models from before there were any have none."""

    @classmethod
    def read(cls, stored: StoredAssets) -> TranslationAssets:
        tokenizer = read_tokenizer(stored)
        tensors = {name.removeprefix(LEXICON): each for name, each in stored.tensors.items()}
        if not tensors:
            return cls(tokenizer)
        if set(tensors) != set(Lexicon._fields):
            raise DataError(f"its lexicon consists of {shown(sorted(tensors))} instead of {', '.join(Lexicon._fields)}")
        lexicon, sizes = Lexicon(**tensors), (tokenizer.size("source"), tokenizer.size("target"))
        whole = all(each.dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64) for each in lexicon)
        shaped = lexicon.table.dim() == 2 and lexicon.frequent.dim() == 1 and len(lexicon.table) == sizes[0]
        if not (
            whole and shaped and all(not each.numel() or 0 <= each.min() <= each.max() < sizes[1] for each in lexicon)
        ):
            raise DataError("its lexicon does not fit its tokenizer")
        return cls(tokenizer, lexicon)

    def write(self) -> StoredAssets:
        tensors = self.lexicon._asdict() if self.lexicon is not None else {}
        return StoredAssets(
            {"tokenizer": self.tokenizer.to_dict()}, {f"{LEXICON}{name}": each for name, each in tensors.items()}
        )

    @property
    def sizes(self) -> tuple[int, int]:
        return self.tokenizer.size("source"), self.tokenizer.size("target")


def open_prepared(folder: Path, report: Any) -> tuple[TranslationAssets, PairIds, PairIds]:
    """What data/pairs.py built."""
    assets = TranslationAssets(load_tokenizer(folder / TOKENIZER))
    return assets, PairIds.open(folder, "train"), PairIds.open(folder, "valid")
