"""Weights that lie otherwise in memory: the same model."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.models.int8 import in_int8
from regard.models.packed import pack_weights
from regard.products import LITTLE, MANY, PackedLinear
from tests.models.small import RIVALS, TAKEN_OUT, ragged, small_model


def test_nothing_but_the_order_in_memory_changes() -> None:
    """In double precision, which oneDNN does not take."""
    plain, packed, source, target = small_model(), pack_weights(small_model()), ragged([5, 3]), ragged([4, 4])
    with torch.inference_mode():
        wanted, found = (each.project(each(source, target)) for each in (plain, packed))
    torch.testing.assert_close(found, wanted)
    before, after = (dict(each.named_parameters(remove_duplicate=False)) for each in (plain, packed))
    assert list(after) == list(before)
    assert all(torch.equal(after[name], each) for name, each in before.items())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("outputs", [3, 96, 5_000])
def test_products_of_all_shapes_are_those_of_a_linear_layer(outputs: int, bias: bool) -> None:
    plain = nn.Linear(128, outputs, bias=bias)
    packed = PackedLinear(plain)
    with torch.inference_mode():
        for rows in [(0,), (1,), (2,), (5,), (160,), (3, 7), (2, 40), (4, 0), (1, 1), (), (MANY - 1,), (2, MANY)]:
            x = torch.randn(*rows, 128)
            torch.testing.assert_close(packed(x), plain(x))
        aslant = torch.randn(128, 64).t()
        torch.testing.assert_close(packed(aslant), plain(aslant))
        torch.testing.assert_close(packed(aslant[::2, None]), plain(aslant[::2, None]))


def test_both_kinds_of_product_are_tried_here() -> None:
    assert 128 * 3 * 160 < LITTLE < 128 * 5_000


def test_gradients_are_those_of_a_linear_layer() -> None:
    plain = nn.Linear(128, 5_000)
    with torch.inference_mode():
        (packed := PackedLinear(plain))(torch.randn(9, 128))
    packed(torch.ones(9, 128)).sum().backward()
    assert plain.weight.grad is not None
    torch.testing.assert_close(plain.weight.grad, torch.full((5_000, 128), 9.0))


@pytest.mark.parametrize("rows", [1, 9, MANY])
@pytest.mark.parametrize("outputs", [3, 5_000])
def test_a_weight_that_changes_is_packed_anew(outputs: int, rows: int) -> None:
    plain = nn.Linear(128, outputs)
    packed, x = PackedLinear(plain), torch.randn(rows, 128)
    with torch.inference_mode():
        packed(x)
    with torch.no_grad():
        plain.weight.mul_(-2)
    with torch.inference_mode():
        torch.testing.assert_close(packed(x), plain(x))


def test_another_weight_or_bias_is_used_at_once() -> None:
    """Though as many changes were made of it."""
    packed, other, x = PackedLinear(nn.Linear(128, 5_000)), nn.Linear(128, 5_000), torch.randn(9, 128)
    with torch.inference_mode():
        packed(x), packed(x[:1])
        packed.weight, packed.bias = other.weight, other.bias
        torch.testing.assert_close(packed(x), other(x))
        torch.testing.assert_close(packed(x[:1]), other(x[:1]))


def test_whoever_reads_the_program_finds_torch_s_own_operations() -> None:
    packed = PackedLinear(nn.Linear(128, 5_000))
    with torch.no_grad():
        told = str(torch.export.export(packed, (torch.randn(9, 128),)).graph)
    assert "aten.linear" in told
    assert "mkldnn" not in told


def test_a_weight_made_for_reading_only_is_packed() -> None:
    with torch.inference_mode():
        plain = nn.Linear(128, 5_000)
        packed, x = PackedLinear(plain), torch.randn(9, 128)
        torch.testing.assert_close(packed(x), plain(x))


def test_a_copy_packs_anew() -> None:
    packed = PackedLinear(nn.Linear(128, 5_000))
    x = torch.randn(9, 128)
    with torch.inference_mode():
        wanted = packed(x), packed(x[:1])
        found = copy.deepcopy(packed)
        assert found._packed is found._transposed is None  # nor is it sent to another process
        assert torch.equal(found(x), wanted[0])
        assert torch.equal(found(x[:1]), wanted[1])


@pytest.mark.parametrize("change", [{}, {"tied": False}, *TAKEN_OUT, *RIVALS], ids=str)
@pytest.mark.parametrize("rearranged", [pack_weights, in_int8])
def test_the_model_itself_stays_as_it_is(rearranged: Callable[[Model], Model], change: dict[str, Any]) -> None:
    model, source, target = small_model(**change).float(), ragged([5, 3]), ragged([4, 4])
    parameters = dict(model.named_parameters(remove_duplicate=False))
    with torch.inference_mode():
        before = model.project(model(source, target))
        found = rearranged(model)
        near = found.project(found(source, target))
        assert torch.equal(model.project(model(source, target)), before)
    assert (near - before).norm() < 0.1 * before.norm()
    assert all(each is parameters[name] for name, each in model.named_parameters(remove_duplicate=False))
    assert all(each.is_contiguous() for each in model.parameters())
    embeddings = [each for each in found.modules() if isinstance(each, nn.Embedding)]
    assert embeddings
    assert all(any(each.weight is known for known in parameters.values()) for each in embeddings)


def test_a_tied_output_stays_tied() -> None:
    packed = pack_weights(small_model())
    assert packed.source_embedding.table.weight is packed.target_embedding.table.weight is packed.output.weight
