"""Positions: the paper's section 3.5 to the letter, or learned."""

from __future__ import annotations

import math

import pytest
import torch

from regard.attention.layout import lay_out
from regard.attention.positions import AT_FIRST, POSITIONS, LearnedPositions, SinusoidalPositions, sinusoidal_positions
from regard.models.layers import Embedding


@pytest.mark.parametrize("width", [2, 6, 64])
def test_sine_and_cosine_are_interleaved_as_in_the_paper(width: int) -> None:
    table = sinusoidal_positions(200, width)
    assert table.shape == (200, width)
    for position in (0, 1, 2, 77, 199):
        for i in range(width // 2):
            angle = position / 10_000 ** (2 * i / width)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_a_shift_is_a_rotation() -> None:
    """The paper's reason for the choice: for any offset, later positions are one linear map of earlier ones."""
    table = sinusoidal_positions(100, 16).double()
    before, after = table[:50], table[7:57]
    solution = torch.linalg.lstsq(before, after).solution
    torch.testing.assert_close(before @ solution, after, atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", POSITIONS)
def test_starting_later_gives_the_same_rows(kind: str) -> None:
    positions = POSITIONS[kind](20, 8)
    assert torch.equal(positions(torch.arange(7, 12)), positions(torch.arange(20))[7:12])
    assert len({tuple(row.tolist()) for row in positions(torch.arange(20))}) == 20


def test_only_learned_positions_learn_and_are_stored() -> None:
    fixed, learned = SinusoidalPositions(20, 8), LearnedPositions(20, 8)
    assert not list(fixed.parameters())
    assert not fixed.state_dict()
    assert set(learned.state_dict()) == {"table"}
    learned(torch.arange(2, 5)).sum().backward()
    assert learned.table.grad is not None
    assert learned.table.grad.sum(1).tolist() == [0.0, 0.0, 8.0, 8.0, 8.0, *[0.0] * 15]


def test_a_table_of_sines_grows_as_it_is_asked_for() -> None:
    """A model file may say a million positions; they take memory when a text is that long, and are the same numbers."""
    long = 5 * AT_FIRST + 3
    whole, growing = sinusoidal_positions(long, 8), SinusoidalPositions(long, 8)
    assert len(growing.table) == AT_FIRST
    for places in (torch.arange(7), torch.tensor([AT_FIRST]), torch.tensor([3 * AT_FIRST, 2]), torch.arange(long)):
        assert torch.equal(growing(places), whole[places])
    assert torch.equal(SinusoidalPositions(long, 8).rows(), whole)
    with pytest.raises(IndexError):
        growing(torch.tensor([long]))


def test_the_longer_table_is_of_the_same_kind() -> None:
    positions = SinusoidalPositions(2 * AT_FIRST, 4).double()
    with torch.inference_mode():
        positions(torch.tensor([AT_FIRST]))
    assert positions.table.dtype == torch.float64
    assert not positions.table.is_inference()
    assert not positions.state_dict()


def test_an_embedding_says_how_far_its_places_reach() -> None:
    """So nothing has to look at the places, which would make a GPU wait."""
    embedding = Embedding(torch.nn.Embedding(5, 4), 0.0, SinusoidalPositions(3 * AT_FIRST, 4))
    table, ids = sinusoidal_positions(3 * AT_FIRST, 4), torch.ones(2, 6, dtype=torch.long)
    vectors = embedding.table(ids) * embedding.scale
    assert torch.equal(embedding(ids, start=2 * AT_FIRST - 3), vectors + table[2 * AT_FIRST - 3 : 2 * AT_FIRST + 3])
    assert torch.equal(embedding(ids, layout=lay_out(ids, packed=True)), (vectors + table[:6]).flatten(0, 1))
    assert embedding.position_table(3 * AT_FIRST).shape == (3 * AT_FIRST, 4)  # type: ignore[union-attr]
