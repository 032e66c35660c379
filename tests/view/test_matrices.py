"""Weight matrices as strips, and what each layer would predict: what the picture of a walk shows besides the record."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import regard
from regard.view.arrays import unpack
from regard.view.matrices import matrices_of, strip_of
from tests.browser.test_glass import TEXT, writer
from tests.tasks.labelled import untrained


def test_a_small_matrix_stays_whole() -> None:
    weight = np.random.default_rng(0).normal(size=(16, 64))
    assert np.array_equal(strip_of(weight), weight)


@pytest.mark.parametrize("shape", [(64, 256), (17, 100), (3, 65), (200, 1)])
def test_of_each_block_the_number_farthest_from_zero(shape: tuple[int, int]) -> None:
    weight = np.random.default_rng(1).normal(size=shape)
    strip = strip_of(weight)
    assert strip.shape == (min(16, shape[0]), min(64, shape[1]))
    rows, columns = (
        np.array_split(np.arange(size), [place * size // cells for place in range(1, cells)])
        for size, cells in zip(shape, strip.shape, strict=True)
    )
    for (row, column), value in np.ndenumerate(strip):
        block = weight[np.ix_(rows[row], columns[column])]
        assert value in block
        assert abs(value) == np.abs(block).max()


def test_queries_keys_and_values_are_those_of_the_heads() -> None:
    model = untrained(norm="pre", feed_forward=24).model
    seen = untrained(norm="pre").look(TEXT).inside.stacks
    found = matrices_of(model, seen)
    attention = model.get_submodule("layers.0.self_attention")
    keys = unpack(found["layers.0.self_attention"]["K"]["strips"])  # [H, E, D]
    wanted = attention.query_key_value.weight.detach()[len(attention.query_key_value.weight) // 3 :]
    np.testing.assert_allclose(keys.reshape(-1, keys.shape[-1]), wanted[: keys.shape[0] * keys.shape[1]], atol=1e-3)
    inputs, outputs = found["layers.1.feed_forward"]["1"]["shape"]
    assert (outputs, inputs) == tuple(model.get_submodule("layers.1.feed_forward").widen.weight.shape)


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
def test_the_last_layer_predicts_what_the_model_does(norm: str) -> None:
    for model in (writer(norm=norm), writer("transformer-pointer", norm=norm)):
        seen = model.look(TEXT)
        assert len(seen.inside.lens) == model.recipe.model.layers
        for found, wanted in zip(seen.inside.lens[-1], seen.alternatives, strict=True):
            assert found["probability"] == pytest.approx(wanted.probability, abs=1e-5)
            assert found["probabilities"] == pytest.approx(wanted.probabilities[:3], abs=1e-5)
    decided = untrained(norm=norm, temperature=2.0).look(TEXT)
    (last,) = decided.inside.lens[-1]
    assert dict(zip(last["tokens"], last["probabilities"], strict=True)) == pytest.approx(
        dict(list(decided.probabilities.items())[:3]), abs=1e-5
    )


def test_of_a_translation() -> None:
    seen = regard.load("demo").attention("Ich habe Hunger.")
    assert len(seen.lens) == 2
    for found, wanted in zip(seen.lens[-1], seen.alternatives, strict=True):
        assert found["tokens"][0] == wanted.tokens[0]
        assert found["probability"] == pytest.approx(wanted.probability, abs=1e-5)
    scene = seen.to_dict(walk=False)
    assert scene["matrices"] == {}


def test_int8_shows_no_matrices() -> None:
    with torch.inference_mode():
        seen = regard.load("demo", engine="native", int8=True).attention("Ich habe Hunger.")
    assert len(seen.lens) == 2
    assert seen.matrices() == {}
