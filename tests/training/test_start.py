"""Starting from a trained model: what is taken over, what is kept, what is told, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import regard
from regard.checkpoint import read, read_model
from regard.config import recipes
from regard.config.inheritance import take_over
from regard.config.tasks import TASKS
from regard.dry_runs import dry_run
from regard.errors import CheckpointError, ConfigError, UsageError
from tests.training.toy import train, write_corpus

SHORT = """
[data]
train = ["valid.tsv"]
valid = ["valid.tsv"]
prepared = "{folder}/prepared"

[training]
start = "{start}"
batch_tokens = 96
updates = 4
learning_rate = 3e-3
warmup = 1
validate_every = 2
validate_sentences = 4
average = 1
threads = 1
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the toy recipe, its corpus beside it."""
    folder = tmp_path_factory.mktemp("start")
    train(write_corpus(folder), folder / "first")
    return folder / "first"


def recipe_from(trained: Path, more: str = "") -> Path:
    path = trained.parent / f"next{abs(hash(more))}.toml"
    path.write_text(SHORT.format(folder=trained.parent, start=trained) + more, encoding="utf-8")
    return path


def weights(run: Path) -> dict[str, torch.Tensor]:
    return dict(read_model(run).weights)


def test_weights_tokenizer_and_sizes_come_from_the_start(trained: Path, tmp_path: Path) -> None:
    # A rate of nothing: what is written at the end is what it began with.
    run, said = train(recipe_from(trained), tmp_path / "run", "training.learning_rate=0")
    before, after = read_model(trained), read_model(run.folder)
    assert all(torch.equal(after.weights[name], before.weights[name]) for name in before.weights)
    assert after.assets.content["tokenizer"] == before.assets.content["tokenizer"]
    assert after.recipe.model == before.recipe.model
    assert after.recipe.data.max_tokens == before.recipe.data.max_tokens
    assert "tensors are taken from there: source_embedding, encoder, decoder" in said.replace("\n", " ")
    ancestry = after.provenance["start"]
    assert ancestry["recipe"] == "toy"
    assert ancestry["updates"] == 12
    assert str(trained.parent) not in str(ancestry)


def test_a_start_learns_placeholders_that_it_lacks(trained: Path, tmp_path: Path) -> None:
    """They stand behind all other tokens, so that these keep their ids and vectors."""
    run, _ = train(recipe_from(trained), tmp_path / "run", "training.learning_rate=0", "data.protect=0.5")
    before, after = weights(trained), weights(run.folder)
    old, new = regard.load(trained).tokenizer, run.model.tokenizer
    assert not old.has_placeholders
    assert new.has_placeholders
    assert new.size("source") == old.size("source") + 10
    assert old.encode("ba de ki") == new.encode("ba de ki")
    for name, found in before.items():
        assert torch.equal(found, after[name][: len(found)] if found.dim() else after[name]), name


def test_what_contradicts_the_start_is_named(trained: Path) -> None:
    recipe = recipe_from(trained)
    with pytest.raises(
        ConfigError, match=r"model.width = 32 \(--set model.width=32\) contradicts training.start"
    ) as told:
        recipes.load(recipe, ["model.width=32", "tokenizer.vocabulary=400", "model.dropout=0.3"])
    assert "tokenizer.vocabulary = 400" in str(told.value)
    assert "dropout" not in str(told.value)
    with pytest.raises(ConfigError, match=r"model.feed_forward = 1024"):
        recipes.load(recipe, ["model.size=small"])
    with pytest.raises(ConfigError, match="no model at runs/nothing"):
        recipes.load(recipe, ["training.start=runs/nothing"])
    assert recipes.load(recipe, ["model.dropout=0.3"]).model.dropout == 0.3


def test_a_dry_run_says_what_cannot_be_taken_over(trained: Path, tmp_path: Path) -> None:
    assert dry_run(recipe_from(trained)).mistakes == ()
    of_pictures = tmp_path / "painter.toml"
    of_pictures.write_text(SHORT.format(folder=tmp_path, start="painter"), encoding="utf-8")
    with pytest.raises(UsageError, match="'painter' is of the task 'text-to-image', and between tasks only layers"):
        dry_run(of_pictures)


SIZED = [
    (task, architecture, size)
    for task, row in TASKS.items()
    for architecture, each in row.architectures.items()
    for size in each.sizes
]


@pytest.mark.parametrize(("task", "architecture", "size"), SIZED)
def test_the_size_of_the_start_may_be_said_again(task: str, architecture: str, size: str) -> None:
    model: dict[str, object] = {"architecture": architecture, "size": size}
    stored = recipes.parse({"task": task, "model": model})
    learning = {"stochastic_depth": 0.05} if hasattr(stored.model, "stochastic_depth") else {}
    given = {"training": {"start": "runs/x"}, "model": {**model, **learning}}
    assert take_over(given, stored, TASKS[task], lambda name: "") == []


def test_a_recipe_object_takes_over_what_nobody_changed_in_it(trained: Path) -> None:
    loaded = recipes.load(recipe_from(trained))
    assert recipes.read(loaded) == loaded


def test_frozen_parts_keep_their_weights_and_a_stopped_run_goes_on_to_the_same_bits(
    trained: Path, tmp_path: Path
) -> None:
    recipe, frozen = recipe_from(trained), 'training.freeze=["embedding", "encoder"]'
    whole, said = train(recipe, tmp_path / "whole", frozen)
    assert "frozen" in said
    train(recipe, tmp_path / "parts", frozen, "training.updates=2")
    parts, _ = train(recipe, tmp_path / "parts", frozen)
    before, after = (
        read(whole.folder / "checkpoints" / "last.safetensors"),
        read(parts.folder / "checkpoints" / "last.safetensors"),
    )
    assert before[0].keys() == after[0].keys()
    assert all(torch.equal(before[0][name], after[0][name]) for name in before[0])
    start, end = weights(trained), weights(whole.folder)
    kept = {name.split(".")[0] for name in start if torch.equal(start[name], end[name])}
    changed = {name.split(".")[0] for name in start if not torch.equal(start[name], end[name])}
    assert kept >= {"source_embedding", "encoder"}
    assert not changed & {"source_embedding", "encoder"}
    assert "decoder" in changed


def test_an_unknown_part_to_freeze_is_refused_before_training(trained: Path) -> None:
    with pytest.raises(ConfigError, match=r"'encodr', which the model lacks. Did you mean 'encoder'"):
        dry_run(recipe_from(trained), overrides=["training.freeze=encodr"])
    with pytest.raises(ConfigError, match="leaves nothing to learn"):
        dry_run(recipe_from(trained), overrides=['training.freeze=["embedding", "encoder", "decoder"]'])


def test_a_run_does_not_go_on_from_another_start(trained: Path, tmp_path: Path) -> None:
    recipe, start = recipe_from(trained), tmp_path / "start.safetensors"
    start.write_bytes((trained / "model.safetensors").read_bytes())
    train(recipe, tmp_path / "run", f"training.start={start}", "training.updates=2")
    other, _ = train(recipe, tmp_path / "other")
    start.write_bytes((other.folder / "model.safetensors").read_bytes())
    with pytest.raises(CheckpointError, match=r"begun on other data .the model of training.start"):
        train(recipe, tmp_path / "run", f"training.start={start}")


def test_a_damaged_start_is_refused(trained: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.safetensors"
    content = bytearray((trained / "model.safetensors").read_bytes())
    content[-8] ^= 1
    damaged.write_bytes(content)
    with pytest.raises(CheckpointError, match="does not match its checksum"):
        train(recipe_from(trained), tmp_path / "run", f"training.start={damaged}")
    damaged.write_bytes(bytes(content[: len(content) // 2]))
    with pytest.raises(ConfigError, match="damaged or no model"):
        train(recipe_from(trained), tmp_path / "run", f"training.start={damaged}")


def test_an_encoder_of_one_task_starts_anothers(trained: Path, tmp_path: Path) -> None:
    rows = [f"ba de {word}\t{label}\n" for word, label in (("ki", "yes"), ("mo", "no"), ("tu", "yes"), ("na", "no"))]
    (tmp_path / "rows.tsv").write_text("".join(rows * 5), encoding="utf-8")
    recipe = {
        "task": "classification",
        "data": {"train": ["rows.tsv"], "prepared": str(tmp_path / "prepared"), "hold_out": 0.2},
        "training": {"start": str(trained), "updates": 1, "learning_rate": 0.0, "batch_tokens": 64, "threads": 1},
    }
    run = regard.train(recipe, data=tmp_path, run=tmp_path / "run", show=False)
    theirs, own = weights(trained), weights(run.folder)
    assert torch.equal(own["embedding.table.weight"], theirs["source_embedding.table.weight"])
    layers = [name for name in own if name.startswith("layers.")]
    assert layers
    assert all(torch.equal(own[name], theirs[name.replace("layers", "encoder", 1)]) for name in layers)
    assert run.recipe.model.width == 16
    assert len({name.split(".")[1] for name in layers}) == 1
    assert run.model.tokenizer == regard.load(trained).tokenizer
    # Going on with other labels: the encoder stays, what the labels mean is learned anew.
    (tmp_path / "rows.tsv").write_text("".join(rows * 5).replace("yes", "maybe"), encoding="utf-8")
    recipe["training"] |= {"start": str(run.folder), "seed": 2}  # type: ignore[operator]
    again = regard.train(recipe, data=tmp_path, run=tmp_path / "again", show=False)
    assert torch.equal(weights(again.folder)[layers[0]], own[layers[0]])
    assert not torch.equal(weights(again.folder)["output.weight"], own["output.weight"])
    assert read_model(again.folder).provenance["start"]["start"]["task"] == "translation"
