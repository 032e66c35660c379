"""Ctrl-C, SIGTERM and a closed terminal: the update is finished, saved, and the command to go on is told."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.training import stopping
from regard.training.stopping import StopRequest
from tests.training.toy import PATIENCE, arguments, command, contents, finish, progress, start, train, wait_for

ENDLESS = ("training.updates=1_000_000", "training.validate_every=1_000_000", "training.checkpoint_every=0")


@pytest.fixture
def handler() -> Iterator[Callable[[signal.Signals, Any], None]]:
    """Sets what this process does about a signal, whatever it was born with; all is as before afterwards."""
    before: dict[signal.Signals, Any] = {}

    def handle(number: signal.Signals, how: Any) -> None:
        before[number] = signal.signal(number, how)

    yield handle
    for number, how in before.items():
        signal.signal(number, how)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_is_a_request(number: signal.Signals, handler: Callable[[signal.Signals, Any], None]) -> None:
    handler(number, signal.SIG_DFL)  # nohup ignores SIGHUP, and a background job SIGINT
    with StopRequest() as stop:
        assert not stop.asked
        signal.raise_signal(number)
        assert stop.asked
        signal.raise_signal(number)  # as torchrun passes it on
    assert signal.getsignal(number) == signal.SIG_DFL


@pytest.mark.parametrize("found", [signal.default_int_handler, signal.SIG_IGN], ids=["foreground", "background"])
def test_a_later_second_signal_acts_as_usual(
    found: Any, handler: Callable[[signal.Signals, Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where SIGINT was found ignored, as a job in the background is born."""
    handler(signal.SIGINT, found)
    with StopRequest() as stop:
        signal.raise_signal(signal.SIGTERM)
        now = time.monotonic()
        monkeypatch.setattr(stopping.time, "monotonic", lambda: now + 2 * stopping.SAME)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert stop.asked


def test_nohup_stays_deaf_to_the_terminals_end(handler: Callable[[signal.Signals, Any], None]) -> None:
    handler(signal.SIGHUP, signal.SIG_IGN)
    with StopRequest() as stop:
        signal.raise_signal(signal.SIGHUP)
        assert not stop.asked
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


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
    assert process.returncode == 130, errors
    assert f"stopped and saved. Go on with: regard train {recipe} --run {run}" in output.replace("\n", " ")
    assert progress(run)["update"] >= 50
    goes_on_equally(recipe, run, tmp_path / "straight")


@pytest.mark.slow
def test_sigterm_saves_and_leaves(recipe: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = start(arguments(recipe, run, *ENDLESS), tmp_path / "output")
    wait_for(lambda: under_way(run), still=process.is_alive)
    process.terminate()
    assert finish(process) == 130, (tmp_path / "output").read_text()
    assert "stopped and saved" in (tmp_path / "output").read_text(encoding="utf-8")
    goes_on_equally(recipe, run, tmp_path / "straight")


def take_terminal(name: str) -> None:
    """Be what this terminal runs, and is told of its end, also where the tests run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.setsid()
    terminal = os.open(name, os.O_RDWR)
    for output in (1, 2):
        os.dup2(terminal, output)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")  # those it has believe they are files


@pytest.mark.slow
def test_a_closed_terminal_saves_and_leaves(recipe: Path, tmp_path: Path) -> None:
    """Nothing can be said any more, and trying to must not come before the checkpoint."""
    run = tmp_path / "run"
    ours, theirs = os.openpty()
    process = start(arguments(recipe, run, *ENDLESS), tmp_path / "output", take_terminal, os.ttyname(theirs))

    def read_until_under_way() -> bool:
        while select.select([ours], [], [], 0)[0]:  # or its progress would fill the terminal and wait
            os.read(ours, 65_536)
        return under_way(run)

    wait_for(read_until_under_way, still=process.is_alive)
    os.close(theirs)
    os.close(ours)
    assert finish(process) == 130
    assert progress(run)["update"] >= 50


def never_finish(marker: Path) -> None:
    """The third part is computed for ever; and SIGINT is ignored at birth, as by a script's job in the background."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
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
