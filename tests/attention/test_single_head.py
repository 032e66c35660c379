"""One head, whatever its score: masks, weights, changes and the record are as in every attention."""

from __future__ import annotations

import pytest
import torch

from regard.attention.changes import changed
from regard.attention.record import record
from regard.attention.scaled_dot import attend
from regard.attention.single_head import SCORES, AdditiveAttention, DotAttention, Memory, SingleHead

S, Q, K, D = 3, 4, 6, 8
KINDS = pytest.mark.parametrize("kind", SCORES)


def given(kind: str, lengths: tuple[int, ...] = (K, K, K)) -> tuple[SingleHead, torch.Tensor, Memory]:
    torch.manual_seed(0)
    attention, query, value = SCORES[kind](D), torch.randn(S, Q, D), torch.randn(S, K, D)
    mask = (torch.arange(K) < torch.tensor(lengths)[:, None])[:, None, :]
    return attention, query, Memory(attention.project_keys(value), value, mask)


def test_additive_is_the_formula() -> None:
    attention, query, memory = given("additive")
    assert isinstance(attention, AdditiveAttention)
    look = attention(query, memory)
    W, U, bias, v = attention.query.weight, attention.key.weight, attention.key.bias, attention.score.weight[0]
    for s in range(S):
        for q in range(Q):
            scores = [v @ torch.tanh(W @ query[s, q] + U @ memory.value[s, k] + bias) for k in range(K)]
            weights = torch.stack(scores).softmax(0)
            torch.testing.assert_close(look.weights[s, q], weights)
            torch.testing.assert_close(look.context[s, q], weights @ memory.value[s])


def test_dot_is_the_definition_of_attention() -> None:
    _, query, memory = given("dot", (K, 2, 4))
    look = DotAttention(D, projected=False)(query, memory._replace(key=memory.value))
    wanted = attend(*(each.unsqueeze(1) for each in (query, memory.value, memory.value)), memory.mask.unsqueeze(1))
    torch.testing.assert_close(look.context, wanted[0].squeeze(1))


@KINDS
def test_masks_hide_and_rows_sum_to_one(kind: str) -> None:
    attention, query, memory = given(kind, (K, 2, 0))  # the last sees nothing
    look = attention(query, memory)
    torch.testing.assert_close(look.weights.sum(-1), torch.tensor([1.0, 1.0, 0.0])[:, None].expand(S, Q))
    assert (look.weights[1, :, 2:] == 0).all()
    assert (look.context[2] == 0).all()
    other = torch.where(memory.mask.transpose(1, 2), memory.value, 99.0)
    torch.testing.assert_close(attention(query, memory._replace(value=other)).context, look.context)


@KINDS
def test_gradients_reach_everything_and_are_numbers(kind: str) -> None:
    attention, query, memory = given(kind, (K, 2, 0))
    query.requires_grad_()
    value = memory.value.requires_grad_()
    attention(query, Memory(attention.project_keys(value), value, memory.mask)).context.square().sum().backward()
    for tensor in (query, value, *attention.parameters()):
        assert tensor.grad is not None
        assert tensor.grad.isfinite().all()
        assert tensor.grad.abs().sum() > 0
    assert value.grad is not None
    assert (value.grad[1, 2:] == 0).all()


@KINDS
def test_looks_one_after_the_other_are_shown_as_one(kind: str) -> None:
    attention, query, memory = given(kind)
    with record(attention) as seen:
        attention.note_outputs([attention(one, memory) for one in query.split(1, 1)], memory)
    look = attention(query, memory)
    torch.testing.assert_close(seen["model"]["weights"], look.weights.unsqueeze(1))
    torch.testing.assert_close(seen["model"]["head_outputs"], look.context.unsqueeze(1))
    torch.testing.assert_close(seen["model"]["query"], query.unsqueeze(1))


@KINDS
def test_it_can_be_changed(kind: str) -> None:
    attention, query, memory = given(kind)
    plain = attention(query, memory)
    with changed(attention, hard=True):
        hard = attention(query, memory).weights
    assert torch.equal(hard.argmax(-1), plain.weights.argmax(-1))
    assert torch.equal(hard.amax(-1), torch.ones(S, Q))
    with changed(attention, temperature=100.0):
        torch.testing.assert_close(attention(query, memory).weights, torch.full((S, Q, K), 1 / K), atol=0.02, rtol=0.1)
    with changed(attention, off={"": [0]}):
        assert (attention(query, memory).context == 0).all()
