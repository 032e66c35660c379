"""The cache is a list of positions that never forgets, and that can be reordered."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.attention.cache import CAPACITY, KeyValueCache

N, H, E = 4, 2, 3


def positions(count: int, seed: int, rows: int = N) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, H, count, E, generator=generator), torch.randn(rows, H, count, E, generator=generator)


@pytest.mark.parametrize(
    "counts", [[1], [1] * (2 * CAPACITY + 3), [CAPACITY, 1], [CAPACITY - 1, 1, 1], [5, 3 * CAPACITY, 2]], ids=str
)
def test_what_is_appended_stays(counts: list[int]) -> None:
    cache = KeyValueCache()
    keys, values = [], []
    for number, count in enumerate(counts):
        key, value = positions(count, seed=number)
        keys.append(key)
        values.append(value)
        all_keys, all_values = cache.append(key, value)
        assert torch.equal(all_keys, torch.cat(keys, 2))
        assert torch.equal(all_values, torch.cat(values, 2))
        assert cache.length == sum(counts[: number + 1])


@pytest.mark.parametrize("rows", [[2], [3, 2, 1, 0], [1, 1, 1, 3, 0, 0, 2]])
@pytest.mark.parametrize("count", [3, CAPACITY])
def test_selected_rows_go_on_and_leave_the_others_alone(rows: list[int], count: int) -> None:
    cache = KeyValueCache()
    key, value = positions(count, seed=0)
    cache.append(key, value)
    chosen = cache.select(torch.tensor(rows))
    further = positions(2, seed=1, rows=len(rows))
    keys, values = chosen.append(*further)
    assert torch.equal(keys, torch.cat([key[rows], further[0]], 2))
    assert torch.equal(values, torch.cat([value[rows], further[1]], 2))
    assert cache.length == count
    own = positions(1, seed=2)
    assert torch.equal(cache.append(*own)[0], torch.cat([key, own[0]], 2))


def test_an_empty_cache_can_be_selected_from() -> None:
    chosen = KeyValueCache().select(torch.tensor([0, 0, 1]))
    key, value = positions(1, seed=0, rows=3)
    assert torch.equal(chosen.append(key, value)[0], key)
