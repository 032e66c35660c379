"""Small models are computed by one thread, others by as many as there were; and whoever had set a number has it again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from regard.decoding.options import Search
from regard.decoding.search import search
from regard.products import LARGE, is_large, threads_that_help
from tests.decoding.stand_in import SPECIAL, Remembered, StandIn

SMALL = nn.Linear(2, 2)


@pytest.fixture(autouse=True)
def three() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_how_many_inside_and_after() -> None:
    for model, count in ((SMALL, 1), (object(), 3), (nn.Linear(1, LARGE, device="meta"), 3)):
        with threads_that_help(model):
            assert torch.get_num_threads() == count
        assert torch.get_num_threads() == 3


def test_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), threads_that_help(SMALL):
        raise ZeroDivisionError
    assert torch.get_num_threads() == 3


class Asked(nn.Module):
    """A model to search with, that counts the threads."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.inner, self.threads = StandIn(), list[int]()

    def start(self, source: Tensor) -> Remembered:
        return self.inner.start(source)

    def step(self, last: Tensor, state: Remembered) -> tuple[Tensor, Remembered]:
        self.threads.append(torch.get_num_threads())
        return self.inner.step(last, state)


def test_the_search() -> None:
    model = Asked()
    search(model, torch.arange(3), torch.full((3,), 4), Search(beam=2), SPECIAL)
    assert set(model.threads) == {1}
    assert torch.get_num_threads() == 3


def test_who_does_not_tell_is_large() -> None:
    assert is_large(object())
    assert not is_large(SMALL)
