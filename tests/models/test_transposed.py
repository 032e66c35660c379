"""Weights that lie the other way round in memory: the same model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.models.int8 import in_int8
from regard.models.transposed import transpose_weights
from tests.models.small import RIVALS, TAKEN_OUT, ragged, small_model


def test_nothing_but_the_order_in_memory_changes() -> None:
    plain, turned, source, target = small_model(), transpose_weights(small_model()), ragged([5, 3]), ragged([4, 4])
    with torch.inference_mode():
        wanted, found = (each.project(each(source, target)) for each in (plain, turned))
    torch.testing.assert_close(found, wanted)
    before, after = dict(plain.named_parameters(remove_duplicate=False)), dict(turned.named_parameters())
    for name, module in turned.named_modules():
        if isinstance(module, nn.Linear):
            assert module.weight.t().is_contiguous()
            assert torch.equal(after[f"{name}.weight"], before[f"{name}.weight"])


@pytest.mark.parametrize("change", [{}, {"tied": False}, *TAKEN_OUT, *RIVALS], ids=str)
@pytest.mark.parametrize("rearranged", [transpose_weights, in_int8])
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


def test_embeddings_stay_as_they_are() -> None:
    turned = transpose_weights(small_model())
    assert turned.target_embedding.table.weight.is_contiguous()
    assert turned.source_embedding.table.weight is turned.target_embedding.table.weight
