"""How probable a model finds translations that are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

from regard.cancellation import check_cancelled
from regard.data.batching import in_batches
from regard.errors import UsageError
from regard.tasks.texts import Texts, shown
from regard.tasks.translation.inputs import TranslationInput
from regard.tasks.translation.results import PairScore


class PairScoring(TranslationInput):
    """Scores pairs of texts."""

    @overload
    def score(self, sources: str, targets: str, *, to: str | None = ...) -> PairScore: ...
    @overload
    def score(self, sources: Texts, targets: Texts, *, to: str | None = ...) -> list[PairScore]: ...

    def score(
        self, sources: str | Texts, targets: str | Texts, *, to: str | None = None
    ) -> PairScore | list[PairScore]:
        """The log-probability of each target given its source; of one pair, or of as many sources as targets, which are of the
        language `to`.

        Pairs of similar length are computed together, about `decoding.batch_tokens` at a time; none depends on the others.
        """
        self = self if to is None else self.to(to)
        if isinstance(sources, str) and isinstance(targets, str):
            return self._scores([sources], [targets])[0]
        for given in (sources, targets):
            if not isinstance(given, list | tuple):
                raise UsageError(f"score takes two texts or two lists of texts, not {shown(given)} among them")
        if len(sources) != len(targets):
            raise UsageError(f"{len(sources)} sources were given with {len(targets)} targets; they go in pairs")
        return self._scores(sources, targets)

    def _scores(self, sources: Sequence[str], targets: Sequence[str]) -> list[PairScore]:
        for text in (*sources, *targets):
            if not isinstance(text, str):
                raise UsageError(f"score compares texts; it was given {shown(text)}")
        read, written = self._directed_ids(sources), self.tokenizer.encode_all(targets, "target")
        for source, target in zip(read, written, strict=True):
            self._check_length(source, "source")
            self._check_length(target, "target")
        from regard.tasks.translation.native import log_probabilities

        found: dict[int, list[float]] = {}
        lengths = [1 + max(map(len, pair)) for pair in zip(read, written, strict=True)]
        for batch in in_batches(lengths, self.recipe.decoding.batch_tokens, 1):
            check_cancelled()
            pairs = [read[index] for index in batch], [written[index] for index in batch]
            found.update(zip(batch, log_probabilities(self.model, *pairs), strict=True))
        return [
            PairScore(sum(found[index]), self.tokenizer.tokens(target, "target"), found[index])
            for index, target in enumerate(written)
        ]

    def score_cost(self, sources: Sequence[str], targets: Sequence[str]) -> list[int]:
        """Of each pair, how many tokens `score` computes."""
        sides = self._directed_ids(sources), self.tokenizer.encode_all(targets, "target")
        return [len(source) + len(target) + 2 for source, target in zip(*sides, strict=True)]
