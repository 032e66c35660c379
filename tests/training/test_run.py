"""A run folder and its recipe: what may change, what may not, and what is left untouched."""

from __future__ import annotations

import errno
import json
import resource
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import regard.checkpoint
from regard.checkpoint import read, store_scores
from regard.config import recipes
from regard.errors import CheckpointError, ConfigError, RegardError, TrainingError, UsageError
from regard.files import alone_in
from regard.runs import initial_model
from regard.tasks.registry import find_task, prepare
from regard.tasks.trained import load_trained
from regard.tasks.translation.training import TranslationTraining
from tests.training.toy import arguments, contents, finish, progress, start, train, write_corpus


def update_numbers(folder: Path) -> list[int]:
    return sorted(int(path.stem.removeprefix("weights-")) for path in (folder / "checkpoints").glob("weights-*"))


def test_a_run_leaves_a_model_and_little_else(recipe: Path, tmp_path: Path) -> None:
    outcome, said = train(recipe, tmp_path / "run")
    assert outcome.reason == "done"
    assert sorted(str(path.relative_to(tmp_path / "run")) for path in (tmp_path / "run").rglob("*")) == [
        "checkpoints", "checkpoints/last.safetensors", "checkpoints/previous.safetensors",
        "checkpoints/weights-00000005.safetensors", "checkpoints/weights-00000010.safetensors",
        "checkpoints/weights-00000012.safetensors", "config.toml", "lock", "metrics.jsonl", "model.safetensors",
    ]  # fmt: skip
    provenance = load_trained(tmp_path / "run").provenance
    assert provenance["versions"]["regard"] == regard.__version__
    assert provenance["updates"] == 12
    assert provenance["weights"]["updates"][-1] <= 12
    assert provenance["data"].keys() == {"train.tsv", "valid.tsv"}
    assert "10,688 parameters, on cpu" in said
    assert not [character for character in said if ord(character) < 32 and character != "\n"]


def test_the_best_loss_is_told_as_a_loss(recipe: Path, tmp_path: Path) -> None:
    keep_best = ("training.keep=best", "training.average=1", "training.average_of=best")
    train(recipe, tmp_path / "run", "training.metric=loss", *keep_best)
    told = load_trained(tmp_path / "run").provenance
    lines = contents(tmp_path / "run")["metrics.jsonl"]
    losses = {line["loss"]: line["update"] for line in lines if line["kind"] == "valid"}
    assert told["validation"] == {"metric": "loss", "value": min(losses)}
    assert told["weights"]["updates"] == [losses[min(losses)]]
    assert losses[min(losses)] in update_numbers(tmp_path / "run")
    assert len(update_numbers(tmp_path / "run")) <= 2  # and the one that was the best before


def test_the_gradients_of_parts_add_up(recipe: Path) -> None:
    """Padded with other neighbours, sentences of unequal lengths count the same."""
    settings = recipes.load(recipe, ["model.dropout=0", "model.attention_dropout=0"])
    prepared = prepare(settings, show=False)
    task = TranslationTraining(settings, prepared, 1, torch.device("cpu"))
    model, _ = initial_model(settings, find_task(settings.task), prepared)

    def gradients(*parts: range) -> list[torch.Tensor]:
        model.zero_grad()
        for rows in parts:
            pairs = [(task.train.source(row), task.train.target(row)) for row in rows]
            task.loss(model, pairs).smoothed.backward()
        return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]

    apart, together = gradients(range(3), range(3, 20)), gradients(range(20))
    assert len(apart) == len(list(model.parameters()))
    for one, other in zip(apart, together, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5 * float(other.abs().max()) + 1e-6)


def test_a_finished_run_says_so_and_changes_nothing(recipe: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(recipe, run)
    store_scores(run / "model.safetensors", {"test": [{"name": "BLEU"}]})
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.rglob("*") if path.is_file()}
    outcome, said = train(recipe, run, "training.tensorboard=true", "training.updates=10")
    assert outcome.reason == "done"
    assert "nothing is left to do: this run ended at update 12" in said
    assert before == {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in run.rglob("*") if path.is_file()}


