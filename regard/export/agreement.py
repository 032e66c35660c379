"""Does an exported model write what the original writes? Both decode the same sentences, and are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from torch import Tensor

from regard import config
from regard.data.tokenizer import Tokenizer
from regard.decoding.options import Hypothesis, Search

BAR = 0.99  # of the texts must be identical where numbers have 32 bits
CLOSE = 1e-3  # that probabilities may differ by: some thousand times what 32 bits round

Decode: TypeAlias = Callable[[Sequence[Sequence[int]], Search, config.Decoding], list[list[Hypothesis]]]


@dataclass(frozen=True)
class Difference:
    """A sentence that the two write differently."""

    source: str
    original: str
    original_score: float
    exported: str
    exported_score: float


@dataclass(frozen=True)
class Agreement:
    """How two ways to run one model compare."""

    sentences: int
    identical: int
    score_difference: float
    """The greatest between two outputs that are the same."""
    differences: list[Difference]

    @property
    def agrees(self) -> bool:
        """Whether nearly all texts are the same."""
        return self.share >= BAR

    @property
    def share(self) -> float:
        """Of the sentences, those with identical output."""
        return self.identical / self.sentences if self.sentences else 1.0

    def lines(self, engine: str, shown: int = 5) -> list[str]:
        """For people."""
        lines = [
            f"{self.identical:,} of {self.sentences:,} texts identical ({self.share:.1%}), "
            f"scores of these differ by at most {self.score_difference:.1e}"
        ]
        width = max(len("original"), len(engine))
        for each in self.differences[:shown]:
            lines += [
                f"  {'source':{width}}            {each.source}",
                f"  {'original':{width}}  {each.original_score:8.4f}  {each.original}",
                f"  {engine:{width}}  {each.exported_score:8.4f}  {each.exported}",
            ]
        if len(self.differences) > shown:
            lines.append(f"  … and {len(self.differences) - shown:,} more")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "share": self.share}


def compare(
    original: Decode,
    exported: Decode,
    tokenizer: Tokenizer,
    texts: Sequence[str],
    sources: Sequence[Sequence[int]],
    search: Search,
    settings: config.Decoding,
) -> Agreement:
    """Decode texts, each short enough for the model, and read as `sources`, in both ways; the best output of each counts."""
    differences, greatest = [], 0.0
    results = (decode(sources, search, settings) for decode in (original, exported))
    for text, (ours, *_), (theirs, *_) in zip(texts, *results, strict=True):
        if tokenizer.line(ours.tokens) == tokenizer.line(theirs.tokens):
            greatest = max(greatest, abs(ours.score - theirs.score))
        else:
            lines = tokenizer.line(ours.tokens), tokenizer.line(theirs.tokens)
            differences.append(Difference(text, lines[0], ours.score, lines[1], theirs.score))
    return Agreement(len(texts), len(texts) - len(differences), greatest, differences)


@dataclass(frozen=True)
class ProbabilityAgreement:
    """How the probabilities compare that two ways to run one model give."""

    texts: int
    of: str
    """What is probable: labels, or next tokens."""
    places: int
    """At which they were compared: windows of texts, or tokens."""
    identical: int
    """Places at which the same is most probable."""
    probability_difference: float
    """The greatest."""

    @property
    def agrees(self) -> bool:
        """Whether no probability differs by more than rounding explains; which of two equals is first may."""
        return self.probability_difference <= CLOSE

    @property
    def share(self) -> float:
        """Of the places, those at which the same is most probable."""
        return self.identical / self.places if self.places else 1.0

    def lines(self, engine: str) -> list[str]:
        """For people."""
        return [
            f"{self.texts:,} texts: probabilities of {self.of} at {self.places:,} places differ by at most "
            f"{self.probability_difference:.1e}, the most probable is the same at {self.identical:,} ({self.share:.1%})"
        ]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "share": self.share}


def compare_probabilities(pairs: Iterable[tuple[Tensor, Tensor]], texts: int, of: str) -> ProbabilityAgreement:
    """Pairs of probabilities [places, choices], of the original and of what was exported."""
    places, identical, greatest = 0, 0, 0.0
    for ours, theirs in pairs:
        if not len(ours):
            continue
        places += len(ours)
        identical += int((ours.argmax(-1) == theirs.argmax(-1)).sum())
        difference = (ours - theirs).abs().max().item()
        greatest = max(greatest, difference if difference == difference else 1.0)  # no number is as far as can be
    return ProbabilityAgreement(texts, of, places, identical, greatest)
