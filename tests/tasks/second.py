"""An engine to test with that is not the native one, and can be told from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from regard import config
from regard.decoding.options import Hypothesis, Search
from regard.tasks.translation.native import Native


class Second:
    """An engine that cannot be watched, and writes what the native one would only write second."""

    def __init__(self, native: Native) -> None:
        self.native = native

    def decode(
        self,
        sources: Sequence[Sequence[int]],
        options: Search,
        settings: config.Decoding,
        prefixes: Sequence[Sequence[int]] | None = None,
    ) -> list[list[Hypothesis]]:
        wider = replace(options, nbest=2, beam=max(2, options.beam))
        return [found[1:] for found in self.native.decode(sources, wider, settings, prefixes)]
