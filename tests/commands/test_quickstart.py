"""`regard quickstart`; tests/test_readme.py runs it whole."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.commands.calling import succeed


def test_a_quickstart_that_stopped_says_the_whole_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = SimpleNamespace(reason="interrupted")
    monkeypatch.setattr("regard.experiments.quickstart.train", lambda *given, **more: stopped)
    command = ("quickstart", "--run", tmp_path / "a b", "--set", "training.updates=9")
    assert succeed(*command).lines[-1].endswith(f"regard quickstart --run '{tmp_path}/a b' --set training.updates=9")
