"""Training on packed tokens is training by the plain definition: the same states, loss and gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.tasks.translation.training import translation_loss
from regard.training.loss import smoothed_loss
from tests.models.small import TAKEN_OUT, ragged, small_model

LENGTHS = [7, 2, 5, 1], [6, 3, 4, 1]


@pytest.mark.parametrize("changes", [{}, {"norm": "pre"}, {"positions": "learned"}, *TAKEN_OUT], ids=str)
def test_loss_and_gradients_equal_the_plain_definition(changes: dict[str, Any]) -> None:
    model = small_model(**changes).float()
    source, read, wanted = ragged(LENGTHS[0], seed=1), ragged(LENGTHS[1], seed=2), ragged(LENGTHS[1], seed=3)

    def plain() -> Tensor:
        real = wanted != 0
        return smoothed_loss(model.project(model(source, read))[real], wanted[real], 0.1).smoothed

    def fast() -> Tensor:
        return translation_loss(model, source, read, wanted, 0.1).smoothed

    found = []
    for loss in (plain, fast):
        model.zero_grad()
        value = loss()
        (value / 14).backward()
        found.append((value.detach(), {name: each.grad for name, each in model.named_parameters()}))
    (loss_of_one, one), (loss_of_other, other) = found
    torch.testing.assert_close(loss_of_one, loss_of_other, atol=1e-5, rtol=1e-5)
    for name, gradient in one.items():
        assert gradient is not None
        assert (gradient - other[name]).norm() <= 1e-4 * (1 + gradient.norm()), name


def test_states_of_real_positions_only() -> None:
    model, source, read = small_model(), ragged(LENGTHS[0], seed=1), ragged(LENGTHS[1], seed=2)
    torch.testing.assert_close(model(source, read, packed=True), model(source, read)[read != 0])


def test_packed_states_do_not_depend_on_the_batch() -> None:
    model, source, read = small_model(), ragged(LENGTHS[0], seed=1), ragged(LENGTHS[1], seed=2)
    together = model(source, read, packed=True)
    alone = [model(source[row : row + 1, :left], read[row : row + 1, :right], packed=True)
             for row, (left, right) in enumerate(zip(*LENGTHS, strict=True))]  # fmt: skip
    torch.testing.assert_close(torch.cat(alone), together)
