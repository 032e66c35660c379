"""`attend` is the definition: its known answers, its laws, and the fused kernel that must equal it."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from regard.attention.masks import additive_mask, causal_mask
from regard.attention.scaled_dot import attend, attend_batched, attend_fused, hardmax, to_weights

B, H, Q, K, E, F = 3, 2, 5, 7, 8, 6


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def tensors(queries: int = Q, keys: int = K, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    return (
        drawn(B, H, queries, E, seed=seed),
        drawn(B, H, keys, E, seed=seed + 1),
        drawn(B, H, keys, F, seed=seed + 2),
    )


def masks(queries: int, keys: int) -> dict[str, Tensor | None]:
    """Every kind of mask that regard uses, and one that hides everything from some queries."""
    lengths = torch.tensor([keys, 1, keys // 2 + 1])
    padding = (torch.arange(keys) < lengths[:, None])[:, None, None, :]
    nothing = drawn(B, H, queries, keys, seed=9) > 0.3
    nothing[0, 1, -1] = nothing[2, :, 0] = False
    return {
        "no mask": None,
        "padding": padding,
        "causal": causal_mask(queries, keys),
        "both": causal_mask(queries, keys) & padding,
        "some see nothing": nothing,
        "nobody sees anything": torch.zeros(1, 1, queries, keys, dtype=torch.bool),
    }


MASKS = pytest.mark.parametrize("name", masks(2, 2))
KEYS = 10 * torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
VALUES = torch.tensor([[1.0, 0.0], [10.0, 0.0], [100.0, 5.0], [1000.0, 6.0]])


@pytest.mark.parametrize(
    ("query", "hard", "weights"),
    [
        (KEYS[1], False, [0.0, 1.0, 0.0, 0.0]),
        (KEYS[1], True, [0.0, 1.0, 0.0, 0.0]),
        (KEYS[2], False, [0.0, 0.0, 0.5, 0.5]),
        (KEYS[2], True, [0.0, 0.0, 1.0, 0.0]),
    ],
    ids=["one", "one, hard", "shared", "the first of equals"],
)
def test_known_answers(query: Tensor, hard: bool, weights: list[float]) -> None:
    mixed, found = attend(query[None], KEYS, VALUES, hard=hard)
    torch.testing.assert_close(found, torch.tensor([weights]))
    torch.testing.assert_close(mixed, torch.tensor([weights]) @ VALUES)


def test_it_is_the_formula_number_by_number() -> None:
    query, key, value = tensors()
    mixed, weights = attend(query, key, value)
    for b, h, q in [(0, 0, 0), (1, 1, 4), (2, 0, 3)]:
        scores = [sum(query[b, h, q, e] * key[b, h, k, e] for e in range(E)) / math.sqrt(E) for k in range(K)]
        shares = [math.exp(score) for score in scores]
        expected = [share / sum(shares) for share in shares]
        assert weights[b, h, q].tolist() == pytest.approx(expected, abs=1e-6)
        mix = [sum(w * value[b, h, k, f].item() for k, w in enumerate(expected)) for f in range(F)]
        assert mixed[b, h, q].tolist() == pytest.approx(mix, abs=1e-6)


@MASKS
@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
@pytest.mark.parametrize("temperature", [0.1, 1.0, 8.0])
def test_rows_sum_to_one_and_hidden_keys_weigh_nothing(name: str, hard: bool, temperature: float) -> None:
    query, key, value = tensors()
    mask = masks(Q, K)[name]
    mixed, weights = attend(query, key, value, mask, hard=hard, temperature=temperature)
    assert mixed.shape == (B, H, Q, F)
    assert weights.shape == (B, H, Q, K)
    visible = torch.ones(B, H, Q, K, dtype=torch.bool) if mask is None else mask.expand(B, H, Q, K)
    torch.testing.assert_close(weights.sum(-1), visible.any(-1).float())
    assert (weights[~visible] == 0).all()
    assert (weights >= 0).all()
    assert (mixed[~visible.any(-1)] == 0).all()


def test_hard_attention_is_one_hot_at_the_best_visible_key() -> None:
    query, key, value = tensors()
    mask = causal_mask(Q, K)
    mixed, weights = attend(query, key, value, mask, hard=True)
    best = (query @ key.transpose(-2, -1)).masked_fill(~mask, -math.inf).argmax(-1)
    assert torch.equal(weights, torch.nn.functional.one_hot(best, K).float())
    torch.testing.assert_close(mixed, value.gather(2, best[..., None].expand(-1, -1, -1, F)))


def test_temperature_leads_from_hard_to_even() -> None:
    query, key, value = tensors()
    cold, hot = (attend(query, key, value, temperature=t)[1] for t in (1e-6, 1e4))
    torch.testing.assert_close(cold, attend(query, key, value, hard=True)[1], atol=1e-4, rtol=0)
    torch.testing.assert_close(hot, torch.full_like(hot, 1 / K), atol=1e-3, rtol=0)
    torch.testing.assert_close(
        attend(query, key, value, temperature=2.0)[1], attend(query / 2, key, value, temperature=1.0)[1]
    )


def test_the_first_of_equal_best_scores_takes_all() -> None:
    assert hardmax(torch.tensor([[1.0, 3.0, 3.0, 2.0]])).tolist() == [[0.0, 1.0, 0.0, 0.0]]
    query, value = torch.zeros(3, 4), torch.randn(5, 2)  # every key scores 0
    mask = torch.tensor([[True] * 5, [False, False, True, True, False], [False] * 5])
    for each in (mask, torch.zeros(3, 5).masked_fill(~mask, -math.inf)):
        mixed, weights = attend(query, torch.randn(5, 4), value, each, hard=True)
        assert weights.tolist() == [[1, 0, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 0, 0]]
        assert torch.equal(mixed, torch.stack([value[0], value[2], torch.zeros(2)]))
    assert attend(query, torch.empty(0, 4), torch.empty(0, 2), hard=True)[0].tolist() == [[0, 0]] * 3


def test_a_row_of_minus_infinity_is_a_row_of_nothing() -> None:
    query, key, value = (each.requires_grad_() for each in tensors())
    shown = masks(Q, K)["some see nothing"]
    assert shown is not None
    added = torch.randn(B, H, Q, K).masked_fill(~shown, -math.inf)
    mixed, weights = attend(query, key, value, added)
    assert torch.equal(weights.sum(-1) == 0, ~shown.any(-1))
    assert (weights[~shown] == 0).all()
    mixed.sum().backward()
    assert all(each.grad is not None and each.grad.isfinite().all() for each in (query, key, value))


def test_huge_scores_stay_numbers() -> None:
    scores = torch.tensor([[1e30, -1e30, 1e30], [-1e38, -1e38, -1e38]])
    mask = torch.tensor([[True, True, False], [False, True, True]])
    assert to_weights(scores, mask).tolist() == [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]


def test_the_order_of_keys_does_not_matter() -> None:
    query, key, value = tensors()
    order = torch.randperm(K, generator=torch.Generator().manual_seed(3))
    mixed, weights = attend(query, key, value)
    again, moved = attend(query, key[:, :, order], value[:, :, order])
    torch.testing.assert_close(again, mixed)
    torch.testing.assert_close(moved, weights[..., order])


def test_dropped_weights_mix_but_are_not_reported() -> None:
    query, key, value = tensors()
    mixed, weights = attend(query, key, value, drop=torch.zeros_like)
    assert (mixed == 0).all()
    torch.testing.assert_close(weights, attend(query, key, value)[1])


@MASKS
@pytest.mark.parametrize(("queries", "keys"), [(Q, K), (K, K), (1, K), (K, 1), (40, 33)])
@pytest.mark.parametrize("fast", [attend_fused, attend_batched])
def test_fast_paths_are_the_definition(
    name: str, queries: int, keys: int, fast: Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]
) -> None:
    """Outputs and gradients; a query that sees nothing gets zeros from both and no NaN comes back."""
    mask = masks(queries, keys)[name]
    plain, fused = tensors(queries, keys), tensors(queries, keys)
    for each in (*plain, *fused):
        each.requires_grad_()
    expected, found = attend(*plain, mask)[0], fast(*fused, mask)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    pull = drawn(*expected.shape, seed=7)
    expected.backward(pull)
    found.backward(pull)
    for one, other in zip(plain, fused, strict=True):
        assert one.grad is not None
        assert one.grad.isfinite().all()
        torch.testing.assert_close(other.grad, one.grad, atol=1e-5, rtol=1e-5)
    if mask is not None:
        unseen = ~mask.expand(B, H, queries, keys).any(-1)
        assert (found[unseen] == 0).all()
        assert plain[0].grad is not None
        assert (plain[0].grad[unseen] == 0).all()


@pytest.mark.parametrize("way", [lambda *given: attend(*given)[0], attend_fused, attend_batched])
def test_a_mask_may_be_what_is_added_to_scores(way: Callable[..., Tensor]) -> None:
    query, key, value = (torch.randn(2, 3, 5, 4) for _ in range(3))
    mask = causal_mask(5)
    torch.testing.assert_close(way(query, key, value, additive_mask(mask)), way(query, key, value, mask))


def test_the_gradient_is_that_of_small_changes() -> None:
    given = [each.double().requires_grad_() for each in tensors(3, 4)]
    mask = masks(3, 4)["some see nothing"]
    assert torch.autograd.gradcheck(lambda query, key, value: attend(query, key, value, mask)[0], given)


def test_the_written_gradient_knows_dropout() -> None:
    plain, batched = tensors(), tensors()
    for each in (*plain, *batched):
        each.requires_grad_()
    keep = (drawn(*plain[0].shape[:-1], plain[1].size(-2), seed=3) > 0).to(plain[0].dtype) * 2
    expected = attend(*plain, drop=lambda weights: weights * keep)[0]
    found = attend_batched(*batched, keep=keep)
    torch.testing.assert_close(found, expected)
    pull = drawn(*expected.shape, seed=7)
    expected.backward(pull)
    found.backward(pull)
    for one, other in zip(plain, batched, strict=True):
        torch.testing.assert_close(other.grad, one.grad)
