"""Which pairs are left out of training, by stated rules, and the report that counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.data.encoding import Chunk
from regard.data.tokenizer import BYTES
from regard.errors import DataError

SHORT = 10
"""Sides of at most this many tokens may be as disproportionate as they like: "Ja." against "Yes, please do."."""


@dataclass
class Counts:
    """What became of the pairs of one split; pairs of numbers are (source, target)."""

    read: int = 0
    kept: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=lambda: [0, 0])
    byte_tokens: list[int] = field(default_factory=lambda: [0, 0])
    shared: int = 0
    """Pairs that the training text holds as well."""


def summed(counts: Sequence[Counts]) -> Counts:
    """Of several texts."""
    rules = dict.fromkeys(rule for each in counts for rule in each.skipped)
    return Counts(
        read=sum(each.read for each in counts),
        kept=sum(each.kept for each in counts),
        skipped={rule: sum(each.skipped[rule] for each in counts) for rule in rules},
        tokens=[sum(sides) for sides in zip(*(each.tokens for each in counts), strict=True)],
        byte_tokens=[sum(sides) for sides in zip(*(each.byte_tokens for each in counts), strict=True)],
        shared=sum(each.shared for each in counts),
    )


class Cleaner:
    """Applies the rules to chunk after chunk and counts; a validation text only loses what cannot be used."""

    def __init__(self, max_tokens: int, max_ratio: float, seen: Seen | None = None, *, training: bool) -> None:
        self._max_tokens, self._max_ratio, self._training = max_tokens, max_ratio, training
        self._seen = seen or Seen()  # what training knows: filled by one Cleaner, asked by another
        rules = ("empty", "long", "disproportionate", "duplicate") if training else ("empty", "long")
        self.counts = Counts(skipped=dict.fromkeys(rules, 0))

    def clean(self, chunk: Chunk) -> Chunk:
        """The pairs of a chunk that pass every rule; each other one is counted under the first it breaks."""
        self.counts.read += len(chunk.lengths)
        shorter, longer = chunk.lengths.min(axis=1), chunk.lengths.max(axis=1)
        keep = self._pass("empty", np.ones(len(shorter), dtype=bool), shorter == 0)
        keep = self._pass("long", keep, longer > self._max_tokens)
        if self._training:
            keep = self._pass("disproportionate", keep, (longer > SHORT) & (longer > self._max_ratio * shorter))
            repeated = np.zeros(len(keep), dtype=bool)
            repeated[keep] = ~self._seen.add(chunk.prints[keep])
            keep = self._pass("duplicate", keep, repeated)
        kept = chunk.select(keep)
        if not self._training:
            self.counts.shared += int(self._seen.holds(kept.prints).sum())
        self._count(kept)
        return kept

    def _pass(self, rule: str, keep: NDArray[np.bool_], breaks: NDArray[np.bool_]) -> NDArray[np.bool_]:
        self.counts.skipped[rule] += int((keep & breaks).sum())
        return keep & ~breaks

    def _count(self, kept: Chunk) -> None:
        self.counts.kept += len(kept.lengths)
        of_target = np.repeat(np.tile([False, True], len(kept.lengths)), kept.lengths.ravel())  # one per id
        in_bytes = (kept.ids >= BYTES.start) & (kept.ids < BYTES.stop)
        for side, mine in enumerate((~of_target, of_target)):
            self.counts.tokens[side] += int(mine.sum())
            self.counts.byte_tokens[side] += int((mine & in_bytes).sum())


class Seen:
    """A growing set of 64-bit fingerprints: sorted arrays of falling size, merged like the runs of a merge sort."""

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def add(self, prints: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Remember fingerprints, and say which of them were new."""
        unique, first = np.unique(prints, return_index=True)
        new = ~self.holds(unique)
        if new.any():
            self._runs.append(unique[new])
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            self._runs[-2:] = [np.sort(np.concatenate(self._runs[-2:]))]
        is_new = np.zeros(len(prints), dtype=bool)
        is_new[first[new]] = True
        return is_new

    def holds(self, prints: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which fingerprints are remembered."""
        known = np.zeros(len(prints), dtype=bool)
        for run in self._runs:
            places = np.minimum(np.searchsorted(run, prints), len(run) - 1)
            known |= run[places] == prints
        return known


def told_shared(shared: int, of: int, what: str) -> list[str]:
    """A line of a report, if validation text was trained on."""
    if not shared:
        return []
    return [f"  {shared:,} of its {of:,} {what} are also in data.train: what they score says nothing of new text"]


def _told_mark(counts: Counts) -> str:
    skipped = ", ".join(f"{count:,} {rule}" for rule, count in counts.skipped.items() if count)
    shared = f"; {counts.shared:,} are also trained on" if counts.shared else ""
    return (f" ({skipped} skipped)" if skipped else "") + shared


@dataclass(frozen=True)
class Report:
    """What was read, kept and skipped, by which rule."""

    max_tokens: int
    max_ratio: float
    train: Counts
    valid: Counts
    sentences: int = 1
    """That a tenth of the training lines hold at least: what the model will be given at a time."""
    directions: list[str] = field(default_factory=list)
    """Where there are several corpora, each with its languages …"""
    corpora: dict[str, list[Counts]] = field(default_factory=dict)
    """… and by split what became of its pairs, in the order in which they stand in the prepared folder."""
    doubts: list[str] = field(default_factory=list)
    """What of the text is hardly meant."""

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Report:
        """Read what `dataclasses.asdict` made of a report."""
        train, valid = (Counts(**stored[name]) for name in ("train", "valid"))
        parts = {name: [Counts(**each) for each in counts] for name, counts in stored.get("corpora", {}).items()}
        sentences, directions = stored.get("sentences", 1), list(stored.get("directions", ()))
        return cls(
            stored["max_tokens"], stored["max_ratio"], train, valid, sentences=sentences, directions=directions, corpora=parts,
            doubts=list(stored.get("doubts", ())),
        )  # fmt: skip

    def sizes(self, split: str) -> list[int]:
        """Pairs of each direction in a split."""
        return [each.kept for each in self.corpora[split]] if self.corpora else [getattr(self, split).kept]

    def lines(self) -> list[str]:
        """The report for people."""
        return [*self._split_lines("train", self.train), *self._split_lines("valid", self.valid), *self.doubts]

    def check(self) -> None:
        """Refuse a corpus of which nothing is left."""
        for name, counts in (("train", self.train), ("valid", self.valid)):
            if not counts.kept:
                raise DataError("\n".join([f"no pair of data.{name} can be used:", *self._split_lines(name, counts)]))

    def _split_lines(self, name: str, counts: Counts) -> list[str]:
        words = {
            "empty": "a side is empty",
            "long": f"a side has more than {self.max_tokens:,} tokens (data.max_tokens)",
            "disproportionate": f"the longer side has over {SHORT} tokens and more than {self.max_ratio:g} times"
            " the other's (data.max_ratio)",
            "duplicate": "the same pair stood earlier",
        }
        lines = [f"{name}: {counts.kept:,} of {counts.read:,} pairs kept"]
        for direction, each in zip(self.directions, self.corpora.get(name, ()), strict=False):
            lines.append(f"  {direction}: {each.kept:,} of {each.read:,} pairs kept{_told_mark(each)}")
        lines += [f"  {count:,} skipped: {words[rule]}" for rule, count in counts.skipped.items()]
        if counts.kept:
            for side, tokens, spelled in zip(("source", "target"), counts.tokens, counts.byte_tokens, strict=True):
                lines.append(
                    f"  {side}: {tokens:,} tokens, {tokens / counts.kept:.1f} per sentence,"
                    f" {spelled / tokens:.3%} of them single bytes of unseen characters"
                )
        return lines + told_shared(counts.shared, counts.kept, "pairs")
