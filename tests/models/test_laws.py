"""What holds for every model, trained or not."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard.attention.record import record
from regard.tasks.translation.training import translation_loss
from tests.models.small import RIVALS, TAKEN_OUT, VOCABULARY, assert_same, ragged, small_model

TRANSFORMERS: list[dict[str, Any]] = [
    {}, {"norm": "pre"}, {"positions": "learned"}, {"tied": False, "heads": 1}, {"key_width": 3}, {"value_width": 5},
]  # fmt: skip
KINDS = pytest.mark.parametrize("changes", [*TRANSFORMERS, *TAKEN_OUT, *RIVALS], ids=str)
LENGTHS = [7, 3, 1, 5]
SIDES = {"encoder": ("source", "source"), "decoder": ("target", "target"), "cross": ("target", "source")}
SOURCE, TARGET = ragged(LENGTHS, seed=1), ragged([6, 6, 6, 6], seed=2)


@KINDS
def test_the_future_cannot_change_the_past(changes: dict[str, Any]) -> None:
    model = small_model(**changes)
    before = model(SOURCE, TARGET)
    for cut in range(1, TARGET.size(1)):
        other = TARGET.clone()
        other[:, cut:] = ragged([6 - cut] * 4, seed=cut + 10)
        after = model(SOURCE, other)
        assert_same(after[:, :cut], before[:, :cut])
        if changes.get("residual", True):  # without, hardly a trace of the own token is left after three layers
            assert (after[:, cut] - before[:, cut]).abs().amax() > 1e-3
        assert_same(model(SOURCE, TARGET[:, :cut]), before[:, :cut])


@KINDS
def test_padding_of_the_source_changes_nothing(changes: dict[str, Any]) -> None:
    model = small_model(**changes)
    together = model(SOURCE, TARGET)
    assert_same(model(ragged(LENGTHS, seed=1, width=19), TARGET), together)
    for row, length in enumerate(LENGTHS):
        alone = model(SOURCE[row : row + 1, :length], TARGET[row : row + 1])
        assert_same(alone[0], together[row])


@KINDS
def test_padding_of_the_target_changes_no_state_and_no_loss(changes: dict[str, Any]) -> None:
    model, lengths = small_model(**changes), [4, 6, 1, 2]
    read, wanted = ragged(lengths, seed=3), ragged(lengths, seed=4)
    wide_read, wide_wanted = ragged(lengths, seed=3, width=11), ragged(lengths, seed=4, width=11)
    for row, length in enumerate(lengths):
        alone = model(SOURCE[row : row + 1], read[row : row + 1, :length])
        assert_same(alone[0], model(SOURCE, wide_read)[row, :length])
    losses = [translation_loss(model, SOURCE, *pair, 0.1) for pair in ((read, wanted), (wide_read, wide_wanted))]
    assert_same(losses[0].smoothed, losses[1].smoothed)
    parts = [
        translation_loss(model, SOURCE[row, None], read[row, None], wanted[row, None], 0.1).smoothed for row in range(4)
    ]
    assert_same(torch.stack(parts).sum(), losses[0].smoothed)


@KINDS
def test_rows_of_a_batch_are_strangers(changes: dict[str, Any]) -> None:
    model, order = small_model(**changes), torch.tensor([2, 0, 3, 1])
    assert_same(model(SOURCE[order], TARGET[order]), model(SOURCE, TARGET)[order])


def test_without_positions_the_encoder_sees_a_set() -> None:
    model, order = small_model(), torch.tensor([4, 2, 6, 0, 1, 5, 3])
    source = ragged([7, 7], seed=5)
    assert (model.encode(source[:, order])[0] - model.encode(source)[0][:, order]).abs().amax() > 0.1
    model.source_embedding.positions.table.zero_()
    assert_same(model.encode(source[:, order])[0], model.encode(source)[0][:, order])


@KINDS
def test_every_row_of_attention_sums_to_one(changes: dict[str, Any]) -> None:
    model = small_model(**changes)
    with record(model) as seen:
        model(SOURCE, TARGET)
    weights = {name: tensors["weights"] for name, tensors in seen.items() if "weights" in tensors}
    named = model.attention_names()
    assert sorted(weights) == sorted(name for names in named.values() for name in names)
    for kind, names in named.items():
        queries, keys = ((7 if side == "source" else 6) for side in SIDES[kind])
        for name in names:
            assert weights[name].shape == (4, model.heads, queries, keys)
            assert_same(weights[name].sum(-1), torch.ones(weights[name].shape[:-1]).double())
            if kind != "decoder":  # nobody looks at padding
                assert all((weights[name][row, :, :, length:] == 0).all() for row, length in enumerate(LENGTHS))


@KINDS
def test_every_parameter_learns(changes: dict[str, Any]) -> None:
    """No parameter is forgotten by the forward pass, and no NaN comes back from padding."""
    model = small_model(**changes).train()
    translation_loss(model, SOURCE, TARGET, TARGET.roll(-1, 1), 0.1).smoothed.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().sum() > 0, name


def test_project_gives_logits_over_the_target_vocabulary() -> None:
    model = small_model()
    assert model.project(model(SOURCE, TARGET)).shape == (4, 6, VOCABULARY)
