"""A run that was killed at any moment goes on to the same bits: weights, optimizer, averages, metrics."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.training.toy import arguments, contents, finish, start, train, wait_for

LONG = (
    "training.updates=110", "training.validate_every=25", "training.checkpoint_every=3", "training.probes=2",
    "training.probe_every=10",
)  # fmt: skip
SHORT = ("training.updates=8", "training.validate_every=4", "training.checkpoint_every=3", "training.average=1")
WRITES_OF_SHORT = 8  # last of 3 · snapshot, model and last of 4 · last of 6 · snapshot, model and last of 8


@pytest.fixture(scope="module")
def straight_short(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    run = tmp_path_factory.mktemp("straight") / "run"
    train(recipe, run, *SHORT)
    return contents(run)


@pytest.mark.slow
def test_killed_again_and_again(recipe: Path, tmp_path: Path) -> None:
    chance = random.Random(7)
    run, last = tmp_path / "run", tmp_path / "run" / "checkpoints" / "last.safetensors"
    kills = 0

    def seen() -> int:
        return last.stat().st_mtime_ns if last.exists() else 0

    while True:
        process = start(arguments(recipe, run, *LONG), tmp_path / "output")
        for _ in range(chance.randint(1, 4)):  # checkpoints to live through
            before = seen()
            wait_for(lambda before=before: seen() != before, still=process.is_alive)  # type: ignore[misc]
        process.join(chance.uniform(0, 0.05))
        if kills < 6:
            process.kill()
        if finish(process) == 0:
            break
        assert process.exitcode == -signal.SIGKILL, (tmp_path / "output").read_text()
        kills += 1
    assert kills >= 3
    train(recipe, tmp_path / "straight", *LONG)
    found, wanted = contents(run), contents(tmp_path / "straight")
    assert [line["update"] for line in wanted["metrics.jsonl"]] == [25, 50, 50, 75, 100, 100, 110, 110]
    assert found == wanted


def die_while_writing(number: int) -> None:
    """Write half of the n-th file, and no more."""
    import regard.checkpoint

    whole, count = regard.checkpoint.save_file, 0

    def half(tensors: Any, path: Path, metadata: Any) -> None:
        nonlocal count
        count += 1
        whole(tensors, path, metadata)
        if count == number:
            os.truncate(path, path.stat().st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)

    regard.checkpoint.save_file = half


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, WRITES_OF_SHORT + 1))
def test_killed_while_writing(recipe: Path, tmp_path: Path, number: int, straight_short: dict[str, Any]) -> None:
    words = arguments(recipe, tmp_path / "run", *SHORT)
    killed = finish(start(words, tmp_path / "output", die_while_writing, number))
    assert killed == -signal.SIGKILL, (tmp_path / "output").read_text()
    assert len(list((tmp_path / "run").rglob("*.tmp"))) == 1
    train(recipe, tmp_path / "run", *SHORT)
    assert contents(tmp_path / "run") == straight_short


def die_before_deleting(number: int) -> None:
    """Die just before the n-th deletion: of a temporary file that was renamed into its place, or of an old snapshot."""
    count = 0

    def watch(event: str, given: Any) -> None:
        nonlocal count
        if event == "os.remove" and str(given[0]).endswith((".tmp", ".safetensors")):
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 1 + WRITES_OF_SHORT + 2))  # the recipe is written too, a snapshot deleted
def test_killed_between_files(recipe: Path, tmp_path: Path, number: int, straight_short: dict[str, Any]) -> None:
    words = arguments(recipe, tmp_path / "run", *SHORT)
    killed = finish(start(words, tmp_path / "output", die_before_deleting, number))
    assert killed == -signal.SIGKILL, (tmp_path / "output").read_text()
    train(recipe, tmp_path / "run", *SHORT)
    assert contents(tmp_path / "run") == straight_short
