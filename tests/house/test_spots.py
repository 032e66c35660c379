"""The proof that a task is one folder and one row: one without text, from outside, does all that the package's own do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import regard
from regard.checkpoint import read
from regard.errors import UsageError
from regard.tasks.registry import forget_task, register_task
from tests.commands.calling import fail, succeed
from tests.house.spots import TASK, recipe_text, write_pictures
from tests.serve.conftest import running


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    register_task(TASK)
    folder = tmp_path_factory.mktemp("spots")
    for seed, (name, count) in enumerate({"train": 200, "valid": 40, "test": 40}.items()):
        write_pictures(folder / f"{name}.txt", count, seed)
    (folder / "spots.toml").write_text(recipe_text(), encoding="utf-8")
    yield folder
    forget_task("spots")


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    overrides = ("--set", f"data.prepared={folder / 'prepared'}")
    assert "200 pictures" in succeed("train", folder / "spots.toml", "--run", folder / "run", *overrides).out
    return folder / "run"


def test_it_learns_and_is_evaluated(run: Path) -> None:
    assert "own: 100.0 % found" in succeed("evaluate", run).out
    assert regard.evaluate(run)["own"].stored()[0]["value"] == 100.0
    assert "accuracy" in succeed("curve", run).out


def test_a_run_that_stopped_goes_on_to_the_same_weights(run: Path, folder: Path) -> None:
    prepared = f"data.prepared={folder / 'prepared'}"
    for updates in (20, 60):
        regard.train(
            folder / "spots.toml", run=folder / "again", overrides=[prepared, f"training.updates={updates}"], show=False
        )
    one, other = (read(each / "checkpoints" / "last.safetensors")[0] for each in (run, folder / "again"))
    assert all(one[name].equal(other[name]) for name in one if name.startswith("model."))


def test_its_file_carries_its_assets_and_nothing_of_text(run: Path) -> None:
    _, metadata = read(run / "model.safetensors")
    assert "corners" in metadata["assets"]
    assert "tokenizer" not in metadata["assets"] + metadata["recipe"]
    assert regard.load(run, task="find-spots").corners[0] == "north-west"
    with pytest.raises(UsageError, match="cannot translate: its task is 'spots'"):
        regard.load(run, task="translation")


def test_it_is_viewed_prepared_and_run_dry(run: Path, folder: Path) -> None:
    assert "sees a picture" in succeed("view", run, "a picture").out
    overrides = ("--set", f"data.prepared={folder / 'prepared'}")
    assert "ready in" in succeed("prepare", folder / "spots.toml", *overrides).out
    assert "with 4 corners" in succeed("train", folder / "spots.toml", "--dry-run", *overrides).out
    assert "is of the task 'translation'" in fail("view", run, "a picture", "--beam", 3)
    for verb in ("embed", "neighbours"):  # which it does not offer
        assert f"there is no `{verb}` for models of the task 'spots'" in fail(verb, run, "a picture")


def test_it_is_served(run: Path) -> None:
    with running({"eye": regard.load(run)}) as server:
        picture = [0.0] * 16
        picture[0] = picture[1] = picture[4] = picture[5] = 1.0
        assert server.post("/find", picture=picture).json() == {"model": "eye", "corners": ["north-west"]}
        assert "no such model here makes vectors" in server.post("/embed", text="a", model="eye").json()["detail"]
