"""The chunked loss with its hand-written gradient is the definition, and the definition is that of torch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from regard.training.loss import CHUNK, Loss, projected_loss, smoothed_loss

SIZES = pytest.mark.parametrize(
    ("rows", "width", "vocabulary"), [(1, 4, 7), (5, 8, 2), (300, 16, 90), (CHUNK, 3, 11), (2 * CHUNK + 37, 8, 50)]
)
SMOOTHINGS = pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.4])


def given(rows: int, width: int, vocabulary: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(rows)
    states = torch.randn(rows, width, generator=generator, requires_grad=True)
    weight = torch.randn(vocabulary, width, generator=generator, requires_grad=True)
    return states, weight, torch.randint(vocabulary, (rows,), generator=generator)


@SIZES
@SMOOTHINGS
def test_the_definition_is_that_of_torch(rows: int, width: int, vocabulary: int, smoothing: float) -> None:
    states, weight, targets = given(rows, width, vocabulary)
    logits = states @ weight.t()
    found = smoothed_loss(logits, targets, smoothing)
    expected = functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    torch.testing.assert_close(found.smoothed, expected, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found.plain, functional.cross_entropy(logits, targets, reduction="sum").detach())
    assert not found.plain.requires_grad


@SIZES
@SMOOTHINGS
def test_chunks_change_neither_value_nor_gradient(rows: int, width: int, vocabulary: int, smoothing: float) -> None:
    states, weight, targets = given(rows, width, vocabulary)

    def results(loss: Loss) -> tuple[Tensor, ...]:
        scaled = loss.smoothed / rows * 3  # the loop scales too, so the gradient from above is not one
        return (loss.smoothed.detach() / rows, loss.plain / rows, *torch.autograd.grad(scaled, [states, weight]))

    expected = results(smoothed_loss(functional.linear(states, weight), targets, smoothing))
    found = results(projected_loss(states, weight, targets, smoothing))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_huge_logits_stay_numbers() -> None:
    states, weight, targets = given(20, 4, 9)
    loss = projected_loss(states * 1e4, weight, targets, 0.1)
    loss.smoothed.backward()
    assert loss.smoothed.isfinite()
    assert states.grad is not None
    assert states.grad.isfinite().all()


def test_a_shared_matrix_gets_both_gradients() -> None:
    """Tied embeddings: the same matrix makes the states and is projected onto."""
    _, weight, targets = given(30, 6, 12)
    (expected,) = torch.autograd.grad(smoothed_loss(weight[targets] @ weight.t(), targets, 0.1).smoothed, [weight])
    (found,) = torch.autograd.grad(projected_loss(weight[targets], weight, targets, 0.1).smoothed, [weight])
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-5)


@pytest.mark.parametrize("frozen", ["states", "weight", "both"])
def test_what_needs_no_gradient_gets_none(frozen: str) -> None:
    states, weight, targets = given(30, 6, 12)
    expected = projected_loss(states, weight, targets, 0.1).smoothed.item()
    states.requires_grad_(frozen == "weight")
    weight.requires_grad_(frozen == "states")
    loss = projected_loss(states, weight, targets, 0.1)
    assert loss.smoothed.item() == pytest.approx(expected)
    assert loss.smoothed.requires_grad == (frozen != "both")
    with torch.inference_mode():
        assert projected_loss(states, weight, targets, 0.1).smoothed.item() == pytest.approx(expected)


def test_nothing_to_say_costs_nothing() -> None:
    states, weight, _ = given(3, 4, 5)
    loss = projected_loss(states[:0], weight, torch.empty(0, dtype=torch.long), 0.1)
    assert loss.smoothed.item() == loss.plain.item() == 0
