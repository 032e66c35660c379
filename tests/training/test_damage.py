"""Damaged and missing files of a run: noticed, told, and made good where that is possible; nothing is overwritten otherwise."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.console import Console
from safetensors.torch import save_file

import regard
from regard import files
from regard.checkpoint import read, write
from regard.errors import CheckpointError, DamagedError, DataError
from regard.training.distributed import ALONE
from regard.training.log import TrainingLog
from regard.training.loop import Loop
from regard.training.run_folder import MICRO_BATCHES, RunFolder
from regard.training.training_state import Progress
from tests.training.stand_in import SETTINGS, Regression, equal, small, weights
from tests.training.stand_in import run as train_small
from tests.training.toy import contents, train

LAST, PREVIOUS = "checkpoints/last.safetensors", "checkpoints/previous.safetensors"
BASIS = {MICRO_BATCHES: "1"}


def go_on(run: Path, updates: int | None = None) -> tuple[Loop, str]:
    """A new loop from what the folder holds, trained to so many updates if asked → it, and what was said."""
    said: list[str] = []
    settings = replace(SETTINGS, updates=updates or SETTINGS.updates)

    def publish(mean: dict[str, torch.Tensor], progress: Progress) -> None:
        write(run / "model.safetensors", mean, {"provenance": str(progress.update)})

    folder = RunFolder(run, settings, ALONE, BASIS, publish, say=said.append)
    training = Loop(small(), Regression(), settings, ALONE, folder)
    if updates is not None:
        with TrainingLog(run, settings, training.progress, console=Console(file=io.StringIO())) as log:
            training.run(log)
    return training, "\n".join(said)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12 updates, saved after 3, 4, 6, 8, 9 and 12; to be copied."""
    return go_on(tmp_path_factory.mktemp("trained"), updates=12)[0].folder.path.parent


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> dict[str, torch.Tensor]:
    """The weights after 20 updates without a break."""
    return weights(train_small(tmp_path_factory.mktemp("straight"), updates=20)[0].model)


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "run")


def files_in(run: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}


def test_a_flipped_bit_anywhere_is_noticed(run: Path) -> None:
    content, chance = (run / LAST).read_bytes(), random.Random(1)
    header = 8 + int.from_bytes(content[:8], "little")
    places = [*range(8), *chance.sample(range(8, header), 50), *chance.sample(range(header, len(content)), 30)]
    for place in places:
        flipped = bytearray(content)
        flipped[place] ^= 1 << chance.randrange(8)
        (run / LAST).write_bytes(flipped)
        training, said = go_on(run)
        assert training.progress.update == 9, f"byte {place} of {header} + {len(content) - header}"
        assert f"Going on from {run / PREVIOUS} of update 9: " in said


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def overwrite(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-64] + bytes(255 - byte for byte in content[-64:]))


def edit(path: Path, **progress: Any) -> None:
    """As somebody with regard at hand would: the checksum fits."""
    tensors, metadata = read(path)
    told = {**json.loads(metadata["progress"]), **progress}
    write(path, tensors, {**metadata, "progress": json.dumps(told)})


