"""Packed = padded: tokens side by side, split into heads and merged again, give what padded rows give."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from regard.attention.layout import PADDED, Packed, lay_out

HEADS, WIDTH = 2, 3
LENGTHS = pytest.mark.parametrize("lengths", [[1], [4], [3, 1, 5], [2, 2, 2], [1, 7, 1, 6]])


def real_of(lengths: list[int]) -> Tensor:
    return torch.arange(max(lengths))[None, :] < torch.tensor(lengths)[:, None]  # [S, L]


def rows(lengths: list[int], parts: int) -> Tensor:
    torch.manual_seed(0)
    return torch.randn(len(lengths), max(lengths), parts * HEADS * WIDTH, dtype=torch.float64)


@LENGTHS
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_split_puts_every_real_token_where_padded_rows_have_it(lengths: list[int], parts: int) -> None:
    real, x = real_of(lengths), rows(lengths, parts)
    seen = real[:, None, :, None]
    for packed, padded in zip(Packed(real).split(x[real], parts, HEADS), PADDED.split(x, parts, HEADS), strict=True):
        assert torch.equal(packed.masked_fill(~seen, 0), padded.masked_fill(~seen, 0))


@LENGTHS
def test_merge_undoes_split(lengths: list[int]) -> None:
    real, x = real_of(lengths), rows(lengths, 1)
    layout = Packed(real)
    assert torch.equal(layout.merge(*layout.split(x[real], 1, HEADS)), x[real])


@LENGTHS
@pytest.mark.parametrize("parts", [1, 3])
def test_gradients_are_those_of_indexing(lengths: list[int], parts: int) -> None:
    """Also where padding is asked for, as attention never does with its keys, but does with its queries."""
    layout = Packed(real_of(lengths))
    x = rows(lengths, parts)[layout.real].requires_grad_()

    def through(x: Tensor) -> Tensor:
        return sum((layout.merge(part * (number + 2)) for number, part in enumerate(layout.split(x, parts, HEADS))),
                   torch.zeros((), dtype=x.dtype))  # fmt: skip

    assert torch.autograd.gradcheck(through, (x,))


def test_who_is_where() -> None:
    ids = torch.tensor([[5, 6, 0], [7, 0, 0], [8, 9, 4]])
    packed, padded = lay_out(ids, packed=True), lay_out(ids, packed=False)
    assert packed.pack(ids).tolist() == [5, 6, 7, 8, 9, 4]
    assert packed.positions(ids).tolist() == [0, 1, 0, 0, 1, 2]
    assert torch.equal(padded.pack(ids), ids)
    assert padded.positions(ids).tolist() == [0, 1, 2]
    vectors = torch.randn(3, 3, 4)
    assert torch.equal(padded.only_real(vectors, ids), vectors[ids != 0])
