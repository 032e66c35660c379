"""Numbers come out of JSON as they went in, as exactly as 16 bits allow."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from numpy.typing import NDArray

from regard.view.arrays import pack, pack_probabilities, unpack

FARTHEST = 65_504.0  # of half precision
SMALLEST = 2.0**-24
SHAPES = [(), (0,), (1,), (7,), (2, 0, 3), (2, 3, 4, 5)]


def through_json(packed: dict[str, object]) -> NDArray[np.float64]:
    return unpack(json.loads(json.dumps(packed)))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_shapes_stay(shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(0).random(shape)
    for found in (through_json(pack(values)), through_json(pack_probabilities(values))):
        assert found.shape == shape
        np.testing.assert_allclose(found, values, rtol=0, atol=5e-4)


@given(some.lists(some.floats(0, 1), max_size=20))
def test_shares_are_exact_to_half_a_step(values: list[float]) -> None:
    found = through_json(pack_probabilities(values))
    np.testing.assert_allclose(found, values, rtol=0, atol=0.5001 / 65_535)
    np.testing.assert_array_equal(through_json(pack_probabilities(found)), found)


@given(some.lists(some.floats(-FARTHEST, FARTHEST), max_size=20))
def test_numbers_are_exact_to_eleven_bits(values: list[float]) -> None:
    found = through_json(pack(values))
    assert (np.abs(found - values) <= np.maximum(np.abs(values) * 2.0**-11, SMALLEST / 2)).all()
    np.testing.assert_array_equal(through_json(pack(found)), found)


def test_what_is_beyond_the_range_becomes_its_end() -> None:
    extremes = [1e300, -1e300, np.inf, -np.inf, 65_519.0, FARTHEST]
    assert through_json(pack(extremes)).tolist() == [FARTHEST, -FARTHEST, FARTHEST, -FARTHEST, FARTHEST, FARTHEST]
    assert through_json(pack_probabilities([-1e-9, 0.0, 1.0, 1.0 + 1e-6])).tolist() == [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_order_and_precision_in_memory_do_not_matter(kind: type[np.floating]) -> None:
    values = np.arange(24, dtype=kind).reshape(2, 3, 4)
    turned = values.transpose(2, 0, 1)
    np.testing.assert_array_equal(through_json(pack(turned)), turned)
    np.testing.assert_allclose(through_json(pack_probabilities(turned / 32)), turned / 32, rtol=0, atol=1e-5)


def as_the_page_reads(packed: dict[str, object]) -> list[float]:
    """What assets/data.js does, word for word: 16 bits at a time, low byte first."""
    assert isinstance(packed["data"], str)
    bits = base64.b64decode(packed["data"])
    words = [bits[place] | bits[place + 1] << 8 for place in range(0, len(bits), 2)]
    if packed["type"] == "share":
        return [word / 65_535 for word in words]
    return [half_to_number(word) for word in words]


def half_to_number(bits: int) -> float:
    sign, exponent, fraction = -1 if bits & 0x8000 else 1, (bits >> 10) & 31, bits & 1023
    return sign * (fraction * 2.0**-24 if exponent == 0 else (1 + fraction / 1024) * 2.0 ** (exponent - 15))


def test_the_page_reads_the_same_numbers() -> None:
    """Of half precision, all there are; the page has no infinities, because `pack` never writes one."""
    every = np.arange(65_536, dtype="<u2").view("<f2").astype(np.float64)
    for values in (pack(every[np.isfinite(every)]), pack_probabilities(np.linspace(0, 1, 65_536))):
        assert as_the_page_reads(values) == unpack(values).tolist()
        assert len(set(as_the_page_reads(values))) > 63_000
