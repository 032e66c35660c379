"""A trained language model at work: how a text goes on, and how probable a text is.

`regard.load("runs/wikitext-2")` returns a TextWriter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard import config
from regard.data.tokenizer import Tokenizer
from regard.models.language_model import LanguageModel


class TextWriter:
    """A language model, its tokenizer and its recipe, ready to write."""

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: Tokenizer,
        recipe: config.LanguageRecipe,
        provenance: Mapping[str, Any] | None = None,
        facts: Mapping[str, Any] = {},
    ) -> None:
        self.model, self.tokenizer, self.recipe = model.eval(), tokenizer, recipe
        self.provenance = provenance or {}