def test_what_may_change_does(recipe: Path, tmp_path: Path) -> None:
    still = ("model.dropout=0", "model.attention_dropout=0")  # two workers drop something else
    train(recipe, tmp_path / "two", "training.updates=10", *still)
    permitted = ("training.updates=12", "training.threads=2", "training.patience=9", "decoding.beam=2")
    outcome, said = train(recipe, tmp_path / "two", *permitted, *still)
    assert "going on after update 10 of 12" in said
    assert outcome.progress.update == 12
    assert "beam = 2" in (tmp_path / "two" / "config.toml").read_text(encoding="utf-8")
    train(recipe, tmp_path / "one", *still)
    one, two = (read(tmp_path / name / "model.safetensors")[0] for name in ("one", "two"))
    torch.testing.assert_close(two, one, rtol=0, atol=1e-6)  # and round differently


def test_what_may_not_change_is_listed(recipe: Path, tmp_path: Path) -> None:
    train(recipe, tmp_path / "run", "training.updates=3", "training.validate_every=3")
    before = contents(tmp_path / "run")
    changes = ("training.seed=2", "model.dropout=0.5", "tokenizer.vocabulary=310", "training.updates=9")
    with pytest.raises(CheckpointError) as caught:
        train(recipe, tmp_path / "run", "training.validate_every=3", *changes)
    message = str(caught.value)
    assert "training.seed: 1 → 2" in message
    assert "model.dropout: 0.2 → 0.5" in message
    assert "tokenizer.vocabulary: 320 → 310" in message
    assert "updates" not in message
    assert "--run" in message
    assert contents(tmp_path / "run") == before


def test_parts_of_an_update_may_not_change(recipe: Path, tmp_path: Path) -> None:
    train(recipe, tmp_path / "run", "training.updates=3", "training.accumulate=2")
    with pytest.raises(
        CheckpointError, match=r"micro-batches of an update \(training\.accumulate × processes\): 2 → 3"
    ):
        train(recipe, tmp_path / "run", "training.accumulate=3")


def test_changed_text_is_noticed(tmp_path: Path) -> None:
    recipe = write_corpus(tmp_path)
    train(recipe, tmp_path / "run", "training.updates=3")
    with (tmp_path / "train.tsv").open("a", encoding="utf-8") as file:
        file.write("ba\tba\n")
    with pytest.raises(CheckpointError, match=r"begun on other data \(.*sha256 of train\.tsv: "):
        train(recipe, tmp_path / "run")


