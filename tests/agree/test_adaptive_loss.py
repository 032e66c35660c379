"""The loss that computes only the parts it needs is the cross entropy of all log-probabilities."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from regard.models.adaptive import AdaptiveEmbedding, BandedOutput, Output
from regard.models.pointer import PointerOutput
from regard.training.loss import CHUNK, Loss, adaptive_loss, log_probabilities, projected_loss, smoothed_loss

VOCABULARY, WIDTH = 40, 8


def given(cutoffs: tuple[int, ...], rows: int, low: int = 0, factor: int = 1) -> tuple[Tensor, Output, Tensor]:
    generator = torch.Generator().manual_seed(rows)
    torch.manual_seed(1)
    if factor > 1:
        output: Output = BandedOutput(AdaptiveEmbedding(VOCABULARY, WIDTH, cutoffs, factor))
    else:
        output = Output(nn.Parameter(torch.randn(VOCABULARY, WIDTH, generator=generator)), cutoffs)
    states = torch.randn(rows, WIDTH, generator=generator, requires_grad=True)
    return states, output, torch.randint(low, VOCABULARY, (rows,), generator=generator)


def results(loss: Loss, states: Tensor, output: Output) -> list[Tensor]:
    wanted = [states, *output.parameters()]
    return [loss.smoothed.detach(), loss.plain, *torch.autograd.grad(loss.smoothed * 3, wanted)]


@pytest.mark.parametrize("cutoffs", [(10,), (5, 20), (1, 2, 39)])
@pytest.mark.parametrize(("rows", "low"), [(1, 0), (60, 0), (60, 25), (CHUNK + 9, 0)])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
@pytest.mark.parametrize("factor", [1, 2])
def test_values_and_gradients(cutoffs: tuple[int, ...], rows: int, low: int, smoothing: float, factor: int) -> None:
    """Smoothing spreads over all tokens, wherever the vocabulary is cut, and however narrow its parts are."""
    states, output, targets = given(cutoffs, rows, low, factor)
    expected = results(smoothed_loss(output(states), targets, smoothing), states, output)
    found = results(adaptive_loss(states, output, targets, smoothing), states, output)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_a_tied_matrix_learns_from_both_its_uses() -> None:
    states, output, targets = given((5, 20), 60)
    gradients = []
    for loss in (
        lambda read: smoothed_loss(output(read), targets, 0.0),
        lambda read: adaptive_loss(read, output, targets, 0.0),
    ):
        read = states + output.weight[targets]  # as an embedding
        gradients.append(torch.autograd.grad(loss(read).smoothed, output.weight)[0])
    torch.testing.assert_close(gradients[0], gradients[1], atol=1e-4, rtol=1e-4)


def test_the_smoothed_loss_is_the_mean_over_all_tokens() -> None:
    """By the definition's own words: ε of it is the mean of -log p over all ids, in head and tails alike."""
    states, output, targets = given((5, 20), 60)
    log_probabilities = output(states)  # [N, V]
    wanted = torch.full_like(log_probabilities, 0.1 / VOCABULARY)
    wanted[torch.arange(60), targets] += 0.9
    loss = adaptive_loss(states, output, targets, 0.1)
    torch.testing.assert_close(loss.smoothed, -(wanted * log_probabilities).sum())
    with torch.no_grad():
        torch.testing.assert_close(adaptive_loss(states, output, targets, 0.1), loss)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_without_a_cut_it_is_the_plain_loss(smoothing: float) -> None:
    states, output, targets = given((), 60)
    expected = results(projected_loss(states, output.weight, targets, smoothing), states, output)
    torch.testing.assert_close(results(adaptive_loss(states, output, targets, smoothing), states, output), expected)


def test_parts_that_nobody_wants_are_left_alone() -> None:
    states, output, targets = given((10, 20), 30)
    loss = adaptive_loss(states, output, targets % 10, 0.0)
    (gradient,) = torch.autograd.grad(loss.smoothed, output.weight)
    assert not gradient[10:].any()
    assert gradient[:10].any()


@pytest.mark.parametrize(("cutoffs", "factor"), [((), 1), ((5, 20), 1), ((5, 20), 2)])
def test_what_is_pointed_at_adds_to_the_vocabulary(cutoffs: tuple[int, ...], factor: int) -> None:
    states, output, targets = given(cutoffs, 60, factor=factor)
    generator = torch.Generator().manual_seed(3)
    weights = torch.rand(60, 8, generator=generator).softmax(-1).requires_grad_()  # of 7 places and the vocabulary
    tokens = torch.randint(VOCABULARY, (60, 7), generator=generator)
    tokens[:20, 2] = tokens[:20, 5] = targets[:20]
    pointed = PointerOutput(tokens, weights[:, :-1], weights[:, -1])
    found = -pointed.log_probability(log_probabilities(states, output, targets), targets).sum()
    all_of_it = pointed.mix(output(states).log_softmax(-1))  # [N, V]
    torch.testing.assert_close(all_of_it.exp().sum(-1), torch.ones(60))
    expected = -all_of_it.gather(-1, targets[:, None]).sum()
    torch.testing.assert_close(found, expected)
    wanted = [states, weights, *output.parameters()]
    torch.testing.assert_close(
        torch.autograd.grad(found, wanted), torch.autograd.grad(expected, wanted), atol=1e-4, rtol=1e-4
    )
