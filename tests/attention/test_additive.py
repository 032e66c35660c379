"""Additive attention: the score is a small network, the rest is as in every attention."""

from __future__ import annotations

import pytest
import torch

from regard.attention.additive import AdditiveAttention
from regard.attention.record import record

B, Q, K = 3, 4, 6


def given() -> tuple[AdditiveAttention, torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return AdditiveAttention(5, 7, 8), torch.randn(B, Q, 5), torch.randn(B, K, 7), torch.randn(B, K, 9)


def test_it_is_the_formula() -> None:
    attention, query, key, value = given()
    mixed, weights = attention(query, key, value)
    assert mixed.shape == (B, Q, 9)
    W, U, bias, v = attention.query.weight, attention.key.weight, attention.key.bias, attention.score.weight[0]
    for b in range(B):
        for q in range(Q):
            scores = torch.stack([v @ torch.tanh(W @ query[b, q] + U @ key[b, k] + bias) for k in range(K)])
            torch.testing.assert_close(weights[b, q], scores.softmax(0))
            torch.testing.assert_close(mixed[b, q], scores.softmax(0) @ value[b])


@pytest.mark.parametrize("hard", [False, True])
def test_masks_hide_and_rows_sum_to_one(hard: bool) -> None:
    attention, query, key, value = given()
    may_look = (torch.arange(K) < torch.tensor([K, 2, 0])[:, None])[:, None, :]  # the last sees nothing
    mixed, weights = attention(query, key, value, may_look, hard=hard)
    torch.testing.assert_close(weights.sum(-1), torch.tensor([1.0, 1.0, 0.0])[:, None].expand(B, Q))
    assert (weights[1, :, 2:] == 0).all()
    assert (mixed[2] == 0).all()
    other = torch.where(may_look.transpose(1, 2), value, 99.0)
    torch.testing.assert_close(attention(query, key, other, may_look, hard=hard)[0], mixed)


def test_gradients_reach_everything_and_are_numbers() -> None:
    attention, query, key, value = given()
    may_look = (torch.arange(K) < torch.tensor([K, 2, 0])[:, None])[:, None, :]
    for each in (query, key, value):
        each.requires_grad_()
    attention(query, key, value, may_look)[0].square().sum().backward()
    for tensor in (query, key, value, *attention.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()
        assert tensor.grad.abs().sum() > 0
    assert key.grad is not None
    assert (key.grad[1, 2:] == 0).all()


def test_it_can_be_looked_at() -> None:
    attention, query, key, value = given()
    with record(attention) as seen:
        mixed, weights = attention(query, key, value)
    assert set(seen["model"]) == {"query", "key", "value", "scores", "weights", "merged"}
    assert torch.equal(seen["model"]["weights"], weights)
    torch.testing.assert_close(seen["model"]["scores"].softmax(-1), weights)
    assert torch.equal(seen["model"]["merged"], mixed)
