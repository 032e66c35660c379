"""8-bit products: near the exact ones, for each row by itself, whatever its scale."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from regard.errors import UsageError
from regard.models.int8 import Int8Linear, in_int8
from tests.models.small import ragged, small_model


def layer(inputs: int = 64, outputs: int = 40) -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(inputs, outputs)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_it_is_near_the_exact_product_at_any_scale(scale: float) -> None:
    exact = layer()
    x = torch.randn(50, 64) * scale
    found, wanted = Int8Linear(exact.weight)(x), x @ exact.weight.t()
    assert (found - wanted).norm() < 0.02 * wanted.norm()


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    exact = layer()
    rounded = Int8Linear(exact.weight, exact.bias)
    x = torch.randn(5, 64)
    x[3] *= 1_000  # would take all the range if the batch shared it
    alone = torch.cat([rounded(row[None]) for row in x])
    torch.testing.assert_close(
        rounded(x), alone, atol=0.05, rtol=0.01
    )  # zeros, if they did; a step of 8 bits may differ


def test_the_bias_is_exact_and_zeros_stay_zeros() -> None:
    exact = layer()
    assert torch.equal(Int8Linear(exact.weight, exact.bias)(torch.zeros(2, 3, 64)), exact.bias.expand(2, 3, -1))


def test_a_whole_model() -> None:
    plain, source, target = small_model().float(), ragged([5, 3]), ragged([4, 4])
    with torch.inference_mode():
        wanted = plain.project(plain(source, target))
        rounded = in_int8(small_model().float())
        found = rounded.project(rounded(source, target))
    assert not any(isinstance(module, nn.Linear) for module in rounded.modules())
    assert 0 < (found - wanted).norm() < 0.1 * wanted.norm()


def test_only_on_a_cpu() -> None:
    with pytest.raises(UsageError, match="CPU"):
        in_int8(small_model().to("meta"))
