"""Dropout: the right share, unbiased, independent, reproducible. Bounds are six standard deviations wide."""

from __future__ import annotations

import math

import pytest
import torch

from regard.attention.dropout import Dropout, keep_mask

COUNT = 400_000
SHARES = pytest.mark.parametrize("share", [0.01, 0.1, 0.3, 0.5, 0.9])


def dropped(share: float, seed: int) -> torch.Tensor:
    torch.manual_seed(seed)
    return (keep_mask(torch.Size([COUNT]), share) == 0).float()


@SHARES
def test_the_right_share_is_dropped_and_the_mean_stays(share: float) -> None:
    torch.manual_seed(0)
    kept = Dropout(share)(torch.ones(COUNT))
    spread = math.sqrt(share * (1 - share) / COUNT)
    assert (kept == 0).float().mean().item() == pytest.approx(share, abs=6 * spread + 1e-5)
    assert kept.mean().item() == pytest.approx(1.0, abs=6 * spread / (1 - share) + 1e-4)
    assert kept[kept != 0].unique().tolist() == pytest.approx([1 / (1 - share)], rel=1e-3)


@SHARES
def test_neighbours_and_calls_are_independent(share: float) -> None:
    """Four elements share one draw of the generator; that must not show, at any distance."""
    first, second = dropped(share, seed=1) - share, dropped(share, seed=2) - share
    variance, bound = share * (1 - share), 6 / math.sqrt(COUNT)
    assert abs((first * second).mean().item() / variance) < bound
    for distance in (1, 2, 3, 4, 5, 8, 512):
        assert abs((first[distance:] * first[:-distance]).mean().item() / variance) < bound * 1.01
    for lane in range(4):
        assert abs(first[lane::4].mean().item()) < 6 * math.sqrt(4 * variance / COUNT) + 1e-5


def test_calls_differ_and_the_seed_repeats_them() -> None:
    drop, x = Dropout(0.5), torch.ones(50, 7)
    torch.manual_seed(3)
    first, second = drop(x), drop(x)
    assert not torch.equal(first, second)
    torch.manual_seed(3)
    assert torch.equal(drop(x), first)
    assert torch.equal(drop(x), second)


def test_nothing_happens_when_not_training_or_with_no_share() -> None:
    x = torch.randn(4, 5)
    assert Dropout(0.5).eval()(x) is x
    assert Dropout(0.0)(x) is x


@pytest.mark.parametrize("shape", [(), (1,), (3, 5), (2, 3, 7), (0, 4)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_any_shape_and_type(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = torch.ones(shape, dtype=dtype)
    assert Dropout(0.5)(x).shape == x.shape
    assert Dropout(0.5)(x).dtype == dtype


def test_the_gradient_flows_only_where_the_value_did() -> None:
    x = torch.randn(200, 3).t().requires_grad_()  # not contiguous
    torch.manual_seed(0)
    kept = Dropout(0.3)(x)
    kept.sum().backward()
    assert x.grad is not None
    assert torch.equal(x.grad == 0, kept == 0)
    torch.testing.assert_close(x.grad * x.detach(), kept.detach())
    assert 0 < (x.grad == 0).sum() < x.numel()