def test_moved_data_is_not_changed_data(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    recipe = write_corpus(tmp_path / "old")
    train(recipe, tmp_path / "run", "training.updates=3")
    (tmp_path / "old").rename(tmp_path / "new")
    moved = tmp_path / "new" / "toy.toml"
    outcome, _ = train(moved, tmp_path / "run", f"data.prepared={tmp_path / 'elsewhere'}")
    assert outcome.progress.update == 12


def test_a_checkpoint_of_another_version(recipe: Path, tmp_path: Path) -> None:
    train(recipe, tmp_path / "run", "training.updates=3")
    last = tmp_path / "run" / "checkpoints" / "last.safetensors"
    tensors, metadata = read(last)
    told = {**json.loads(metadata["progress"]), "invented": 1}
    regard.checkpoint.write(last, tensors, {**metadata, "progress": json.dumps(told)})
    with pytest.raises(CheckpointError, match=r"not written by this version of regard .*invented"):
        train(recipe, tmp_path / "run")


def test_a_damaged_checkpoint(recipe: Path, tmp_path: Path) -> None:
    train(recipe, tmp_path / "run", "training.updates=3")
    last = tmp_path / "run" / "checkpoints" / "last.safetensors"
    last.write_bytes(last.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=r"no checkpoint .* is whole\. cannot read .*last\.safetensors"):
        train(recipe, tmp_path / "run")


def test_a_setting_of_an_older_recipe(recipe: Path, tmp_path: Path) -> None:
    """Where the checkpoint itself does not tell what it was begun with."""
    train(recipe, tmp_path / "run", "training.updates=3")
    last = tmp_path / "run" / "checkpoints" / "last.safetensors"
    tensors, metadata = read(last)
    regard.checkpoint.write(last, tensors, {name: metadata[name] for name in ("progress", "basis")})
    stored = tmp_path / "run" / "config.toml"
    stored.write_text(stored.read_text(encoding="utf-8").replace("warmup = ", "warmth = "), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"training\.warmth.*config\.toml, line \d+.*Did you mean 'training\.warmup'"):
        train(recipe, tmp_path / "run")


def test_a_run_folder_that_cannot_be(recipe: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"cannot make the run folder .*--run"):
        train(recipe, tmp_path / "file" / "run")


def test_not_a_number(recipe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train(recipe, tmp_path / "run", "training.updates=6")
    before, original = contents(tmp_path / "run"), TranslationTraining.loss
    monkeypatch.setattr(
        TranslationTraining,
        "loss",
        lambda *given: type(original(*given))(*(each * float("nan") for each in original(*given))),
    )
    with pytest.raises(TrainingError, match=r"update 7: the loss is nan .* last checkpoint is of update 6"):
        train(recipe, tmp_path / "run")
    after = contents(tmp_path / "run")
    assert {**after, "config.toml": ""} == {**before, "config.toml": ""}


@pytest.fixture(scope="module")
def begun(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of nine updates, to be copied."""
    run = tmp_path_factory.mktemp("begun") / "run"
    train(recipe, run, "training.updates=9")
    return run


@pytest.fixture(scope="module")
def gone_on(recipe: Path, begun: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What that run holds at its end."""
    run = shutil.copytree(begun, tmp_path_factory.mktemp("gone-on") / "run")
    train(recipe, run)
    return contents(run)


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_full_disk(
    recipe: Path, begun: Path, gone_on: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    """The snapshot, the model or the checkpoint of update 10 does not fit."""
    run = shutil.copytree(begun, tmp_path / "run")
    before, original, count = contents(run), regard.checkpoint.save_file, 0

    def save_file(tensors: Any, path: Path, metadata: Any) -> None:
        nonlocal count
        count += 1
        original(tensors, path, metadata)
        if count == failing:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))

    with monkeypatch.context() as patch:
        patch.setattr(regard.checkpoint, "save_file", save_file)
        with pytest.raises(RegardError, match=r"cannot write .*No space left on device.* before is untouched"):
            train(recipe, run)
    assert not list(run.rglob("*.tmp"))
    assert contents(run)["checkpoints/last.safetensors"] == before["checkpoints/last.safetensors"]
    train(recipe, run)
    assert contents(run) == gone_on


def small_files_only(size: int) -> None:
    """As if the disk were full, for real: the system refuses to let a file grow."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@pytest.mark.slow
def test_a_system_that_refuses_to_write(recipe: Path, begun: Path, tmp_path: Path) -> None:
    run, output = shutil.copytree(begun, tmp_path / "run"), tmp_path / "output"
    before = contents(run)
    code = finish(start(arguments(recipe, run), output, small_files_only, 50_000))
    text = output.read_text(encoding="utf-8")
    assert code == 2, text
    assert "Traceback" not in text
    assert "cannot write" in text
    assert not list(run.rglob("*.tmp"))
    assert progress(run)["update"] == 9
    assert contents(run)["checkpoints/last.safetensors"] == before["checkpoints/last.safetensors"]


def test_a_folder_is_of_one_training_at_a_time(recipe: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    with alone_in(folder), pytest.raises(UsageError, match=r"another training is at work in .*run; wait for it"):
        train(recipe, folder)
    train(recipe, folder)  # whoever has left, is in nobody's way
