"""Rows → batches of similar length, in an order that is a pure function of (seed, epoch) and so can be sought."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.tokenizer import END, PAD, START
from regard.errors import DataError

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Position:
    """A place in the endless sequence of batches: the next one is `index` of `epoch`."""

    epoch: int = 0
    index: int = 0


class TokenBatches:
    """Batches filled by a budget of target tokens, each row's end counted, and of at most so many rows."""

    def __init__(self, lengths: NDArray[Any], tokens: int, seed: int, rows: int = sys.maxsize) -> None:
        if not len(lengths):
            raise DataError("there is nothing to make batches of: the corpus has no pairs")
        self._lengths, self._tokens, self._seed, self._rows = lengths, tokens, seed, rows
        self._planned: tuple[int, list[Rows]] | None = None

    def plan(self, epoch: int) -> list[Rows]:
        """The row numbers of every batch of an epoch."""
        random = np.random.Generator(np.random.PCG64([self._seed, epoch]))
        order = self._order(random)
        costs = self._lengths[order, 1].astype(np.int64) + 1
        ends = np.cumsum(costs)
        batches, begin, spent = [], 0, 0
        while begin < len(order):
            fit = int(np.searchsorted(ends, spent + self._tokens, side="right"))
            end = max(begin + 1, min(fit, begin + self._rows))
            batches.append(order[begin:end])
            begin, spent = end, int(ends[end - 1])
        return [batches[each] for each in random.permutation(len(batches))]

    def _order(self, random: np.random.Generator) -> Rows:
        """All rows so that neighbours are of similar length, yet not the same neighbours in every epoch."""
        rows = random.permutation(len(self._lengths))
        lengths = self._lengths[rows] + random.integers(0, 2, size=(len(rows), 2))  # [N, 2]
        source, target = lengths[:, 0], lengths[:, 1]
        # Snake: sources rise in one target length and fall in the next, so they do not leap where it changes.
        widest = int(source.max()) + 1
        snake = np.where(target % 2, widest - source, source)
        order: Rows = rows[np.argsort(target * (widest + 1) + snake, kind="stable")]
        return order

    def take(self, position: Position, count: int) -> tuple[list[Rows], Position]:
        """The next batches from a position, and the position after them; epochs follow each other without end."""
        taken: list[Rows] = []
        epoch, index = position.epoch, position.index
        while len(taken) < count:
            planned = self._plan_once(epoch)
            require_place(index, len(planned), epoch)
            part = planned[index : index + count - len(taken)]
            taken += part
            index += len(part)
            if index >= len(planned):
                epoch, index = epoch + 1, 0
        return taken, Position(epoch, index)

    def _plan_once(self, epoch: int) -> list[Rows]:
        if self._planned is None or self._planned[0] != epoch:
            self._planned = (epoch, self.plan(epoch))
        return self._planned[1]


def require_place(index: int, batches: int, epoch: int) -> None:
    """A saved position may be of other text, or damaged."""
    if not 0 <= index < batches:
        raise DataError(
            f"there is no batch {index:,} in epoch {epoch:,}, which has {batches:,}: the position is of another run"
        )


def pad(sequences: Sequence[NDArray[Any]], *, start: bool = False, end: bool = False) -> NDArray[np.int64]:
    """One row per sequence, filled up with PAD; START before and END after each if asked."""
    longest = max((len(each) for each in sequences), default=0)
    padded = np.full((len(sequences), longest + start + end), PAD, dtype=np.int64)  # [rows, longest]
    if start:
        padded[:, 0] = START
    for row, sequence in zip(padded, sequences, strict=True):
        row[start : start + len(sequence)] = sequence
        if end:
            row[start + len(sequence)] = END
    return padded


def in_batches(lengths: Sequence[int], tokens: int, width: int) -> list[list[int]]:
    """Indexes of sentences, longest first, cut so that rows × longest × width ≤ tokens, but at least one per batch.

    `width` is the number of hypotheses per sentence. Longest first: what does not fit into memory fails at once.
    """
    batches: list[list[int]] = []
    room = 0
    for index in sorted(range(len(lengths)), key=lambda each: -lengths[each]):
        if room == 0:
            batches.append([])
            room = max(1, tokens // (max(1, lengths[index]) * width))
        batches[-1].append(index)
        room -= 1
    return batches


class EpochRows(NamedTuple):
    """A batch: which rows, and in which pass over them."""

    rows: Rows
    epoch: int


class RowBatches:
    """Batches of as many rows each, every row once in each epoch, in an order that follows from seed and epoch."""

    def __init__(self, rows: int, size: int, seed: int) -> None:
        self.rows, self.size, self.seed = rows, size, seed
        self._planned: tuple[int, Rows] | None = None

    def take(self, position: tuple[int, int], count: int) -> tuple[list[EpochRows], tuple[int, int]]:
        """The next `count` batches after (epoch, batches taken of it), each with its epoch; and the position after them."""
        epoch, index = position
        taken, batches = [], -(-self.rows // self.size)
        for _ in range(count):
            require_place(index, batches, epoch)
            taken.append(EpochRows(self._order(epoch)[index * self.size : (index + 1) * self.size], epoch))
            epoch, index = (epoch, index + 1) if index + 1 < batches else (epoch + 1, 0)
        return taken, (epoch, index)

    def _order(self, epoch: int) -> Rows:
        if self._planned is None or self._planned[0] != epoch:
            random = np.random.Generator(np.random.PCG64([self.seed, epoch]))
            self._planned = epoch, random.permutation(self.rows)
        return self._planned[1]
