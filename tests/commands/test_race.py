"""`regard race`: what is refused before anybody runs; tests/test_race.py runs races."""

from __future__ import annotations

from pathlib import Path

from tests.commands.calling import fail


def test_mistakes(folder: Path, tmp_path: Path) -> None:
    recipe = folder / "toy.toml"
    assert "--parameters and --minutes are two ways" in fail("race", recipe, "--parameters", 9_999, "--minutes", 1)
    assert "needs somebody to run: --architectures" in fail("race", recipe, "--architectures", " ")
    assert "Did you mean 'conv'?" in fail("race", recipe, "--architectures", "cnv,rnn")
    assert "should end in .html" in fail("race", recipe, "-o", tmp_path / "page.png")
