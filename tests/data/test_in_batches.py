"""Batches hold every sentence once and stay within the budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from regard.data.batching import in_batches


@given(some.lists(some.integers(0, 60)), some.integers(1, 500), some.integers(1, 8))
def test_batches(lengths: list[int], tokens: int, width: int) -> None:
    batches = in_batches(lengths, tokens, width)
    flat = [index for batch in batches for index in batch]
    assert sorted(flat) == list(range(len(lengths)))
    assert [lengths[index] for index in flat] == sorted(lengths, reverse=True)

    def cost(rows: int, batch: list[int]) -> int:
        return rows * max(1, lengths[batch[0]]) * width

    assert all(len(batch) == 1 or cost(len(batch), batch) <= tokens for batch in batches)
    assert all(cost(len(batch) + 1, batch) > tokens for batch in batches[:-1])  # none could have taken one more
