"""The asset that every task with text keeps: its tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard import config
from regard.checkpoint import StoredAssets
from regard.data.tokenizer import Tokenizer
from regard.errors import DataError

ALL_WORDS = 30_000


def read_tokenizer(stored: StoredAssets) -> Tokenizer:
    """As `Tokenizer.to_dict` wrote it."""
    return Tokenizer.from_dict(require(stored.content, "tokenizer", dict))


def require(content: Mapping[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:
    """An asset that must be there, and of a kind."""
    if not isinstance(content.get(name), kind):
        raise DataError(f"its asset {name!r} is missing, or of another kind than it should be")
    return content[name]


def guess_vocabulary(settings: config.Tokenizer) -> int:
    """How many tokens there will be; a guess, where the text decides it."""
    return settings.vocabulary or ALL_WORDS
