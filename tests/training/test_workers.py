"""Workers, of which each computes its rows: the same update as by one, and the same bits every time, whatever else the machine does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from regard.config import Training, recipes
from regard.errors import ProcessError
from regard.runs import initial_model
from regard.tasks.registry import find_task, prepare
from regard.training import workers
from regard.training.distributed import ALONE
from regard.training.loss import Loss
from regard.training.trainable import MicroBatch
from regard.training.update import Objective, add_gradients
from regard.training.workers import Workers, count_workers, every, rows_of
from tests.tasks import test_classify, test_language, test_painting
from tests.tasks.shapes import shapes_recipe, write_idx
from tests.training.stand_in import Regression, Small, equal, loop, run, small, weights
from tests.training.toy import arguments, contents, progress, start, train, wait_for, write_corpus

forks = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads share each operation")
SETTINGS = Training()


class Rows(Regression):
    """The same task, with batches of rows."""

    def take(self, position: tuple[int, int], count: int) -> tuple[list[MicroBatch], tuple[int, int]]:
        parts, after = super().take(position, count)
        return [MicroBatch(np.arange(8) + 8 * part.batch, part.tokens) for part in parts], after

    def loss(self, model: nn.Module, batch: Any) -> Loss:
        rows = [0] if isinstance(batch, int) else batch
        kind = next(model.parameters()).dtype
        x = torch.stack([torch.randn(4, generator=torch.Generator().manual_seed(int(row))) for row in rows]).to(kind)
        total = (model(x) - x.sum(1, keepdim=True)).square().sum()
        return Loss(total, total.detach())


def children(process: int | None) -> list[int]:
    """Of a process, those that it forked."""
    told = subprocess.run(["ps", "--ppid", str(process), "-o", "pid="], capture_output=True, text=True)
    return [int(each) for each in told.stdout.split()]


def gradients(model: nn.Module) -> dict[str, Tensor]:
    return {name: each.grad.clone() for name, each in model.named_parameters() if each.grad is not None}


def exact() -> tuple[Small, Objective]:
    model = small().double()
    model.drop.p = 0.0
    return model, Objective(model, Rows().loss)


@forks
@pytest.mark.parametrize("count", [2, 3, 10])
def test_parts_are_the_whole(count: int) -> None:
    """Also where there are more workers than rows, and in an update of two micro-batches."""
    parts, _ = Rows().take((0, 0), 2)
    model, objective = exact()
    loss = add_gradients(objective, parts, SETTINGS, 1, ALONE)
    other, shared = exact()
    with Workers(shared, count) as those:
        found = those.add_gradients(shared, parts, SETTINGS, 1, ALONE)
        again = those.add_gradients(shared, parts, SETTINGS, 2, ALONE)  # on top
    assert found == pytest.approx(loss, rel=1e-12) == again
    for name, gradient in gradients(model).items():
        torch.testing.assert_close(gradients(other)[name], 2 * gradient, rtol=1e-12, atol=1e-12)


def steady_recipe(name: str, folder: Path) -> tuple[Any, ...]:
    """Of a task, without anything random in a batch."""
    if name == "translation":
        return write_corpus(folder), ["model.dropout=0", "model.attention_dropout=0"]
    if name == "text-classification":
        (folder / "moods.toml").write_text(test_classify.RECIPE.format(folder=folder), encoding="utf-8")
        return folder / "moods.toml", ["model.dropout=0"]
    if name == "text-generation":
        return test_language.write_recipe(folder), ["model.dropout=0"]
    if name == "image-codes":
        test_painting.write_clothes(folder, "train", 200, 3)
        return (test_painting.codes_recipe(folder),)
    write_idx(folder, "train", 60, 1)
    recipe = shapes_recipe(folder, crop=0, flip=False, erase=0.0)
    recipe["model"]["stochastic_depth"] = 0.0
    return (recipe,)


@pytest.mark.parametrize(
    "name", ["translation", "text-classification", "text-generation", "image-classification", "image-codes"]
)
def test_rows_of_every_task_are_the_whole(name: str, tmp_path: Path) -> None:
    recipe = recipes.read(*steady_recipe(name, tmp_path))
    row = find_task(recipe.task)
    prepared = prepare(recipe, show=False)
    model, _ = initial_model(recipe, row, prepared)
    task = row.training(recipe, prepared, 1, torch.device("cpu"))
    parts, _ = task.take((0, 0), 1)
    objective = Objective(model, task.loss).train()
    whole = add_gradients(objective, parts, SETTINGS, 1, ALONE)
    expected = gradients(model)
    model.zero_grad()
    split = [rows_of(parts, worker, 3) for worker in range(3)]
    assert all(part.batch is not None for (part,) in split)
    assert sum(add_gradients(objective, part, SETTINGS, 1, ALONE) for part in split) == pytest.approx(whole, rel=1e-4)
    for parameter, gradient in expected.items():
        torch.testing.assert_close(gradients(model)[parameter], gradient, rtol=1e-3, atol=1e-5)


@forks
def test_stopping_and_going_on_changes_nothing(tmp_path: Path) -> None:
    straight, _ = run(tmp_path / "straight", Rows(), threads=3)
    run(tmp_path / "stopped", Rows(), threads=3, updates=5)
    after, _ = run(tmp_path / "stopped", Rows(), threads=3)
    assert equal(weights(straight.model), weights(after.model))
    assert straight.workers.count == 3


@forks
def test_a_busy_machine_changes_nothing(tmp_path: Path) -> None:
    quiet, _ = run(tmp_path / "quiet", Rows(), threads=3)
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        busy, _ = run(tmp_path / "busy", Rows(), threads=3)
    finally:
        for each in loops:
            each.kill()
            each.wait()
    assert equal(weights(quiet.model), weights(busy.model))


@forks
def test_each_worker_has_random_numbers_of_its_own() -> None:
    """Else what one drops, all drop; and one worker is what there was before there were several."""
    model = small()
    same = MicroBatch(np.zeros(2, dtype=np.int64), 2)  # twice the same row
    objective = Objective(model, Rows().loss).train()
    losses = {add_gradients(objective, [same], SETTINGS, 1, ALONE, worker) for worker in range(6)}
    assert len(losses) > 1
    alone, several = small(), small()
    add_gradients(Objective(alone, Rows().loss).train(), [same], SETTINGS, 1, ALONE)
    with Workers(Objective(several, Rows().loss), 1) as one:
        one.add_gradients(one.objective.train(), [same], SETTINGS, 1, ALONE)
    assert equal(gradients(alone), gradients(several))


@forks
def test_a_parameter_that_only_some_rows_need() -> None:
    """It has a gradient if it has one in any worker; one that none needs has none, and AdamW leaves it alone."""

    class Picky(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = nn.ParameterList(nn.Parameter(torch.ones(2)) for _ in range(3))

    def loss(model: Picky, rows: Any) -> Loss:
        total = sum((model.weights[int(row)].sum() for row in rows), torch.zeros(()))
        return Loss(total, total.detach())

    model = Picky()
    objective = Objective(model, loss)
    with Workers(objective, 2) as pair:
        pair.add_gradients(objective, [MicroBatch([0, 1, 0, 1], 1)], SETTINGS, 1, ALONE)
    assert [None if each.grad is None else each.grad.tolist() for each in model.weights] == [
        [2.0, 2.0],
        [2.0, 2.0],
        None,
    ]


@forks
def test_no_worker_is_left(tmp_path: Path) -> None:
    before = torch.get_num_threads()
    training, _ = run(tmp_path / "done", Rows(), threads=3)
    with loop(tmp_path / "broken", Rows(), threads=3).workers as those:
        processes = list(those._processes)
        assert len(processes) == 2
        assert all(map(alive, processes))
    assert not any(map(alive, processes))
    assert torch.get_num_threads() == before
    assert training.workers._processes == []


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@forks
def test_a_worker_that_fails_or_is_killed_ends_training_in_words() -> None:
    def loss(model: nn.Module, rows: Any) -> Loss:
        if 1 in rows:
            raise ZeroDivisionError("one of the rows")
        return Rows().loss(model, rows)

    batch, objective = [MicroBatch(np.arange(4), 4)], Objective(small(), loss)
    with Workers(objective, 2) as pair:
        with pytest.raises(ProcessError, match="worker 1 of 2 failed: ZeroDivisionError: one of the rows"):
            pair.add_gradients(objective, batch, SETTINGS, 1, ALONE)
        os.kill(pair._processes[0], signal.SIGKILL)
        os.waitpid(pair._processes[0], 0)
        with pytest.raises(ProcessError, match=r"worker 1 of 2 was killed.*training\.threads"):
            pair.add_gradients(objective, batch, SETTINGS, 2, ALONE)


@forks
def test_when_there_are_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    monkeypatch.setattr(workers, "whole_memory", lambda: 8 << 30)
    assert count_workers(small(), SETTINGS, ALONE) == 8
    assert count_workers(small(), replace(SETTINGS, threads=5), ALONE) == 5
    assert count_workers(small(), SETTINGS, replace(ALONE, count=2)) == 1
    assert count_workers(small(), replace(SETTINGS, compile=True), ALONE) == 1
    monkeypatch.setattr(workers, "whole_memory", lambda: 1 << 30)
    assert count_workers(small(), SETTINGS, ALONE) == 3
    monkeypatch.setattr(workers, "whole_memory", lambda: 0)  # unknown
    assert count_workers(small(), SETTINGS, ALONE) == 8
    monkeypatch.setattr(sys, "platform", "darwin")
    assert count_workers(small(), SETTINGS, ALONE) == 1


def test_rows() -> None:
    assert every([1, 2, 3, 4], 1, 2) == [2, 4]
    assert every([1], 1, 2) is None
    for rowless in ((1, 2), 7):  # nobody knows what is a row of it
        assert every(rowless, 0, 2) == rowless
        assert every(rowless, 1, 2) is None


@forks
def test_a_recipe(tmp_path: Path) -> None:
    """From the command's end: two threads, stopped and resumed, are the bits of two threads without a stop."""
    recipe = write_corpus(tmp_path)
    train(recipe, tmp_path / "straight", "training.threads=2")
    train(recipe, tmp_path / "stopped", "training.threads=2", "training.updates=7")
    train(recipe, tmp_path / "stopped", "training.threads=2")
    straight, stopped = (
        contents(tmp_path / name)["checkpoints/last.safetensors"][1] for name in ("straight", "stopped")
    )
    assert straight == stopped


@forks
@pytest.mark.slow
def test_workers_of_a_killed_training_end_and_hold_nothing(tmp_path: Path) -> None:
    """The folder is locked while a process of the training holds it."""
    recipe, folder = write_corpus(tmp_path), tmp_path / "run"
    process = start(arguments(recipe, folder, "training.threads=2", "training.updates=1000000"), tmp_path / "said")
    wait_for((folder / "checkpoints" / "last.safetensors").exists, process.is_alive)
    forked = children(process.pid)
    assert len(forked) == 1
    process.kill()
    process.join()
    done = progress(folder)["update"]
    train(recipe, folder, "training.threads=2", f"training.updates={done + 3}")
    assert progress(folder)["update"] == done + 3
    wait_for(lambda: not alive(forked[0]))
