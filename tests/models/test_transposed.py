"""Weights that lie the other way round in memory: the same model."""

from __future__ import annotations

import torch
from torch import nn

from regard.models.transposed import transpose_weights
from tests.models.small import ragged, small_model


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


def test_embeddings_stay_as_they_are() -> None:
    turned = transpose_weights(small_model())
    assert turned.target_embedding.table.weight.is_contiguous()
    assert turned.source_embedding.table.weight is turned.target_embedding.table.weight