WAYS: dict[str, Callable[[Path], None]] = {
    "cut": cut,
    "overwritten": overwrite,
    "deleted": Path.unlink,
    "empty": lambda path: path.write_bytes(b"") and None,
    "text": lambda path: path.write_text("{}") and None,
    "negative": lambda path: edit(path, position=[0, -1]),
    "beyond": lambda path: edit(path, position=[0, 10**6]),
    "another epoch": lambda path: edit(path, position=[40, 0]),
    "half a batch": lambda path: edit(path, position=[0, 1.5]),
    "no position": lambda path: edit(path, position=None),
    "no update": lambda path: edit(path, update=-3),
    "another update": lambda path: edit(path, update=11),
    "no number": lambda path: edit(path, loss_sum=float("nan")),
    "odd snapshots": lambda path: edit(path, snapshots=[[-1, 0.5]]),
    "nobody's word": lambda path: edit(path, invented=1),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_run_goes_on_from_the_checkpoint_before(run: Path, straight: dict[str, torch.Tensor], way: str) -> None:
    WAYS[way](run / LAST)
    training, said = go_on(run, updates=20)
    assert equal(weights(training.model), straight), "to the bit"
    assert "of update 9: " in said
    if way == "overwritten":
        assert "3 updates are computed again" in said
    again, said = go_on(run)
    assert (again.progress.update, said) == (20, ""), "and all is well afterwards"


def test_what_was_lost_is_guessed_where_it_is_not_told(run: Path) -> None:
    (run / LAST).write_bytes(b"nothing to read")
    assert "at most 3 updates are computed again" in go_on(run)[1]


def test_a_damaged_checkpoint_never_takes_the_place_of_a_whole_one(
    run: Path, straight: dict[str, torch.Tensor]
) -> None:
    overwrite(run / LAST)
    go_on(run, updates=12)
    overwrite(run / LAST)
    training, said = go_on(run, updates=20)
    assert "of update 9: " in said
    assert equal(weights(training.model), straight)


@pytest.mark.parametrize(
    "ways", [("cut", "overwritten"), ("deleted", "cut"), ("overwritten", "deleted"), ("beyond", "negative")]
)
def test_nothing_whole_is_left(run: Path, ways: tuple[str, str]) -> None:
    for name, way in zip((LAST, PREVIOUS), ways, strict=True):
        WAYS[way](run / name)
    before = files_in(run)
    with pytest.raises(
        CheckpointError, match=r"no checkpoint in .* is whole.*Nothing was overwritten. Put back a copy"
    ):
        go_on(run)
    assert files_in(run) == before


def test_nothing_is_begun_anew_over_a_model(run: Path) -> None:
    (run / LAST).unlink()
    (run / PREVIOUS).unlink()
    with pytest.raises(
        CheckpointError, match=r"snapshots, but .*last\.safetensors is gone.*delete .*run to begin anew"
    ):
        go_on(run)
    shutil.rmtree(run / "checkpoints")
    (run / "model.safetensors").write_bytes(b"somebody's")
    with pytest.raises(CheckpointError, match=r"holds a model .*last\.safetensors is gone"):
        go_on(run)


def test_a_run_without_a_checkpoint_says_that_it_begins_anew(tmp_path: Path) -> None:
    assert go_on(tmp_path)[1] == ""
    (tmp_path / "config.toml").touch()
    training, said = go_on(tmp_path)
    assert training.progress.update == 0
    assert "training begins anew" in said


@pytest.mark.parametrize("way", ["cut", "overwritten", "deleted"])
def test_a_damaged_snapshot_stops_nothing(run: Path, straight: dict[str, torch.Tensor], way: str) -> None:
    WAYS[way](run / "checkpoints" / "weights-00000008.safetensors")
    training, said = go_on(run, updates=20)
    assert "weights-00000008.safetensors" in said
    assert "The average goes on without the snapshot of update 8, of 1." in said
    assert equal(weights(training.model), straight)
    assert [update for update, _ in training.progress.snapshots] == [16, 20]


def test_files_that_changed_places(run: Path) -> None:
    """Each is whole, but not what its name says."""
    checkpoints = run / "checkpoints"
    mean = {name: tensor.clone() for name, tensor in read(run / "model.safetensors")[0].items()}
    shutil.copy(checkpoints / "weights-00000008.safetensors", run / "model.safetensors")
    _, said = go_on(run)
    assert "model.safetensors is another file: it has no provenance." in said
    assert equal(read(run / "model.safetensors")[0], mean)
    shutil.copy(checkpoints / "weights-00000012.safetensors", checkpoints / "weights-00000008.safetensors")
    _, said = go_on(run)
    assert "is another file: no snapshot of update 8.\nThe average goes on without" in said
    shutil.copy(checkpoints / "weights-00000012.safetensors", run / LAST)
    assert go_on(run)[0].progress.update == 9


def test_a_snapshot_that_its_checkpoint_holds_is_made_again(run: Path) -> None:
    path = run / "checkpoints" / "weights-00000012.safetensors"
    before = {name: tensor.clone() for name, tensor in read(path)[0].items()}
    overwrite(path)
    assert "weights-" not in go_on(run)[1]
    assert equal(read(path)[0], before)


def test_a_snapshot_that_goes_while_training(tmp_path: Path) -> None:
    said: list[str] = []
    folder = RunFolder(tmp_path, SETTINGS, ALONE, BASIS, say=said.append)
    training = Loop(small(), Regression(), SETTINGS, ALONE, folder)
    training.on_update = lambda facts: folder.snapshot(4).unlink() if facts["update"] == 5 else None
    with TrainingLog(tmp_path, SETTINGS, training.progress, console=Console(file=io.StringIO())) as log:
        training.run(log)
    assert training.progress.update == 12
    assert "goes on without the snapshot of update 4" in said[0]


def test_checkpoints_from_before_there_were_checksums(run: Path, straight: dict[str, torch.Tensor]) -> None:
    for path in (run / "checkpoints").iterdir():
        tensors, metadata = read(path)
        metadata.pop("fixed", None)
        save_file({name: tensor.clone() for name, tensor in tensors.items()}, path, metadata)
    (run / PREVIOUS).unlink()
    training, said = go_on(run, updates=20)
    assert said.startswith("the model is ")  # and nothing else
    assert said.count("\n") == 0
    assert equal(weights(training.model), straight)


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no links here")

    monkeypatch.setattr(files.os, "link", refuse)
    train_small(tmp_path)
    assert json.loads(read(tmp_path / PREVIOUS)[1]["progress"])["update"] == 9
    assert json.loads(read(tmp_path / LAST)[1]["progress"])["update"] == 12


@pytest.mark.parametrize("moment", ["link", "last", "previous"])
def test_both_are_whole_and_two_files_at_every_moment(run: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """Stopped before each call that puts a new one in place: no single damage reaches both."""
    training, _ = go_on(run)
    link, put = os.link, os.replace

    def stop(call: Callable[..., None], name: str, source: Any, target: Any) -> None:
        if name == moment:
            raise KeyboardInterrupt
        call(source, target)

    monkeypatch.setattr(os, "link", lambda *paths: stop(link, "link", *paths))
    monkeypatch.setattr(os, "replace", lambda *paths: stop(put, Path(paths[1]).name.split(".")[0], *paths))
    with pytest.raises(KeyboardInterrupt):
        training.folder.save(training.model, training.optimizer, training.progress, training.ema)
    monkeypatch.undo()
    assert (run / LAST).stat().st_ino != (run / PREVIOUS).stat().st_ino
    for name in (LAST, PREVIOUS):
        read(run / name)


def test_a_position_of_another_text() -> None:
    from regard.data.batching import Position, TokenBatches

    batches = TokenBatches(torch.ones(9, 2, dtype=torch.int64).numpy(), 4, 1)
    with pytest.raises(DataError, match=r"no batch 99 in epoch 3.*position is of another run"):
        batches.take(Position(3, 99), 1)


@pytest.fixture(scope="module")
def toy_run(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("toy") / "run"
    train(recipe, run)
    return run


@pytest.mark.parametrize("way", ["overwritten", "deleted"])
def test_a_damaged_model_is_made_again(recipe: Path, toy_run: Path, tmp_path: Path, way: str) -> None:
    run = shutil.copytree(toy_run, tmp_path / "run")
    WAYS[way](run / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"is damaged: its content does not match its checksum|has no model"):
        regard.load(run)
    _, said = train(recipe, run)
    assert "is made again from the snapshots" in said
    assert contents(run) == contents(toy_run)


def test_an_edited_recipe_cannot_pass_as_the_one_that_began(recipe: Path, toy_run: Path, tmp_path: Path) -> None:
    """The person edits the recipe in the run folder, and trains that."""
    run = shutil.copytree(toy_run, tmp_path / "run")
    stored = run / "config.toml"
    stored.write_text(stored.read_text(encoding="utf-8").replace("seed = 1", "seed = 2"), encoding="utf-8")
    where = f"data.prepared={recipe.parent / 'prepared'}", f"data.folder={recipe.parent}"
    with pytest.raises(CheckpointError, match=r"begun with other settings \(training\.seed: 1 → 2\)"):
        train(stored, run, "training.updates=15", *where)
    stored.write_text("not [toml", encoding="utf-8")  # nor does a damaged one stop the recipe itself
    assert train(recipe, run, "training.updates=15")[0].progress.update == 15
    assert "seed = 1" in stored.read_text(encoding="utf-8")


def test_a_model_with_a_flipped_bit(toy_run: Path, tmp_path: Path) -> None:
    content, chance = (toy_run / "model.safetensors").read_bytes(), random.Random(2)
    path = tmp_path / "model.safetensors"
    header = 8 + int.from_bytes(content[:8], "little")
    for place in [*chance.sample(range(8, header), 25), *chance.sample(range(header, len(content)), 25)]:
        flipped = bytearray(content)
        flipped[place] ^= 1 << chance.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(DamagedError):
            read(path)
