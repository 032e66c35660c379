"""Bands of narrow rows: a table that is made from less, read in and read out."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from regard import config
from regard.models.adaptive import AdaptiveEmbedding, BandedOutput, Output
from regard.tasks.language_model.training import language_loss
from regard.tasks.registry import count_parameters
from tests.models.test_language_model import VOCABULARY, close, small, some_ids

CUTS = pytest.mark.parametrize(("cutoffs", "factor"), [((5,), 2), ((8, 20), 4), ((1, 2, 30), 2)])


def table(cutoffs: tuple[int, ...] = (8, 20), factor: int = 4, width: int = 16) -> AdaptiveEmbedding:
    torch.manual_seed(0)
    return AdaptiveEmbedding(VOCABULARY, width, cutoffs, factor).double()


@CUTS
def test_it_looks_up_rows_of_the_table_that_it_stands_for(cutoffs: tuple[int, ...], factor: int) -> None:
    made, ids = table(cutoffs, factor), torch.arange(VOCABULARY).view(1, -1)
    assert made.weight.shape == (VOCABULARY, 16)
    close(made(ids)[0], made.weight)
    close(made(ids.flatten()[[30, 0, 7]]), made.weight[[30, 0, 7]])  # whatever stands beside it


@CUTS
def test_states_meet_the_rows_of_that_table(cutoffs: tuple[int, ...], factor: int) -> None:
    """The narrow way is the wide one: only brackets are moved."""
    made, states = BandedOutput(table(cutoffs, factor)).double(), torch.randn(5, 16, dtype=torch.double)
    wide = Output(made.table.weight, cutoffs).double()
    wide.cluster_weight = made.cluster_weight
    close(made(states), wide(states))
    for number, (begin, end) in enumerate(made.tails()):
        states_of_band, rows = made.tail(number, states)
        assert rows.shape == (end - begin, 16 // factor ** (number + 1))
        close(states_of_band @ rows.t(), states @ made.table.weight[begin:end].t())


def test_rows_of_every_band_begin_alike() -> None:
    torch.manual_seed(0)
    weight = AdaptiveEmbedding(9_000, 64, (3_000, 6_000), 4).weight
    for rows in weight.split(3_000):
        assert rows.std().item() == pytest.approx(64**-0.5, rel=0.1)


@pytest.mark.parametrize("changes", [
    {"adaptive_factor": 1, "cutoffs": (8, 20)}, {"adaptive_factor": 4, "cutoffs": (VOCABULARY,)},
], ids=str)  # fmt: skip
def test_without_narrower_bands_it_is_a_plain_table(changes: dict[str, Any]) -> None:
    """As large as the model: nothing is projected, and the same numbers are drawn."""
    plain, made = small(**{**changes, "adaptive_factor": 1}), small(**changes)
    assert type(made.embedding.table) is nn.Embedding
    assert made.state_dict().keys() == plain.state_dict().keys()
    close(made(some_ids()), plain(some_ids()))


@pytest.mark.parametrize("architecture", ["transformer", "rnn"])
@pytest.mark.parametrize("tied", [True, False])
def test_parameters_are_those_of_narrow_rows_and_their_matrices(architecture: str, tied: bool) -> None:
    def count(**changes: Any) -> int:
        return sum(each.numel() for each in small(architecture=architecture, tied=tied, **changes).parameters())

    wide, narrow = count(cutoffs=(8, 20)), count(cutoffs=(8, 20), adaptive_factor=4)
    saved = VOCABULARY * 16 - (8 * 16 + 12 * 4 + 4 * 16 + 11 * 1 + 1 * 16)
    assert wide - narrow == saved * (1 if tied else 2)


def test_they_are_counted_before_anything_is_built() -> None:
    settings = config.TextDecoder(width=16, feed_forward=24, heads=4, layers=2, cutoffs=(8, 20), adaptive_factor=4)
    assert count_parameters(settings, VOCABULARY) == sum(
        each.numel() for each in small(cutoffs=(8, 20), adaptive_factor=4).parameters()
    )


def test_tied_bands_are_one_and_untied_are_two() -> None:
    tied, untied = (small(cutoffs=(8, 20), adaptive_factor=2, tied=tied) for tied in (True, False))
    assert isinstance(tied.output, BandedOutput)
    assert isinstance(untied.output, BandedOutput)
    assert tied.output.table is tied.embedding.table
    assert untied.output.table is not untied.embedding.table
    assert len(list(untied.parameters())) == len(list(tied.parameters())) + 5


@pytest.mark.parametrize("tied", [True, False])
def test_every_part_learns_from_every_batch(tied: bool) -> None:
    """Also a band that no word of the batch is in: its gradient is zeros, not missing."""
    model, ids = small(cutoffs=(8, 20), adaptive_factor=2, tied=tied), some_ids()
    language_loss(model, ids, ids, 0.0).smoothed.backward()
    assert all(each.grad is not None and each.grad.any() for each in model.parameters())
    model.zero_grad()
    frequent = ids.clamp(max=7)
    language_loss(model, frequent, frequent, 0.0).smoothed.backward()
    assert all(each.grad is not None for each in model.parameters())


def test_it_learns() -> None:
    """A word of the last band follows from the one before it."""
    model = small(cutoffs=(8, 20), adaptive_factor=2, dropout=0.0).train()
    read = torch.tensor([[4, 21, 9, 30, 5, 25, 12, 28]])
    wanted = read.roll(-1, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(60):
        loss = language_loss(model, read, wanted, 0.0).smoothed
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert (model.project(model(read)).argmax(-1) == wanted).all()
