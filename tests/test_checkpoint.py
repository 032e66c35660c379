"""A model file gives back what was put in, tells nothing of the machine, and explains what is wrong with it."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

import regard
from regard import checkpoint, config
from regard.checkpoint import FORMAT, average, find_model, read, store_scores, write
from regard.config.paths import inside, without_paths
from regard.data.tokenizer import Tokenizer
from regard.errors import CheckpointError
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.tasks.registry import build
from regard.tasks.trained import load_trained, save_trained
from regard.tasks.translation.assets import TranslationAssets

PROVENANCE = {"updates": 7, "versions": {"regard": "0.0.9"}, "scores": {"old": [1]}, "note": "größer"}


@pytest.fixture(scope="module")
def model(tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer) -> Model:
    torch.manual_seed(3)
    return build(tiny_recipe.model, tiny_tokenizer.size("source"), tiny_tokenizer.size("target"))


@pytest.fixture
def file(tmp_path: Path, model: Model, tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer) -> Path:
    path = tmp_path / "run" / "model.safetensors"
    path.parent.mkdir()
    save_trained(path, dict(model.named_parameters()), tiny_recipe, TranslationAssets(tiny_tokenizer), PROVENANCE)
    return path


def rewrite(path: Path, **metadata: str | None) -> None:
    """Change metadata; None deletes."""
    tensors, before = read(path)
    after = {**before, **metadata}
    write(path, tensors, {key: value for key, value in after.items() if value is not None})


def test_round_trip(file: Path, model: Model, tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer) -> None:
    trained = load_trained(file)
    assert trained.recipe == tiny_recipe
    assert trained.assets.tokenizer == tiny_tokenizer
    assert trained.provenance == PROVENANCE
    assert not trained.model.training
    for (name, wanted), (_, found) in zip(model.named_parameters(), trained.model.named_parameters(), strict=True):
        assert torch.equal(wanted, found), name


@pytest.mark.parametrize(("key", "value"), [("task", "juggle"), ("model", {"architecture": "abacus"})])
def test_a_task_or_architecture_of_another_version(file: Path, key: str, value: Any) -> None:
    settings = json.loads(read(file)[1]["recipe"])
    rewrite(file, recipe=json.dumps({**settings, key: value}))
    with pytest.raises(
        CheckpointError, match=r"unknown task 'juggle'.*\n.*regard 0\.0\.9|the architecture 'abacus' is of a plug-in"
    ):
        load_trained(file)


def test_the_folder_will_do(file: Path) -> None:
    assert load_trained(file.parent).provenance == load_trained(str(file)).provenance == PROVENANCE


@pytest.mark.parametrize("tied", [True, False])
def test_tied_weights_are_stored_once(
    tmp_path: Path, tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer, tied: bool
) -> None:
    recipe = replace(tiny_recipe, model=replace(tiny_recipe.model, tied=tied))
    size = tiny_tokenizer.size("source")
    saved = build(recipe.model, size, size)
    path = tmp_path / "model.safetensors"
    save_trained(path, checkpoint.unique_weights(saved), recipe, TranslationAssets(tiny_tokenizer), {})
    assert sum(size in tensor.shape for tensor in read(path)[0].values()) == (1 if tied else 3)
    loaded = load_trained(path).model
    assert torch.equal(loaded.output.weight, saved.output.weight)
    assert (loaded.output.weight is loaded.source_embedding.table.weight) == tied


def test_half_the_size(
    tmp_path: Path, file: Path, model: Model, tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer
) -> None:
    small = tmp_path / "half.safetensors"
    save_trained(small, dict(model.named_parameters()), tiny_recipe, TranslationAssets(tiny_tokenizer), {}, half=True)
    assert all(tensor.dtype == torch.float16 for tensor in read(small)[0].values())
    loaded = load_trained(small).model
    for wanted, found in zip(model.parameters(), loaded.parameters(), strict=True):
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, wanted, rtol=2**-11, atol=1e-7)


def test_scores_join_the_provenance(file: Path) -> None:
    before = read(file)[0]
    store_scores(file, {"new": [2]})
    assert load_trained(file).provenance == {**PROVENANCE, "scores": {"old": [1], "new": [2]}}
    assert all(torch.equal(tensor, before[name]) for name, tensor in read(file)[0].items())


def test_no_path_of_this_machine(
    tmp_path: Path, model: Model, tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer
) -> None:
    home = "/home/somebody"
    data = config.ParallelText(
        folder=f"{home}/data", prepared=f"{home}/prepared", train=(f"{home}/train.tsv",), valid=("valid/dev.tsv",),
        test={"news": (f"{home}/news.de", f"{home}/news.en")}, download={f"{home}/train.tsv": "https://example.org/x 0"},
        max_tokens=40,
    )  # fmt: skip
    path = tmp_path / "model.safetensors"
    recipe = replace(tiny_recipe, data=data)
    save_trained(path, dict(model.named_parameters()), recipe, TranslationAssets(tiny_tokenizer), PROVENANCE)
    assert b"somebody" not in path.read_bytes()
    stored = load_trained(path).recipe.data
    assert stored == replace(
        data, folder="", prepared="prepared", train=("train.tsv",), test={"news": ("news.de", "news.en")}, download={}
    )


def test_only_paths_are_shortened() -> None:
    """What a classifier replaces in each text may begin with a slash; shortened, it would read other text."""
    recipe = config.ClassificationRecipe(
        name="/x",
        data=config.LabelledText(replace={"/": " ", "/a/b": "/c/d"}, text="/t", train=("/x/y", "../z", "a/b")),
    )
    kept = without_paths(recipe)
    assert kept.data.replace == {"/": " ", "/a/b": "/c/d"}
    assert (kept.data.text, kept.name) == ("/t", "/x")
    assert kept.data.train == ("y", "z", "a/b")
    assert replace(recipe, data=kept.data) == kept


@pytest.mark.parametrize(
    ("path", "kept"),
    [("a/b.tsv", "a/b.tsv"), ("/a/b.tsv", "b.tsv"), ("../b.tsv", "b.tsv"), ("a/../../b.tsv", "b.tsv"), ("..", ""), ("a/..", ""),
     ("/", ""), ("a..b", "a..b"), ("bundled:moods.tsv", "bundled:moods.tsv")],
)  # fmt: skip
def test_a_path_stays_inside(path: str, kept: str) -> None:
    assert inside(path) == kept


@pytest.mark.parametrize("data", [None, [], "x", {"train": 3}, {"test": [["x"]]}])
def test_settings_that_are_no_tables_are_refused(file: Path, data: object) -> None:
    weights, metadata = read(file)
    settings = {**json.loads(metadata["recipe"]), "data": data}
    write(file, weights, {**metadata, "recipe": json.dumps(settings)})
    with pytest.raises(CheckpointError, match="cannot be used: "):
        load_trained(file)


@pytest.mark.parametrize("key", ["recipe", "assets", "provenance"])
def test_metadata_of_another_shape_is_no_model(file: Path, key: str) -> None:
    weights, metadata = read(file)
    write(file, weights, {**metadata, key: "[]"})
    with pytest.raises(CheckpointError, match="not a model of regard"):
        load_trained(file)


def test_nothing_that_could_be_executed(file: Path) -> None:
    """A header of JSON, then numbers, and not one byte more: nothing is pickled."""
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    metadata = header.pop("__metadata__")
    assert metadata.pop("checksum").startswith("crc32:")
    assert metadata.keys() == {"format", "recipe", "assets", "provenance"}
    assert all(json.loads(value) is not None for value in metadata.values())
    assert {entry["dtype"] for entry in header.values()} == {"F32"}
    assert max(entry["data_offsets"][1] for entry in header.values()) == len(content) - 8 - length


def test_the_mean_of_several_files(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.safetensors" for number in range(3)]
    values = torch.randn(3, 5, generator=torch.Generator().manual_seed(0))
    for path, value in zip(paths, values, strict=True):
        write(path, {"a": value, "b": -value}, {})
    mean = average(paths)
    assert torch.equal(mean["a"], values.double().mean(0).float())
    assert torch.equal(mean["b"], -mean["a"])
    assert torch.equal(average(paths[:1])["a"], values[0]), "one file is its own mean"


def error(name: Any) -> str:
    with pytest.raises(CheckpointError) as caught:
        load_trained(name)
    return str(caught.value)


def test_a_newer_format(file: Path) -> None:
    rewrite(file, format=str(FORMAT + 1))
    assert error(file) == f"{file} has format {FORMAT + 1}; this regard reads 1 to {FORMAT}. Upgrade regard."


@pytest.mark.parametrize("metadata", [{}, {"format": "pt"}, {"format": "1"}, {"format": "1", "recipe": "{"}])
def test_a_file_of_somebody_else(tmp_path: Path, metadata: dict[str, str]) -> None:
    path = tmp_path / "other.safetensors"
    save_file({"weight": torch.zeros(2)}, path, metadata)
    assert f"{path} is a safetensors file, but not a model of regard" in error(path)


def test_a_setting_that_this_version_does_not_know(file: Path) -> None:
    recipe = json.loads(read(file)[1]["recipe"])
    recipe["training"]["warmupp"] = 3
    rewrite(file, recipe=json.dumps(recipe))
    message = error(file)
    assert message.startswith(f"{file} cannot be used: unknown setting 'training.warmupp'")
    assert f"written by regard 0.0.9; this is {regard.__version__}" in message


def test_a_damaged_tokenizer(file: Path) -> None:
    rewrite(file, assets='{"tokenizer": {"joint": "AAAA"}}')
    assert error(file).startswith(f"{file} cannot be used: the stored tokenizer is damaged")


@pytest.mark.parametrize("keep", [0, 5, 100, -1, -1_000])
def test_a_file_cut_short(file: Path, keep: int) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:keep])
    assert f"cannot read {file}" in error(file)
    assert "damaged" in error(file)


def test_no_safetensors_file(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("Not a model.", encoding="utf-8")
    assert "damaged or not a safetensors file" in error(path)


@pytest.mark.parametrize("change", ["missing", "unknown", "misshapen"])
def test_tensors_that_do_not_fit(file: Path, change: str) -> None:
    tensors, metadata = read(file)
    name = "encoder.0.feed_forward.widen.weight"
    shape = list(tensors[name].shape)
    if change == "missing":
        del tensors[name]
    elif change == "unknown":
        tensors["surplus"] = torch.zeros(1)
    else:
        tensors[name] = torch.zeros(3, 5)
    write(file, tensors, metadata)
    told = {
        "missing": f"{name} is missing",
        "unknown": "surplus is unknown",
        "misshapen": f"{name} is [3, 5] instead of {shape}",
    }
    assert error(file) == f"{file} does not fit its own recipe: {told[change]}"


def test_names(tmp_path: Path, file: Path) -> None:
    assert find_model(file.parent) == file
    run = tmp_path / "begun"
    (run / "checkpoints").mkdir(parents=True)
    assert error(run) == f"{run} has no model.safetensors yet: its training has not come to a first validation"
    assert error(tmp_path / "rum") == f"no model at {tmp_path / 'rum'}. Did you mean '{file.parent}'?"
    assert error(tmp_path / "nowhere" / "x") == (
        f"no model at {tmp_path / 'nowhere' / 'x'}. A model is a run folder, a .safetensors file, `demo`, `demo-ko` or `painter`."
    )
    assert error(file.parent.parent) == f"no model at {file.parent.parent}. Did you mean '{file.parent}'?"
    assert "is a recipe, not a model; `regard train my.toml` makes one" in error("my.toml")
    assert error("dmo") == "no model at dmo. Did you mean 'demo'?"


def test_a_checkpoint_is_not_a_model(tmp_path: Path) -> None:
    last = tmp_path / "last.safetensors"
    write(last, {"model.a": torch.zeros(1)}, {"progress": "{}"})
    assert "name a run folder or its model.safetensors" in error(last)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"cannot write .*nowhere.*What was there before is untouched"):
        write(tmp_path / "nowhere" / "x.safetensors", {"a": torch.zeros(1)}, {})


def test_a_failed_write_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = file.read_bytes()

    def fail(tensors: Any, path: Path, metadata: Any) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", fail)
    with pytest.raises(CheckpointError, match="No space left"):
        store_scores(file, {})
    assert file.read_bytes() == before
    assert list(file.parent.iterdir()) == [file]
