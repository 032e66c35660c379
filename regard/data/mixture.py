"""Several texts, or directions of one, as one corpus: read one after another, and mixed anew in every epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np

from regard.config import ParallelText
from regard.config.translation import Direction
from regard.data.batching import Rows
from regard.data.corpus import read_pairs
from regard.errors import DataError

Pair = tuple[str, str]


def read_split(data: ParallelText, split: str) -> Iterator[Pair]:
    """The pairs of `train`, `valid` or a test set, in all directions that have them."""
    chosen = [each for each in data.directions if split in ("train", "valid", *_test_names(each))]
    return chain.from_iterable(read_direction(each, split) for each in chosen)


def _test_names(direction: Direction) -> tuple[str, ...]:
    return (direction.test_name,) if direction.name else tuple(direction.data.test)


def read_direction(direction: Direction, split: str) -> Iterator[Pair]:
    """The pairs of one direction; a corpus without validation text of its own has none, or what is held out of its training
    text."""
    data = direction.data
    if split == "train":
        pairs = read_pairs(data.train, data, direction.split)
        if not data.valid and data.hold_out:
            pairs = _held_out(pairs, data.hold_out, wanted=False)
    elif split == "valid":
        if data.valid:
            pairs = read_pairs(data.valid, data, "valid")
        else:
            pairs = (
                _held_out(read_pairs(data.train, data, direction.split), data.hold_out, wanted=True)
                if data.hold_out
                else iter(())
            )
    else:
        name = direction.name or split
        pairs = read_pairs(data.test[name], data, "test" if direction.name else name)
    return ((target, source) for source, target in pairs) if direction.swapped else pairs


def _held_out(pairs: Iterator[Pair], share: float, wanted: bool) -> Iterator[Pair]:
    """Rows spread evenly over the text, or the rest."""
    for number, pair in enumerate(pairs):
        if (int((number + 1) * share) > int(number * share)) == wanted:
            yield pair


class Mixture:
    """Which rows an epoch has of each of several texts that stand one after another: a pure function of (seed, epoch).

    A text goes through all of its rows, in an order of its own each time, before one comes again; an epoch takes the next
    of them, as many as its weight says.
    """

    def __init__(self, sizes: Sequence[int], weights: Sequence[float], temperature: float, seed: int) -> None:
        self.sizes, self._seed = np.array(sizes), seed
        self.begins = np.concatenate([[0], np.cumsum(self.sizes)])
        flat = self.sizes ** (1 / temperature)
        wanted = np.array(weights) * flat * (self.sizes.sum() / flat.sum())
        self.counts = np.where(self.sizes > 0, np.maximum(1, np.round(wanted)), 0).astype(np.int64)
        """Rows of each text in an epoch."""
        if not self.counts.sum():
            raise DataError("there is nothing to mix: the corpora have no pairs")

    def owner(self, row: int) -> int:
        """The text that a row is of."""
        return int(np.searchsorted(self.begins, row, side="right")) - 1

    def rows(self, text: int, epoch: int) -> Rows:
        """Of a text, those of an epoch."""
        size, count = int(self.sizes[text]), int(self.counts[text])
        begin, end = epoch * count, (epoch + 1) * count
        passes = range(begin // size, -(-end // size)) if count else range(0)
        orders = [np.random.Generator(np.random.PCG64([self._seed, each, text])).permutation(size) for each in passes]
        if not orders:
            return np.zeros(0, dtype=np.int64)
        offset = begin - passes.start * size
        found: Rows = np.concatenate(orders)[offset : offset + count] + self.begins[text]
        return found
