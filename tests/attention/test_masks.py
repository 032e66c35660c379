"""True = may look."""

from __future__ import annotations

import pytest
import torch

from regard.attention.masks import causal_mask, padding_mask


def test_nobody_looks_at_padding() -> None:
    mask = padding_mask(torch.tensor([[5, 6, 2], [7, 2, 0], [0, 0, 0]]))
    assert mask.shape == (3, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, True], [True, True, False], [False, False, False]]


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (5, 5), (1, 6), (3, 6), (6, 3)])
def test_no_position_looks_at_a_later_one(queries: int, keys: int) -> None:
    """With more keys than queries the queries are the last positions, as they are with a cache."""
    mask = causal_mask(queries, keys)
    for q in range(queries):
        for k in range(keys):
            assert mask[q, k].item() == (k <= keys - queries + q)


def test_as_many_keys_as_queries_unless_told() -> None:
    assert torch.equal(causal_mask(4), causal_mask(4, 4))
