"""What two passes should agree on: the chunked loss is the definition, and the definition is what its papers say."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from regard.training.consistency import Consistency, consistent_loss, distance, projected_consistent_loss
from regard.training.loss import CHUNK, Loss, smoothed_loss
from tests.agree.test_loss import SMOOTHINGS

KINDS = pytest.mark.parametrize("both", [True, False], ids=["r_drop", "simcut"])


def given(rows: int, width: int = 8, vocabulary: int = 50) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows)
    states = torch.randn(2 * rows, width, generator=generator, requires_grad=True)
    weight = torch.randn(vocabulary, width, generator=generator, requires_grad=True)
    return states, weight, torch.randint(vocabulary, (rows,), generator=generator)


@pytest.mark.parametrize("rows", [1, 300, CHUNK + 37])
@SMOOTHINGS
@KINDS
def test_chunks_change_neither_value_nor_gradient(rows: int, smoothing: float, both: bool) -> None:
    states, weight, targets = given(rows)

    def results(loss: Loss) -> tuple[Tensor, ...]:
        scaled = loss.smoothed / rows * 3
        return (loss.smoothed.detach() / rows, loss.plain / rows, *torch.autograd.grad(scaled, [states, weight]))

    settings = (targets, smoothing, Consistency(2.5, both))
    expected = results(consistent_loss(functional.linear(states, weight), *settings))
    found = results(projected_consistent_loss(states, weight, *settings))
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@KINDS
def test_the_distance_is_that_of_torch(both: bool) -> None:
    first, second = torch.randn(2, 30, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).log_softmax(
        -1
    )
    forward = functional.kl_div(second, first, log_target=True, reduction="sum")  # D(first, second)
    backward = functional.kl_div(first, second, log_target=True, reduction="sum")
    torch.testing.assert_close(distance(first, second, both), (forward + backward) / 2 if both else forward)
    assert distance(first, first, both) == 0 < distance(first, second, both)


@KINDS
def test_two_equal_passes_have_the_plain_loss(both: bool) -> None:
    states, weight, targets = given(20)
    once = states[:20]
    found = projected_consistent_loss(once.repeat(2, 1), weight, targets, 0.1, Consistency(5.0, both))
    expected = smoothed_loss(once @ weight.t(), targets, 0.1)
    torch.testing.assert_close(found, expected)
    (gradient,) = torch.autograd.grad(found.smoothed, weight, retain_graph=True)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.smoothed, weight)[0], atol=1e-4, rtol=1e-4)


@KINDS
def test_who_is_taught(both: bool) -> None:
    """Without a weight only cross entropy is left: of both passes in R-Drop, of the first in SimCut."""
    states, weight, targets = given(20)
    projected_consistent_loss(states, weight, targets, 0.1, Consistency(0.0, both)).smoothed.backward()
    assert states.grad is not None
    first, second = states.grad.chunk(2)
    assert first.any()
    assert bool(second.any()) == both


@KINDS
def test_states_in_16_bits_are_weighed_in_32(both: bool) -> None:
    """What `training.precision` hands over where autocast computes in bfloat16."""
    states, weight, targets = given(20)
    rounded = states.detach().bfloat16()
    with torch.autocast("cpu", torch.bfloat16):
        found = projected_consistent_loss(rounded.requires_grad_(), weight, targets, 0.1, Consistency(2.0, both))
    expected = projected_consistent_loss(rounded.detach().float(), weight, targets, 0.1, Consistency(2.0, both))
    torch.testing.assert_close(found, expected)
    found.smoothed.backward()
    assert rounded.grad is not None
    assert rounded.grad.dtype == torch.bfloat16
