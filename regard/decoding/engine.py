"""What decodes: this model through this search, or another program with the same weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from regard import config
from regard.decoding.options import Hypothesis, Search


class Engine(Protocol):
    """Ids of any number of sentences in, the n best hypotheses of each out, in the order given."""

    def decode(
        self,
        sources: Sequence[Sequence[int]],
        options: Search,
        settings: config.Decoding,
        prefixes: Sequence[Sequence[int]] | None = None,
    ) -> list[list[Hypothesis]]: ...
