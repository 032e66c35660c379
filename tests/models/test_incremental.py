"""Writing step by step with caches gives what reading the whole prefix gives."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from regard.data.tokenizer import START
from regard.models.encoder_decoder import EncoderDecoder as Model
from tests.models.small import RIVALS, TAKEN_OUT, VOCABULARY, assert_same, ragged, small_model

TRANSFORMERS: list[dict[str, Any]] = [
    {}, {"norm": "pre"}, {"positions": "learned"}, {"decoder_layers": 1, "tied": False}, {"key_width": 3}, {"value_width": 5},
]  # fmt: skip
KINDS = pytest.mark.parametrize("changes", [*TRANSFORMERS, *TAKEN_OUT, *RIVALS], ids=str)
LENGTHS = [3, 9, 1, 6]
SOURCE = ragged(LENGTHS, seed=1)


def full_logits(model: Model, source: Tensor, written: Tensor) -> Tensor:
    """Of the token after each prefix, the slow way."""
    return model.project(model(source, written)[:, -1])


@KINDS
def test_steps_equal_the_full_pass_on_ragged_sources(changes: dict[str, Any]) -> None:
    """Longer than the room a cache starts with."""
    model = small_model(**changes)
    length = 20
    target = torch.cat([torch.full((4, 1), START), ragged([length] * 4, seed=2)], 1)
    with torch.inference_mode():
        expected = model.project(model(SOURCE, target))
        state = model.start(SOURCE)
        for position in range(length):
            logits, state = model.step(target[:, position], state)
            assert_same(logits, expected[:, position])


# Per step, the rows [S', W'] that go on: from one hypothesis to three, reordered, then sentences leave.
JOURNEY = [
    [[0, 0, 0], [1, 1, 1], [2, 2, 2], [3, 3, 3]],
    [[2, 0, 1], [5, 5, 3], [6, 7, 8], [11, 10, 9]],
    [[1, 1, 1], [8, 6, 6], [10, 9, 11]],  # the second sentence is over
    [[7, 6, 8], [1, 0, 0]],  # the second of what is left too, and the others change places
    [[0], [3]],  # one hypothesis each again
    [[1]],
]


@KINDS
def test_selected_rows_go_on_from_their_own_past(changes: dict[str, Any]) -> None:
    model = small_model(**changes)
    generator = torch.Generator().manual_seed(5)
    with torch.inference_mode():
        state, source = model.start(SOURCE), SOURCE
        written = torch.full((4, 1), START)
        logits, state = model.step(written[:, -1], state)
        for lines in JOURNEY:
            rows = torch.tensor(lines)
            source, written = source[rows.flatten()], written[rows.flatten()]
            state = state.select(rows)
            tokens = torch.randint(4, VOCABULARY, (rows.numel(), 1), generator=generator)
            written = torch.cat([written, tokens], 1)
            logits, state = model.step(tokens[:, 0], state)
            assert_same(logits, full_logits(model, source, written))


@KINDS
def test_a_selection_leaves_the_state_it_came_from_alone(changes: dict[str, Any]) -> None:
    model = small_model(**changes)
    with torch.inference_mode():
        first = torch.full((4,), START)
        _, state = model.step(first, model.start(SOURCE))
        other = state.select(torch.tensor([[3], [0]]))
        model.step(torch.tensor([7, 8]), other)
        logits, _ = model.step(torch.tensor([4, 5, 6, 7]), state)
        written = torch.stack([first, torch.tensor([4, 5, 6, 7])], 1)
        assert_same(logits, full_logits(model, SOURCE, written))


def test_the_source_is_held_once_per_sentence() -> None:
    """However many hypotheses: memory is S, not N = S · W."""
    model = small_model()
    with torch.inference_mode():
        state = model.start(SOURCE).select(torch.tensor([[row] * 5 for row in range(4)]))
        _, state = model.step(torch.full((20,), START), state)
    assert {each.key.size(0) for each in state.memory} == {4}
