"""`regard ablate`: what is refused before anything is trained; tests/test_ablate.py trains."""

from __future__ import annotations

from pathlib import Path

from tests.commands.calling import fail


def test_mistakes(folder: Path, tmp_path: Path) -> None:
    command = ("ablate", folder / "toy.toml", "--run", tmp_path / "runs")
    said = fail(*command, "--vary", "model.heads", "--vary", "training.seed=1,2")
    assert "cannot read --vary 'model.heads'" in said
    assert "for more seeds of every row there is --seeds" in said
    assert "no test set 'tests'. Did you mean 'test'?" in fail(*command, "--vary", "model.heads=1", "--test", "tests")
    assert not (tmp_path / "runs").exists()
