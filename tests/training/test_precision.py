"""Matrix products in bfloat16: weights stay exact, and a run resumes to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from regard.checkpoint import read
from regard.config import Training
from regard.training.distributed import threads_of_a_process
from regard.training.loss import Loss
from regard.training.update import Objective, autocast_of
from tests.training.toy import train

HALF = "training.precision=bfloat16"


@pytest.mark.parametrize(
    ("precision", "device", "found"),
    [("auto", "cpu", ""), ("auto", "cuda", "cuda"), ("float32", "cuda", ""), ("bfloat16", "cpu", "cpu")],
)
def test_where_products_are_in_half_precision(precision: str, device: str, found: str) -> None:
    assert autocast_of(Training(precision=precision), device) == found


@pytest.mark.parametrize("autocast", ["", "cpu"])
def test_only_products_are_in_half_precision(autocast: str) -> None:
    layer = nn.Linear(3, 2)
    said: list[Tensor] = []

    def loss(model: nn.Module, given: Tensor) -> Loss:
        said.append(model(given))
        return Loss(said[-1].float().sum(), said[-1].detach().float().sum())

    Objective(layer, loss, autocast)(torch.ones(1, 3)).smoothed.backward()
    assert said[0].dtype == (torch.bfloat16 if autocast else torch.float32)
    assert layer.weight.dtype == torch.float32
    assert layer.weight.grad is not None
    assert layer.weight.grad.dtype == torch.float32


def test_half_precision_resumes_to_the_bit(recipe: Path, tmp_path: Path) -> None:
    train(recipe, tmp_path / "two", HALF, "training.updates=5")
    train(recipe, tmp_path / "two", HALF)
    train(recipe, tmp_path / "one", HALF)
    train(recipe, tmp_path / "whole")
    one, two, whole = (read(tmp_path / name / "model.safetensors")[0] for name in ("one", "two", "whole"))
    torch.testing.assert_close(two, one, rtol=0, atol=0)
    learned = [name for name in one if one[name].is_floating_point()]
    assert {one[name].dtype for name in learned} == {torch.float32}
    assert all(torch.allclose(one[name], whole[name], rtol=0, atol=0.05) for name in learned)
    assert any(not torch.equal(one[name], whole[name]) for name in learned)


@pytest.mark.parametrize(("named", "here", "threads"), [("3", "1", 3), ("3", "10000", 1), ("", "10000", 1)])
def test_threads_that_the_system_asks_for(named: str, here: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one process alone: torchrun says 1 to each of several, however many cores there are."""
    monkeypatch.setenv("OMP_NUM_THREADS", named)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", here)
    assert threads_of_a_process() == threads
