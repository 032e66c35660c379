"""Many processes compute what one would: DDP and FSDP2 on the CPU, started by torchrun."""

from __future__ import annotations

import gc
import math
import os
import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from regard.checkpoint import read
from regard.config import Training
from regard.errors import UsageError
from regard.tasks.translation.training import TranslationTraining
from regard.training.distributed import find_device
from regard.training.loss import Loss
from tests.training.toy import (
    PATIENCE,
    agent,
    arguments,
    contents,
    finish,
    processes,
    progress,
    start_all,
    torchrun,
    train,
    wait_for,
    write_corpus,
)

pytestmark = pytest.mark.slow


def last(run: Path) -> dict[str, Tensor]:
    """Weights and optimizer."""
    return read(run / "checkpoints" / "last.safetensors")[0]


@pytest.fixture(scope="module")
def alone(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One process that accumulates two parts, with dropout."""
    run = tmp_path_factory.mktemp("alone")
    train(recipe, run, "training.accumulate=2")
    return run


def test_torchrun(recipe: Path, tmp_path: Path) -> None:
    """Two processes with two parts each are one process with four."""
    process = torchrun("-m", "--", "regard", *arguments(recipe, tmp_path / "two", "training.accumulate=2"))
    output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert output.count("all updates done") == 1, "only the first speaks"
    train(recipe, tmp_path / "one", "training.accumulate=4")
    torch.testing.assert_close(last(tmp_path / "two"), last(tmp_path / "one"), rtol=0, atol=1e-6)
    one, two = (contents(tmp_path / name)["metrics.jsonl"] for name in ("one", "two"))
    assert [line["update"] for line in two] == [line["update"] for line in one]
    assert [line["loss"] for line in two] == pytest.approx([line["loss"] for line in one])


def test_two_processes_are_one_and_can_change_places(recipe: Path, alone: Path, tmp_path: Path) -> None:
    """Begun by one that accumulates two parts, taken over by two."""
    train(recipe, tmp_path / "run", "training.accumulate=2", "training.updates=5")
    assert processes(2, arguments(recipe, tmp_path / "run"), tmp_path / "output") == [0, 0]
    assert "going on after update 5 of 12" in (tmp_path / "output").read_text(encoding="utf-8")
    torch.testing.assert_close(last(tmp_path / "run"), last(alone), rtol=0, atol=1e-6)


def test_sharded(recipe: Path, alone: Path, tmp_path: Path) -> None:
    """FSDP2: each process holds a part of every matrix; stopped at 7, and gone on."""
    for updates in (7, 12):
        words = arguments(recipe, tmp_path / "full", "training.sharding=full", f"training.updates={updates}")
        codes = processes(2, words, tmp_path / "output")
        assert codes == [0, 0], (tmp_path / "output").read_text(encoding="utf-8")
    torch.testing.assert_close(last(tmp_path / "full"), last(alone), rtol=0, atol=1e-5)
    valid = [
        {line["update"]: line["loss"] for line in contents(run)["metrics.jsonl"] if line["kind"] == "valid"}
        for run in (alone, tmp_path / "full")
    ]
    assert [valid[1][update] for update in (5, 10, 12)] == pytest.approx([valid[0][update] for update in (5, 10, 12)])


EMBEDDING = torch.Size([320, 16])  # of the toy recipe


def count_whole(folder: Path) -> None:
    """Write down how many whole embeddings a process holds when it gathers or spreads one more."""
    from regard.training import distributed

    def noting(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def noted(tensor: Tensor, *rest: Any) -> Tensor:
            if tensor.shape == EMBEDDING:
                plain = [each for each in gc.get_objects() if type(each) in (Tensor, nn.Parameter)]
                held = [each for each in plain if each.shape == EMBEDDING and each.device.type == "cpu"]
                places = {each.data_ptr() for each in held if each.untyped_storage().nbytes()}
                with (folder / os.environ["RANK"]).open("a", encoding="utf-8") as file:
                    file.write(f"{len(places)}\n")
            return function(tensor, *rest)

        return noted

    DTensor.full_tensor = noting(DTensor.full_tensor)  # type: ignore[method-assign]
    distributed.distribute_tensor = noting(distributed.distribute_tensor)  # type: ignore[attr-defined]


def test_only_the_first_holds_what_is_whole(recipe: Path, tmp_path: Path) -> None:
    """While FSDP2 trains, validates, saves and goes on, the others hold no more than the one tensor they hand over."""
    run = tmp_path / "run"
    for updates in (5, 7):
        words = arguments(recipe, run, "training.sharding=full", f"training.updates={updates}")
        codes = processes(2, words, tmp_path / "output", count_whole, tmp_path)
        assert codes == [0, 0], (tmp_path / "output").read_text(encoding="utf-8")
    first, second = ([int(line) for line in (tmp_path / rank).read_text().split()] for rank in "01")
    assert len(first) == len(second), "all must help"
    assert max(second) <= 1
    assert max(first) == 3, "weights and both moments, while the moving average comes in"


def test_sharded_goes_on_to_the_same_bits(recipe: Path, tmp_path: Path) -> None:
    for name, stops in (("straight", (7,)), ("stopped", (4, 7))):
        for updates in stops:
            words = arguments(recipe, tmp_path / name, "training.sharding=full", f"training.updates={updates}")
            assert processes(2, words, tmp_path / "output") == [0, 0], (tmp_path / "output").read_text(encoding="utf-8")
    straight, stopped = last(tmp_path / "straight"), last(tmp_path / "stopped")
    assert straight.keys() == stopped.keys()
    assert all(torch.equal(straight[name], stopped[name]) for name in straight)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_all_stop_together(recipe: Path, tmp_path: Path, number: signal.Signals) -> None:
    """torchrun passes a signal on to its processes; a terminal has sent Ctrl-C to them already. If torchrun itself is killed,
    they notice.
    """
    run = tmp_path / "run"
    endless = ("training.updates=1_000_000", "training.validate_every=1_000_000", "training.checkpoint_every=0")
    process = torchrun("-m", "--", "regard", *arguments(recipe, run, *endless))
    try:
        wait_for(lambda: '"update": 50' in _text(run / "metrics.jsonl"), still=lambda: process.poll() is None)
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        output, errors = process.communicate(timeout=PATIENCE)  # until the last has closed its output
    finally:
        process.kill()
    assert "stopped and saved" in output, errors
    assert "KeyboardInterrupt" not in errors
    updates = progress(run)["update"]
    assert updates >= 50
    train(recipe, tmp_path / "one", *endless, "training.accumulate=2", f"training.updates={updates}")
    torch.testing.assert_close(last(run), last(tmp_path / "one"), rtol=0, atol=1e-5)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


DYING = """
import os, sys
from regard.cli import main
from regard.tasks.translation.training import TranslationTraining

original, count = TranslationTraining.loss, 0

def loss(self, model, batch):
    global count
    count += 1
    if os.environ["RANK"] == "1" and count == 3:
        raise RuntimeError("the second process falls over")
    return original(self, model, batch)

TranslationTraining.loss = loss
main()
"""


def test_when_one_dies_all_end(recipe: Path, tmp_path: Path) -> None:
    script = tmp_path / "dying.py"
    script.write_text(DYING, encoding="utf-8")
    process = torchrun("--", str(script), *arguments(recipe, tmp_path / "run"))
    try:
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode != 0
    assert "RuntimeError: the second process falls over" in errors
    assert "dying.py" in errors, "a traceback, not only the message"
    assert "the second process falls over" in errors.split("FAILED")[-1], "in what torchrun says at the end"
    assert not (tmp_path / "run" / "checkpoints" / "last.safetensors").exists()


def on_machines(*names: str) -> None:
    """Each process believes that it is on a machine of its own."""
    socket.gethostname = lambda: names[int(os.environ["RANK"])]


def shorter(folder: Path) -> None:
    rows = (folder / "train.tsv").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "train.tsv").write_text("".join(rows[1:]), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "options", "told"),
    [
        (shorter, [], r"sha256 of train\.tsv: \w+ \(process 0 on node-a\); \w+ \(process 1 on node-b\)"),
        (lambda folder: (folder / "valid.tsv").unlink(), [], r"process 1 on node-b: no file .*valid\.tsv"),
        (lambda folder: (folder / "toy.toml").unlink(), [], r"process 1 on node-b: no recipe at .*toy\.toml"),
        (None, ["--set", "training.seed=2"], r"training\.seed: 1 \(process 0 on node-a\); 2 \(process 1 on node-b\)"),
        (None, ["--run", "elsewhere"], r"process 1 on node-b: the run folder \S+elsewhere is not that of process 0 \("),
    ],
)  # fmt: skip
def test_machines_that_differ_are_named(
    tmp_path: Path, change: Callable[[Path], None] | None, options: list[str], told: str
) -> None:
    """Two machines with their own copies of the data, and a run folder that they share or not: one message, no update."""
    words = []
    for name in "ab":
        (tmp_path / name).mkdir()
        words.append(arguments(write_corpus(tmp_path / name), tmp_path / "run"))
    if change is not None:
        change(tmp_path / "b")
    words[1] += [str(tmp_path / word) if word == "elsewhere" else word for word in options]
    codes = processes(2, words, tmp_path / "output", on_machines, "node-a", "node-b")
    said = (tmp_path / "output").read_text(encoding="utf-8")
    assert codes == [2, 2], said
    assert len(re.findall(told, said)) == 1, said
    assert said.count("regard: ") == 1, "told once"
    assert "Traceback" not in said
    assert not (tmp_path / "run" / "checkpoints" / "last.safetensors").exists()
    assert not (tmp_path / "elsewhere").exists()
    assert not list((tmp_path / "run").glob("shared-*")), "the mark by which they knew the folder"


def at_update(number: int, does: signal.Signals) -> None:
    """The second process gets a signal within an update."""
    original = TranslationTraining.loss
    count = 0

    def loss(self: Any, *given: Any) -> Any:
        nonlocal count
        count += 1
        if os.environ["RANK"] == "1" and count == number:
            os.kill(os.getpid(), does)
        return original(self, *given)

    TranslationTraining.loss = loss  # type: ignore[method-assign]


def test_killed_and_started_again(recipe: Path, tmp_path: Path) -> None:
    """With the same store, in which the dead left their addresses: to the same bits.

    The run that nobody kills has its data in two places, as two machines may.
    """
    places = [recipe, write_corpus(tmp_path)]
    straight_on = [arguments(place, tmp_path / "straight") for place in places]
    assert processes(2, straight_on, tmp_path / "output") == [0, 0], (tmp_path / "output").read_text(encoding="utf-8")
    assert (tmp_path / "prepared").is_dir()
    with agent() as where:
        words, output = arguments(recipe, tmp_path / "killed"), tmp_path / "killed output"
        first, second = processes(2, words, output, at_update, 8, signal.SIGKILL, **where)
        assert (first, second) == (2, -signal.SIGKILL), output.read_text(encoding="utf-8")
        assert re.search(r"process 1 on \S+ no longer answers: it was killed", output.read_text(encoding="utf-8"))
        assert progress(tmp_path / "killed")["update"] == 6
        assert processes(2, words, output, **where) == [0, 0], output.read_text(encoding="utf-8")
    straight, killed = last(tmp_path / "straight"), last(tmp_path / "killed")
    assert all(torch.equal(straight[name], killed[name]) for name in straight)


def test_one_that_was_stopped_is_noticed_and_named(recipe: Path, tmp_path: Path) -> None:
    words, output = arguments(recipe, tmp_path / "run", "training.timeout=0.1"), tmp_path / "output"
    with agent() as where:
        first, second = start_all(2, words, output, at_update, 8, signal.SIGSTOP, **where)
        try:
            assert finish(first) == 2, output.read_text(encoding="utf-8")
        finally:
            second.kill()
            second.join()
    said = output.read_text(encoding="utf-8")
    assert re.search(r"process 1 on \S+ no longer answers: it was killed, stopped or cut off", said), said
    assert "Traceback" not in said


def poison() -> None:
    """No number comes out."""
    original = TranslationTraining.loss
    TranslationTraining.loss = lambda self, *given: Loss(*(part * math.nan for part in original(self, *given)))  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("count", "setting", "before", "told"),
    [
        (1, "model.head=4", None, "unknown setting 'model.head'"),
        (2, "model.head=4", None, "unknown setting 'model.head'"),
        (2, "training.seed=1", poison, "the loss is nan"),
    ],
)
def test_a_mistake_is_told_once(
    recipe: Path, tmp_path: Path, count: int, setting: str, before: Callable[[], None] | None, told: str
) -> None:
    """Not by each process, and not again when torchrun starts them again: that mends nothing."""
    with agent() as where:
        for _ in range(2):
            words = arguments(recipe, tmp_path / "run", setting)
            assert processes(count, words, tmp_path / "output", before, **where) == [2] * count
    said = (tmp_path / "output").read_text(encoding="utf-8")
    assert said.count(told) == 1, said
    assert said.count("regard: ") == 2, said
    assert said.splitlines()[-1] == "regard: started again, and ended: the mistake that was told before needs mending"


def test_cuda_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UsageError, match=r"training\.device = 'cuda', but torch sees no CUDA device"):
        find_device(Training(device="cuda"))
