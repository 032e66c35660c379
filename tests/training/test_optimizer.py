"""The learning rate over time, and which weights decay."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from regard.config import Training
from regard.training.update import build_optimizer, learning_rate
from tests.training.stand_in import small

SCHEDULES = ("inverse-sqrt", "cosine", "linear", "constant")
SETTINGS = Training(updates=100, warmup=10, learning_rate=0.5)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_straight_rise_to_the_peak(schedule: str) -> None:
    settings = replace(SETTINGS, schedule=schedule)
    rates = [learning_rate(settings, update) for update in range(1, 11)]
    assert rates == pytest.approx([0.05 * update for update in range(1, 11)])
    assert max(learning_rate(settings, update) for update in range(1, 101)) == learning_rate(settings, 10) == 0.5


def test_inverse_square_root() -> None:
    for update in (10, 40, 90):
        assert learning_rate(SETTINGS, update) == pytest.approx(0.5 * math.sqrt(10 / update))
    assert learning_rate(SETTINGS, 1_000) > 0, "does not end with the updates"


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_down_to_zero(schedule: str) -> None:
    settings = replace(SETTINGS, schedule=schedule)
    rates = [learning_rate(settings, update) for update in range(10, 101)]
    assert rates == sorted(rates, reverse=True)
    assert learning_rate(settings, 55) == pytest.approx(0.25), "half of the peak, half of the way down"
    assert learning_rate(settings, 100) == pytest.approx(0.0, abs=1e-12)
    assert learning_rate(settings, 101) == pytest.approx(0.0, abs=1e-12), "never below"


def test_cosine_is_flat_at_both_ends() -> None:
    cosine, linear = (replace(SETTINGS, schedule=name) for name in ("cosine", "linear"))
    assert learning_rate(cosine, 20) > learning_rate(linear, 20)
    assert learning_rate(cosine, 90) < learning_rate(linear, 90)


def test_constant() -> None:
    settings = replace(SETTINGS, schedule="constant")
    assert {learning_rate(settings, update) for update in (10, 50, 500)} == {0.5}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_without_warmup_the_first_update_is_near_the_peak(schedule: str) -> None:
    settings = replace(SETTINGS, schedule=schedule, warmup=0)
    assert 0.49 < learning_rate(settings, 1) <= 0.5


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_a_warmup_that_never_ends(schedule: str) -> None:
    settings = replace(SETTINGS, schedule=schedule, warmup=100)
    assert learning_rate(settings, 100) == 0.5
    assert learning_rate(settings, 101) == 0.0


def test_matrices_decay_and_vectors_do_not() -> None:
    model = small()
    before = {name: tensor.detach().clone() for name, tensor in model.named_parameters()}
    optimizer = build_optimizer(model, replace(SETTINGS, weight_decay=0.1))
    for group in optimizer.param_groups:
        group["lr"] = 0.5
    for tensor in model.parameters():
        tensor.grad = torch.zeros_like(tensor)  # without gradients only decay moves anything
    optimizer.step()
    for name, tensor in model.named_parameters():
        shrunk = before[name] * (1 - 0.5 * 0.1) if tensor.ndim == 2 else before[name]
        torch.testing.assert_close(tensor.detach(), shrunk)


def test_every_weight_is_optimized_once() -> None:
    model = small()
    given = [tensor for group in build_optimizer(model, SETTINGS).param_groups for tensor in group["params"]]
    assert len(given) == len({id(tensor) for tensor in given}) == len(list(model.parameters()))
