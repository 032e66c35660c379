"""Ctrl-C and SIGTERM: the update is finished, saved, and the command to go on is told."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from regard.training import stopping
from regard.training.stopping import StopRequest
from tests.training.toy import PATIENCE, arguments, command, contents, finish, progress, start, train, wait_for

ENDLESS = ("training.updates=1_000_000", "training.validate_every=1_000_000", "training.checkpoint_every=0")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_is_a_request(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with StopRequest() as stop:
        assert not stop.asked
        signal.raise_signal(number)
        assert stop.asked
        signal.raise_signal(number)  # as torchrun passes it on
    assert signal.getsignal(number) is before


def test_a_later_second_signal_acts_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background ignores
    with StopRequest() as stop:
        signal.raise_signal(signal.SIGTERM)
        now = time.monotonic()
        monkeypatch.setattr(stopping.time, "monotonic", lambda: now + 2 * stopping.SAME)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert stop.asked
    signal.signal(signal.SIGINT, before)


def test_no_handlers_outside_the_main_thread() -> None:
    asked: list[bool] = []

    def use() -> None:
        with StopRequest() as stop:
            asked.append(stop.asked)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert asked == [False]


def under_way(run: Path) -> bool:
    return (run / "metrics.jsonl").is_file() and '"update": 50' in (run / "metrics.jsonl").read_text(encoding="utf-8")


def goes_on_equally(recipe: Path, run: Path, straight: Path) -> None:
    """Ten more updates are what they would have been."""
    updates = f"training.updates={progress(run)['update'] + 10}"
    train(recipe, run, *ENDLESS, updates)
    train(recipe, straight, *ENDLESS, updates)
    assert contents(run) == contents(straight)


@pytest.mark.slow
def test_control_c_saves_and_leaves(recipe: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = command("-m", "regard", *arguments(recipe, run, *ENDLESS))
    try:
        wait_for(lambda: under_way(run), still=lambda: process.poll() is None)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    assert f"stopped and saved. Go on with: regard train {recipe} --run {run}" in output.replace("\n", " ")
    assert progress(run)["update"] >= 50
    goes_on_equally(recipe, run, tmp_path / "straight")


@pytest.mark.slow
def test_sigterm_saves_and_leaves(recipe: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = start(arguments(recipe, run, *ENDLESS), tmp_path / "output")
    wait_for(lambda: under_way(run), still=process.is_alive)
    process.terminate()
    assert finish(process) == 0, (tmp_path / "output").read_text()
    assert "stopped and saved" in (tmp_path / "output").read_text(encoding="utf-8")
    goes_on_equally(recipe, run, tmp_path / "straight")


def never_finish(marker: Path) -> None:
    """The third part is computed for ever."""
    from regard.tasks.translation.training import TranslationTraining

    original, count = TranslationTraining.loss, 0

    def loss(self: TranslationTraining, model: Any, batch: Any) -> Any:
        nonlocal count
        count += 1
        if count == 3:
            marker.touch()
            time.sleep(PATIENCE)
        return original(self, model, batch)

    TranslationTraining.loss = loss  # type: ignore[method-assign]


@pytest.mark.slow
def test_the_second_control_c_ends_at_once(recipe: Path, tmp_path: Path) -> None:
    process = start(
        arguments(recipe, tmp_path / "run", *ENDLESS), tmp_path / "output", never_finish, tmp_path / "hangs"
    )
    wait_for((tmp_path / "hangs").exists, still=process.is_alive)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGINT)
    process.join(2 * stopping.SAME)
    assert process.is_alive(), "the first is a request, and the update is not finished"
    os.kill(process.pid, signal.SIGINT)
    assert finish(process) == 130
    assert "Traceback" not in (tmp_path / "output").read_text(encoding="utf-8")
    assert not list((tmp_path / "run").rglob("*.tmp"))
