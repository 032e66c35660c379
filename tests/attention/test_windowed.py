"""Attention in blocks must equal the definition under a band mask, and must not grow like it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from regard.attention.scaled_dot import attend
from regard.attention.windowed import attend_windowed
from regard.errors import UsageError

B, H, E, F = 2, 3, 4, 5


def tensors(length: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(length)
    return tuple(
        torch.randn(B, H, length, width, generator=generator, dtype=torch.double, requires_grad=True)
        for width in (E, E, F)
    )  # type: ignore[return-value]


def band(length: int, window: int) -> Tensor:
    """Written out place by place: the window // 2 before, itself, and the rest after."""
    first = [place - window // 2 for place in range(length)]
    return torch.tensor([[start <= key < start + window for key in range(length)] for start in first])


LENGTHS = pytest.mark.parametrize("length", [1, 2, 7, 8, 9, 16, 23])
WINDOWS = pytest.mark.parametrize("window", [1, 2, 3, 4, 8, 15, 40])


@LENGTHS
@WINDOWS
def test_it_equals_the_definition_under_a_band(length: int, window: int) -> None:
    plain, blocks = tensors(length), tensors(length)
    wanted, _ = attend(*plain, band(length, window))
    found = attend_windowed(*blocks, window)
    torch.testing.assert_close(found, wanted)
    weight = torch.randn(wanted.shape, generator=torch.Generator().manual_seed(1), dtype=torch.double)
    gradients = torch.autograd.grad(found, blocks, weight), torch.autograd.grad(wanted, plain, weight)
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("length", [7, 23])
def test_what_lies_outside_the_window_does_not_matter(length: int) -> None:
    query, key, value = tensors(length)
    before = attend_windowed(query, key, value, 4)
    with torch.no_grad():
        key[:, :, -1], value[:, :, -1] = 1e3, 1e3  # only the last two see it: a window of 4 has one place after
    after = attend_windowed(query, key, value, 4)
    assert torch.equal(before[:, :, :-2], after[:, :, :-2])
    assert not torch.allclose(before[:, :, -2:], after[:, :, -2:])


def test_the_same_at_every_number_format() -> None:
    query, key, value = (each.detach() for each in tensors(23))
    wanted = attend_windowed(query, key, value, 4)
    found = attend_windowed(query.float(), key.float(), value.float(), 4)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), wanted, atol=1e-5, rtol=1e-5)


def operations(length: int, window: int) -> int:
    with FlopCounterMode(display=False) as counter:
        attend_windowed(*tensors(length), window)
    return int(counter.get_total_flops())


def test_the_cost_is_length_times_window() -> None:
    assert operations(256, 8) == 2 * operations(128, 8) == 4 * operations(64, 8)
    assert operations(256, 16) == 2 * operations(256, 8)


def test_a_window_of_nothing_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="window of 0"):
        attend_windowed(*tensors(4), 0)
