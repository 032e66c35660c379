"""Batches hold every row once, stay in budget, waste little, and follow from (seed, epoch) alone."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from regard.data.batching import Position, TokenBatches, pad
from regard.data.tokenizer import END, PAD, START
from regard.errors import DataError


def realistic(rows: int, seed: int = 0) -> NDArray[np.int32]:
    """Target lengths spread like sentences, sources in a noisy proportion to them."""
    random = np.random.default_rng(seed)
    target = np.clip(random.lognormal(2.6, 0.4, rows), 1, 200)
    source = np.clip(target * random.normal(1.05, 0.15, rows), 1, 200)
    return np.stack([source, target], axis=1).astype(np.int32)


ANY_LENGTHS = st.lists(st.tuples(st.integers(1, 60), st.integers(1, 60)), min_size=1, max_size=200)


@given(ANY_LENGTHS, st.integers(1, 150), st.integers(0, 9), st.integers(0, 9), st.integers(1, 12))
@settings(deadline=None)
def test_every_row_is_in_one_batch_and_batches_stay_in_budget(
    pairs: list[tuple[int, int]], tokens: int, seed: int, epoch: int, rows: int
) -> None:
    lengths = np.array(pairs, dtype=np.int32)
    plan = TokenBatches(lengths, tokens, seed, rows).plan(epoch)
    assert sorted(np.concatenate(plan).tolist()) == list(range(len(pairs)))
    for batch in plan:
        assert len(batch) <= rows
        assert len(batch) == 1 or (lengths[batch, 1] + 1).sum() <= tokens


def same(one: list[NDArray[np.int64]], other: list[NDArray[np.int64]]) -> bool:
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_the_plan_is_a_function_of_seed_and_epoch() -> None:
    lengths = realistic(2_000)
    plan = TokenBatches(lengths, 500, 1).plan(3)
    assert same(plan, TokenBatches(lengths, 500, 1).plan(3))
    assert not same(plan, TokenBatches(lengths, 500, 1).plan(4))
    assert not same(plan, TokenBatches(lengths, 500, 2).plan(3))


def test_epochs_differ_in_what_shares_a_batch() -> None:
    batches = TokenBatches(realistic(5_000), 1_000, 1)
    first = {tuple(sorted(batch.tolist())) for batch in batches.plan(0)}
    second = {tuple(sorted(batch.tolist())) for batch in batches.plan(1)}
    assert not first & second


def test_batches_come_in_random_order_of_length() -> None:
    lengths = realistic(5_000)
    means = [lengths[batch, 1].mean() for batch in TokenBatches(lengths, 500, 1).plan(0)]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.3


@pytest.mark.parametrize("tokens", [1_000, 4_000])
def test_little_is_padding(tokens: int) -> None:
    lengths = realistic(30_000)
    plan = TokenBatches(lengths, tokens, 1).plan(0)
    places = sum(len(batch) * int(lengths[batch].max(axis=0).sum()) for batch in plan)
    assert 1 - lengths.sum() / places < 0.1


def test_batches_are_full_but_never_over_budget() -> None:
    lengths = realistic(30_000)
    plan = TokenBatches(lengths, 1_000, 1).plan(0)
    spent = np.array([(lengths[batch, 1] + 1).sum() for batch in plan])
    assert spent.max() == 1_000
    assert (spent + lengths[:, 1].max() + 1 < 1_000).sum() <= 1  # only the last cut of the epoch may be short


@given(ANY_LENGTHS, st.lists(st.integers(0, 7), max_size=8))
@settings(deadline=None)
def test_taking_in_any_portions_gives_the_same_sequence(pairs: list[tuple[int, int]], portions: list[int]) -> None:
    lengths = np.array(pairs, dtype=np.int32)
    batches = TokenBatches(lengths, 100, 1)
    endless = (batch for epoch in range(1_000) for batch in batches.plan(epoch))
    position = Position()
    for count in portions:
        taken, position = batches.take(position, count)
        assert same(taken, list(islice(endless, count)))


def test_a_position_can_be_sought_by_another_process() -> None:
    lengths = realistic(300)
    batches = TokenBatches(lengths, 500, 1)
    length = len(batches.plan(0))
    _, position = batches.take(Position(), length - 1)
    assert position == Position(0, length - 1)
    expected, after = batches.take(position, 5)
    found, also = TokenBatches(lengths, 500, 1).take(position, 5)
    assert same(expected, found)
    assert after == also
    assert after.epoch == 1
    assert batches.take(Position(), length)[1] == Position(1, 0)


def test_no_rows_are_refused() -> None:
    with pytest.raises(DataError, match="no pairs"):
        TokenBatches(np.empty((0, 2), dtype=np.int32), 100, 1)


@given(st.lists(st.lists(st.integers(4, 60_000), max_size=9), max_size=6), st.booleans(), st.booleans())
def test_padding_keeps_each_sequence(sequences: list[list[int]], start: bool, end: bool) -> None:
    arrays: list[NDArray[Any]] = [np.array(each, dtype=np.uint16) for each in sequences]
    padded = pad(arrays, start=start, end=end)
    longest = max(map(len, sequences), default=0) + start + end
    assert padded.shape == (len(sequences), longest)
    assert padded.dtype == np.int64
    for row, sequence in zip(padded.tolist(), sequences, strict=True):
        framed = [START] * start + sequence + [END] * end
        assert row == framed + [PAD] * (longest - len(framed))
