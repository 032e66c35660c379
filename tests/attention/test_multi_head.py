"""Multi-head attention: fused projections are separate products side by side, and a head is an attention of its own."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from regard.attention.cache import KeyValueCache
from regard.attention.changes import changed
from regard.attention.layout import PADDED, Packed
from regard.attention.masks import causal_mask
from regard.attention.multi_head import CrossAttention, MultiHead, SelfAttention, linear
from regard.attention.scaled_dot import attend, attend_fused
from regard.errors import UsageError

B, Q, K, D, H = 3, 5, 7, 12, 3
F = D // H
KEY_WIDTHS = pytest.mark.parametrize("key_width", [0, 2, 7])


def given(seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(B, Q, D, generator=generator), torch.randn(B, K, D, generator=generator)


def give_biases(module: torch.nn.Module) -> None:
    """Biases start at zero, which would hide a mistake in them."""
    for parameter in module.parameters():
        if parameter.ndim == 1:
            torch.nn.init.normal_(parameter)


def by_hand(projected: list[Tensor], output: torch.nn.Linear, mask: Tensor | None) -> Tensor:
    """One head after the other, each with its own slice of the projected query, key and value."""
    by_head = zip(*(each.chunk(H, -1) for each in projected), strict=True)
    heads = [attend(query, key, value, mask)[0] for query, key, value in by_head]
    return functional.linear(torch.cat(heads, -1), output.weight, output.bias)


@pytest.mark.parametrize("mask", [None, causal_mask(Q)], ids=["all", "causal"])
@KEY_WIDTHS
def test_self_attention_is_three_products_and_one_attention_per_head(mask: Tensor | None, key_width: int) -> None:
    torch.manual_seed(0)
    attention, (x, _) = SelfAttention(D, H, key_width=key_width), given()
    give_biases(attention)
    fused, sizes = attention.query_key_value, [H * (key_width or F)] * 2 + [D]
    parts = zip(fused.weight.split(sizes), fused.bias.split(sizes), strict=True)
    projected = [functional.linear(x, weight, bias) for weight, bias in parts]
    torch.testing.assert_close(attention(x, mask), by_hand(projected, attention.output, mask))


@KEY_WIDTHS
def test_cross_attention_looks_from_one_sequence_at_another(key_width: int) -> None:
    torch.manual_seed(0)
    attention, (x, memory) = CrossAttention(D, H, key_width=key_width), given()
    give_biases(attention)
    mask = (torch.arange(K) < torch.tensor([K, 2, 4])[:, None])[:, None, :]  # [B, 1, K]
    sizes = [H * (key_width or F), D]
    parts = zip(attention.key_value.weight.split(sizes), attention.key_value.bias.split(sizes), strict=True)
    projected = [attention.query(x), *(functional.linear(memory, weight, bias) for weight, bias in parts)]
    found = attention(x, attention.project_memory(memory), mask[:, None])
    assert found.shape == x.shape
    torch.testing.assert_close(found, by_hand(projected, attention.output, mask))


@pytest.mark.parametrize("kind", [SelfAttention, CrossAttention])
def test_heads_that_do_not_divide_the_width_are_refused(kind: type[MultiHead]) -> None:
    with pytest.raises(UsageError, match="5 heads do not divide a width of 12"):
        kind(12, 5)


@pytest.mark.parametrize("kind", [SelfAttention, CrossAttention])
def test_a_share_of_the_width_is_what_keys_have_anyway(kind: type[MultiHead]) -> None:
    """To the bit: a recipe that states the default is the same run."""
    models = []
    for key_width in (0, F):
        torch.manual_seed(0)
        models.append(kind(D, H, key_width=key_width).state_dict())
    one, other = models
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)


@KEY_WIDTHS
def test_packed_tokens_attend_as_padded_ones_do(key_width: int) -> None:
    torch.manual_seed(0)
    own, cross = SelfAttention(D, H, key_width=key_width), CrossAttention(D, H, key_width=key_width)
    ids, memory_ids = torch.tensor([[5, 6, 0], [7, 0, 0], [8, 9, 4]]), torch.tensor([[5, 0], [6, 7], [8, 0]])
    x, memory = torch.randn(3, 3, D), torch.randn(3, 2, D)
    real, memory_real = ids != 0, memory_ids != 0
    layout, memory_layout = Packed(real), Packed(memory_real)
    padded = own(x, real[:, None, None])
    torch.testing.assert_close(own(x[real], real[:, None, None], layout=layout), padded[real])
    read, packed_read = cross.project_memory(memory), cross.project_memory(memory[memory_real], memory_layout)
    mask = memory_real[:, None, None]
    torch.testing.assert_close(cross(x[real], packed_read, mask, layout), cross(x, read, mask)[real])


@pytest.mark.parametrize("sizes", [[1] * Q, [2, 3], [4, 1]])
@pytest.mark.parametrize("capacity", [1, 64])
@KEY_WIDTHS
def test_a_cache_changes_nothing(sizes: list[int], capacity: int, key_width: int) -> None:
    torch.manual_seed(0)
    attention, (x, _) = SelfAttention(D, H, key_width=key_width), given()
    cache = KeyValueCache(capacity)
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

    def watched(*given: Any, scale: bool, dropout: float) -> Tensor:
        taken.append(dropout)
        return attend_fused(*given, scale=scale, dropout=dropout)

    monkeypatch.setattr("regard.attention.multi_head.attend_fused", watched)
    with torch.device("meta"):
        attention, x = SelfAttention(D, H, dropout=0.2), torch.empty(B, Q, D)
    assert attention(x).shape == (B, Q, D)
    assert attention.eval()(x).shape == (B, Q, D)
    assert taken == [0.2, 0.0]


def test_fused_parts_are_initialised_as_if_alone() -> None:
    """Glorot's bound depends on the shape; three parts in one matrix must not look like one large layer."""
    torch.manual_seed(0)
    sizes = (64, 32, 128)
    layer = linear(64, *sizes)
    for part, size in zip(layer.weight.split(sizes), sizes, strict=True):
        bound = (6 / (64 + size)) ** 0.5
        assert 0.98 * bound < part.abs().max().item() <= bound
    assert (layer.bias == 0).all()
