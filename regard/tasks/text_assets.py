"""The asset that every task with text keeps: its tokenizer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from regard import config
from regard.config.sections import convert
from regard.data.tokenizer import Tokenizer
from regard.errors import DataError, shown

if TYPE_CHECKING:
    from regard.checkpoint import StoredAssets

ALL_WORDS = 30_000


def read_tokenizer(stored: StoredAssets) -> Tokenizer:
    """As `Tokenizer.to_dict` wrote it."""
    return tokenizer_in(stored.content)


def tokenizer_in(content: Mapping[str, Any]) -> Tokenizer:
    """The same of what a model file says in JSON."""
    return Tokenizer.from_dict(require(content, "tokenizer", Mapping[str, str]))


def require(content: Mapping[str, Any], name: str, kind: Any) -> Any:
    """An asset that must be there, and of a kind, such as `tuple[str, ...]`."""
    try:
        return convert(content.get(name), kind)
    except TypeError as error:
        raise DataError(f"its asset {name!r} must be {error}, not {shown(content.get(name))}") from None


def guess_vocabulary(settings: config.Tokenizer) -> int:
    """How many tokens there will be; a guess, where the text decides it."""
    return settings.vocabulary or ALL_WORDS
