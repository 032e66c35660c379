"""Multi-head attention: fused projections are separate products side by side, and a head is an attention of its own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from regard.attention.cache import KeyValueCache
from regard.attention.changes import changed
from regard.attention.layout import PADDED
from regard.attention.masks import causal_mask
from regard.attention.multi_head import CrossAttention, MultiHead, SelfAttention, linear
from regard.attention.scaled_dot import attend, attend_fused
from regard.errors import UsageError

B, Q, K, D, H = 3, 5, 7, 12, 3
E = D // H


def given(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(B, Q, D, generator=generator), torch.randn(B, K, D, generator=generator)


def give_biases(module: torch.nn.Module) -> None:
    """Biases start at zero, which would hide a mistake in them."""
    for parameter in module.parameters():
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter)


def by_hand(projected: list[Tensor], output: torch.nn.Linear, may_look: Tensor | None) -> Tensor:
    """One head after the other, each with its own slice of the projected query, key and value."""
    heads = []
    for head in range(H):
        query, key, value = (each[..., head * E : (head + 1) * E] for each in projected)
        heads.append(attend(query, key, value, may_look)[0])
    return functional.linear(torch.cat(heads, -1), output.weight, output.bias)


@pytest.mark.parametrize("may_look", [None, causal_mask(Q)], ids=["all", "causal"])
def test_self_attention_is_three_products_and_one_attention_per_head(may_look: Tensor | None) -> None:
    torch.manual_seed(0)
    attention, (x, _) = SelfAttention(D, H), given()
    give_biases(attention)
    fused = attention.query_key_value
    parts = zip(fused.weight.chunk(3), fused.bias.chunk(3), strict=True)
    projected = [functional.linear(x, weight, bias) for weight, bias in parts]
    torch.testing.assert_close(attention(x, may_look), by_hand(projected, attention.output, may_look))


def test_cross_attention_looks_from_one_sequence_at_another() -> None:
    torch.manual_seed(0)
    attention, (x, memory) = CrossAttention(D, H), given()
    give_biases(attention)
    may_look = (torch.arange(K) < torch.tensor([K, 2, 4])[:, None])[:, None, :]  # [B, 1, K]
    parts = zip(attention.key_value.weight.chunk(2), attention.key_value.bias.chunk(2), strict=True)
    projected = [attention.query(x), *(functional.linear(memory, weight, bias) for weight, bias in parts)]
    found = attention(x, attention.read(memory), may_look[:, None])
    assert found.shape == x.shape
    torch.testing.assert_close(found, by_hand(projected, attention.output, may_look))


@pytest.mark.parametrize("kind", [SelfAttention, CrossAttention])
def test_heads_that_do_not_divide_the_width_are_refused(kind: type[MultiHead]) -> None:
    with pytest.raises(UsageError, match="5 heads do not divide a width of 12"):
        kind(12, 5)


@pytest.mark.parametrize("sizes", [[1] * Q, [2, 3], [4, 1]])
def test_a_cache_changes_nothing(sizes: list[int]) -> None:
    torch.manual_seed(0)
    attention, (x, _) = SelfAttention(D, H), given()
    cache = KeyValueCache()
    with torch.inference_mode():
        parts = [
            attention(part, causal_mask(part.size(1), cache.length + part.size(1)), cache)
            for part in torch.split(x, sizes, 1)
        ]
        torch.testing.assert_close(torch.cat(parts, 1), attention(x, causal_mask(Q)))


def test_hard_and_temperature_can_be_changed_in_a_trained_module() -> None:
    torch.manual_seed(0)
    attention, (x, _) = SelfAttention(D, H), given()
    query, key, value = PADDED.split(attention.query_key_value(x), 3, attention.heads)
    for change in ({"hard": True}, {"temperature": 3.0}):
        with changed(attention, **change):  # type: ignore[arg-type]
            found = attention.attend(query, key, value, None)
        torch.testing.assert_close(found, attend(query, key, value, **change)[0])  # type: ignore[arg-type]


def test_attention_dropout_drops_weights_in_training_only() -> None:
    torch.manual_seed(0)
    attention, (x, _) = SelfAttention(D, H, dropout=0.5), given()
    assert not torch.equal(attention(x), attention(x))
    attention.eval()
    assert torch.equal(attention(x), attention(x))


def test_away_from_the_cpu_the_fused_kernel_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []

    def watched(*given: Any, dropout: float) -> Tensor:
        taken.append(dropout)
        return attend_fused(*given, dropout=dropout)

    monkeypatch.setattr("regard.attention.multi_head.attend_fused", watched)
    with torch.device("meta"):
        attention, x = SelfAttention(D, H, dropout=0.2), torch.empty(B, Q, D)
    assert attention(x).shape == (B, Q, D)
    assert attention.eval()(x).shape == (B, Q, D)
    assert taken == [0.2, 0.0]


def test_fused_parts_are_initialised_as_if_alone() -> None:
    """Glorot's bound depends on the shape; three parts in one matrix must not look like one large layer."""
    torch.manual_seed(0)
    layer, bound = linear(64, 64, parts=3), (6 / (64 + 64)) ** 0.5
    for part in layer.weight.chunk(3):
        assert 0.98 * bound < part.abs().max().item() <= bound
    assert (layer.bias == 0).all()
