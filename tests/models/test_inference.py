"""Layers walked through directly compute what the layers compute, and stand back wherever somebody looks or interferes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.attention.changes import changed
from regard.attention.record import record
from regard.data.tokenizer import START
from regard.models.inference import InferenceLayer, for_inference
from regard.models.int8 import in_int8
from tests.models.small import TAKEN_OUT, assert_same, ragged, small_model

SOURCE = ragged([5, 2], seed=1)


def two_steps(model: Any) -> Tensor:
    state = model.start(SOURCE)
    first, state = model.step(torch.full((2,), START), state)
    second, _ = model.step(torch.tensor([7, 8, 9, 7]), state.select(torch.tensor([[0, 0], [1, 1]])))
    return torch.cat([first, second])


@pytest.mark.parametrize("changes", [{}, {"key_width": 3}, {"value_width": 5}, *TAKEN_OUT], ids=str)
def test_the_same_numbers(changes: dict[str, Any]) -> None:
    model = small_model(**changes)
    with torch.no_grad():
        plain = two_steps(model)
    with torch.inference_mode():
        quick = isinstance(for_inference(model.decoder)[0], InferenceLayer)
        assert_same(two_steps(model), plain)
    assert quick == (not changes.keys() & {"key_width", "value_width"})


def test_eight_bits_too() -> None:
    model = in_int8(small_model().float())
    with torch.no_grad():
        plain = two_steps(model)
    with torch.inference_mode():
        assert isinstance(for_inference(model.decoder)[0], InferenceLayer)
        torch.testing.assert_close(
            two_steps(model), plain, atol=2e-2, rtol=2e-2
        )  # what is rounded may fall the other way


def test_whoever_begins_to_look_sees_the_next_step() -> None:
    model = small_model()
    with torch.inference_mode():
        _, state = model.step(torch.full((2,), START), model.start(SOURCE))
        with record(model) as seen:
            model.step(torch.tensor([7, 8]), state)
        assert seen["decoder.2.cross_attention"]["weights"].shape == (2, 4, 1, 5)
        plain = two_steps(model)
        with changed(model, off={"decoder.0.self_attention": [0]}):
            assert not torch.allclose(two_steps(model), plain)


def test_layers_that_do_something_else_stay_as_they_are() -> None:
    model = small_model()
    with torch.inference_mode():
        calls: list[nn.Module] = []
        hook = model.decoder[1].feed_forward.register_forward_hook(lambda module, *_: calls.append(module))
        two_steps(model)
        hook.remove()
        assert len(calls) == 2
        assert for_inference(model.train().decoder) == list(model.decoder)
    assert for_inference(model.eval().decoder) == list(model.decoder)  # gradients may be wanted
