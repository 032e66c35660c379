"""An export is whole or not there, replaces nothing but an export, and holds nothing that could run."""

from __future__ import annotations

import errno
import io
import json
import pickletools
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import sentencepiece

from regard import config
from regard.checkpoint import unique_weights
from regard.data.tokenizer import Side
from regard.errors import CheckpointError, UsageError
from regard.export import ctranslate2, onnx
from regard.export.ctranslate2 import export_ctranslate2
from regard.export.folder import DESCRIPTION, fingerprint, read_description, replacing
from regard.export.onnx import export_onnx
from regard.tasks.task import Trained
from regard.tasks.trained import save_trained
from tests.export.variants import trained

for package in ("ctranslate2", "onnx", "onnxruntime"):
    pytest.importorskip(package)
SIDES: tuple[Side, ...] = ("source", "target")
Export = Callable[[Trained, Path], None]
each_export = pytest.mark.parametrize("export", [export_ctranslate2, export_onnx])


@pytest.fixture(scope="module")
def model(tiny_recipe: config.TranslationRecipe) -> Trained:
    return trained("paper", tiny_recipe)


@pytest.mark.parametrize("variant", ["paper", "separate vocabularies"])
@each_export
def test_the_folder_documents_itself(
    export: Export, variant: str, tiny_recipe: config.TranslationRecipe, tmp_path: Path
) -> None:
    exported = trained(variant, tiny_recipe)
    export(exported, tmp_path / "a" / "out")
    description = read_description(tmp_path / "a" / "out")
    assert description is not None
    assert description["recipe"]["model"]["norm"] == exported.recipe.model.norm
    text = "Bade miko."
    for name, side in zip(
        description["sentencepiece"], SIDES[: 1 if exported.assets.tokenizer.joint else 2], strict=True
    ):
        tokens = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "a" / "out" / name))
        assert tokens.encode(text) == exported.assets.tokenizer.encode(text, side)


@each_export
def test_nothing_in_it_can_run(export: Export, model: Trained, tmp_path: Path) -> None:
    export(model, tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        assert not zipfile.is_zipfile(file)
        with pytest.raises(ValueError), file.open("rb") as stream:
            pickletools.dis(stream, out=io.StringIO())


@each_export
def test_only_an_earlier_export_is_replaced(export: Export, model: Trained, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    export(model, mine)  # an empty folder is free
    (mine / "left").write_text("over")
    export(model, mine)
    assert not (mine / "left").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="not empty"):
        export(model, other)
    with pytest.raises(UsageError, match="is a file"):
        export(model, other / "thesis.txt")
    assert (other / "thesis.txt").read_text() == "years of work"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["mine", "other"]


@each_export
def test_a_full_disk_leaves_what_was_there(
    export: Export, model: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(model, tmp_path / "out")
    before = {each.name: each.read_bytes() for each in (tmp_path / "out").iterdir()}

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for module in (ctranslate2, onnx):
        monkeypatch.setattr(module, "describe", full)
    with pytest.raises(CheckpointError, match=r"cannot write .*out.*No space left.*untouched"):
        export(model, tmp_path / "out")
    assert {each.name: each.read_bytes() for each in (tmp_path / "out").iterdir()} == before
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """An export that somebody relies on."""
    with replacing(tmp_path / "out") as folder:
        (folder / DESCRIPTION).write_text('{"engine": "the first"}', encoding="utf-8")
    return tmp_path / "out"


def export_again(folder: Path) -> None:
    with replacing(folder) as temporary:
        (temporary / DESCRIPTION).write_text('{"engine": "the second"}', encoding="utf-8")


def failing_renames(monkeypatch: pytest.MonkeyPatch, fails: Callable[[Path, Path], BaseException | None]) -> None:
    rename = Path.rename

    def perhaps(self: Path, target: Path) -> Path:
        if error := fails(self, target):
            raise error
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", perhaps)


@pytest.mark.parametrize("error", [PermissionError("in use"), KeyboardInterrupt()])
def test_when_the_new_one_cannot_take_its_place_the_old_one_comes_back(
    error: BaseException, earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_renames(monkeypatch, lambda origin, _: error if origin.suffix == ".tmp" else None)
    with pytest.raises(CheckpointError if isinstance(error, OSError) else KeyboardInterrupt):
        export_again(earlier)
    assert read_description(earlier) == {"engine": "the first"}
    assert [each.name for each in earlier.parent.iterdir()] == ["out"]


def test_when_the_old_one_cannot_come_back_it_is_kept_and_said_where(
    earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_renames(monkeypatch, lambda _, target: PermissionError("in use") if target == earlier else None)
    with pytest.raises(CheckpointError, match=r"cannot write .*in use.*is now .*\.old; move it back") as caught:
        export_again(earlier)
    (kept,) = earlier.parent.iterdir()
    assert str(kept) in str(caught.value)
    assert "untouched" not in str(caught.value)
    assert read_description(kept) == {"engine": "the first"}


def test_fingerprints_tell_models_apart(tiny_recipe: config.TranslationRecipe, tmp_path: Path) -> None:
    def stored(name: str, variant: str, provenance: dict[str, int]) -> str:
        each = trained(variant, tiny_recipe)
        save_trained(tmp_path / name, unique_weights(each.model), each.recipe, each.assets, provenance)
        return fingerprint(tmp_path / name)

    first = stored("first", "paper", {})
    assert stored("again", "paper", {"updates": 3}) == first
    assert stored("other", "unlike stacks", {}) != first
    (tmp_path / "broken").write_bytes(json.dumps({}).encode())
    with pytest.raises(CheckpointError, match="broken"):
        fingerprint(tmp_path / "broken")


@pytest.mark.parametrize("content", [b"\xff" * 8, b"\0" * 6 + b"\1\0{}", b"\1" + b"\0" * 7 + b"3"])
def test_a_header_that_lies_is_no_model(tmp_path: Path, content: bytes) -> None:
    """Not a traceback, nor as much memory as the file claims to need."""
    file = tmp_path / "model.safetensors"
    file.write_bytes(content)
    with pytest.raises(CheckpointError, match="cannot read"):
        fingerprint(file)
