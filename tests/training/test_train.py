"""`regard.train`: a recipe from Python, without a terminal."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

import regard
from regard.config import recipes
from regard.errors import CheckpointError, ConfigError, UsageError
from regard.training import log
from tests.training.toy import contents, progress, train

Facts = dict[str, Any]


@pytest.fixture(scope="module")
def straight(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed."""
    folder = tmp_path_factory.mktemp("straight") / "run"
    regard.train(recipe, run=folder, show=False)
    return folder


def tables(recipe: Path) -> Facts:
    """A recipe as somebody would write it in Python, its files named in full."""
    given = recipes.to_dict(recipes.load(recipe))
    for name in ("train", "valid"):
        given["data"][name] = [str(recipe.parent / f"{name}.tsv")]
    return {**given, "data": {**given["data"], "folder": "."}}


def test_a_run_from_tables(recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    updates: list[Facts] = []
    validations: list[Facts] = []
    given = tables(recipe)
    run = regard.train(
        given,
        overrides={"data.test.mine": ["valid.tsv"], "training": {"updates": 6}},
        data=recipe.parent,
        on_update=updates.append,
        on_validation=validations.append,
        show=False,
    )
    assert given == tables(recipe), "the caller's tables stay as they are"
    assert (run.folder, run.reason, run.progress.update) == (Path("runs/toy"), "done", 6)
    assert [facts["update"] for facts in updates] == [1, 2, 3, 4, 5, 6]
    assert updates[0].keys() == {"update", "loss", "tokens", "gradient_norm", "learning_rate", "seconds"}
    assert [facts["update"] for facts in validations] == [5, 6]
    of_validation = [line for line in run.metrics if line["kind"] == "valid"]
    assert [line["bleu"] for line in of_validation] == [facts["bleu"] for facts in validations]
    assert isinstance(run.model, regard.Translator)
    assert run.model is run.model
    assert run.evaluate()["mine"].stored()[0]["name"] == "BLEU"
    assert run.view("ba de").parts[0].weights
    assert run.page() == Path("runs/toy/curve.html")
    assert "curve" in Path("runs/toy/curve.html").read_text(encoding="utf-8")
    assert "done" in repr(run)


def test_tables_and_file_are_the_same_run(recipe: Path, straight: Path, tmp_path: Path) -> None:
    """Also a Recipe is; and who listens changes nothing."""
    regard.train(recipes.load(recipe), run=tmp_path / "run", show=False, on_update=lambda facts: None)
    assert contents(tmp_path / "run") == contents(straight)


def stopped_by(stop: Callable[[], None], at: int) -> Callable[[Facts], None]:
    return lambda facts: stop() if facts["update"] == at else None


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("stop", [interrupt, lambda: signal.raise_signal(signal.SIGINT)], ids=["raised", "signal"])
def test_interrupting_saves_and_returns(recipe: Path, straight: Path, tmp_path: Path, stop: Callable[[], None]) -> None:
    run = regard.train(recipe, run=tmp_path / "run", show=False, on_update=stopped_by(stop, 3))
    assert (run.reason, run.progress.update) == ("interrupted", 4)
    assert progress(tmp_path / "run")["update"] == 4
    with pytest.raises(CheckpointError, match="has not come to a first validation"):
        _ = run.model
    assert regard.train(recipe, run=tmp_path / "run", show=False).reason == "done"
    assert contents(tmp_path / "run") == contents(straight)


def test_in_another_thread(recipe: Path, straight: Path, tmp_path: Path) -> None:
    """Where no signal can be caught."""
    found: list[str] = []

    def use() -> None:
        listeners = (stopped_by(interrupt, 3), None)
        found.extend(
            regard.train(recipe, run=tmp_path / "run", show=False, on_update=each).reason for each in listeners
        )

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert found == ["interrupted", "done"]
    assert contents(tmp_path / "run") == contents(straight)


@pytest.mark.parametrize("listener", ["on_update", "on_validation"])
def test_what_a_listener_raises_is_raised_after_a_checkpoint(
    recipe: Path, straight: Path, tmp_path: Path, listener: str
) -> None:
    heard: list[int] = []

    def fail(facts: Facts) -> None:
        heard.append(facts["update"])
        if facts["update"] == 5:
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        regard.train(recipe, run=tmp_path / "run", show=False, **{listener: fail})  # type: ignore[arg-type]
    assert heard[-1] == 5, "not called again"
    assert progress(tmp_path / "run")["update"] == 6
    regard.train(recipe, run=tmp_path / "run", show=False)
    assert contents(tmp_path / "run") == contents(straight)


def test_it_shows_how_it_goes_or_nothing(recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    regard.train(recipe, run=tmp_path / "run", overrides=["training.updates=1"], show=False)
    assert capsys.readouterr() == ("", "")
    regard.train(recipe, run=tmp_path / "run", overrides=["training.updates=2"])
    assert "going on after update 1 of 2" in capsys.readouterr().out


def test_a_bar_in_a_notebook_needs_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Console(force_jupyter=True)
    for found in (None, SimpleNamespace()):
        monkeypatch.setattr(log, "find_spec", lambda name, found=found: found)
        assert log.in_notebook(notebook) is (found is not None)
    assert not log.in_notebook(Console(file=sys.stderr))


@pytest.mark.parametrize(
    ("given", "options", "error", "message"),
    [
        (3, {}, UsageError, "a recipe is a TOML file, nested tables or a Recipe, not 3"),
        ({"modle": {}}, {}, ConfigError, r"unknown setting 'modle' \(the recipe\)\. Did you mean 'model'"),
        ({}, {}, ConfigError, "data.train is not set"),
        (
            {},
            {"overrides": {"model.heads": "two"}},
            ConfigError,
            r"model.heads must be a whole number.*--set model.heads",
        ),
        ({}, {"data": "nowhere"}, ConfigError, "no folder nowhere to take data from"),
        ("nowhere.toml", {}, ConfigError, "no recipe at nowhere.toml"),
    ],
)
def test_mistakes_are_told(given: Any, options: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        regard.train(given, **options)


def test_the_command_line_says_the_same(recipe: Path, straight: Path, tmp_path: Path) -> None:
    run, said = train(recipe, tmp_path / "run")
    assert run.first
    assert "model  transformer" in said
    assert contents(tmp_path / "run") == contents(straight)
