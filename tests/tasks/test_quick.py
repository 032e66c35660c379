"""A translator whose model was converted before is at work without torch, and is the same in all else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import regard
from regard.checkpoint import read, unique_weights, write
from regard.config.model_file import read_whole
from regard.errors import CheckpointError, DamagedError, UsageError
from regard.tasks.trained import save_trained
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.engine import FastEngine
from regard.tasks.translation.translator import Translator
from tests.conftest import made_up_sentences

pytest.importorskip("ctranslate2")
ROOT = Path(__file__).parents[2]
TEXT = made_up_sentences(1, 1)[0]


@pytest.fixture
def run(tiny_translator: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run whose model was converted."""
    monkeypatch.delenv("REGARD_ENGINE")
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    each = tiny_translator
    assets = TranslationAssets(each.tokenizer)
    save_trained(tmp_path / "model.safetensors", unique_weights(each.model), each.recipe, assets, {"updates": 3})
    assert not is_quick(regard.load(tmp_path))  # read whole, and converted
    return tmp_path


def is_quick(translator: Translator) -> bool:
    """Whether the model itself was not needed so far."""
    return isinstance(translator.engine, FastEngine) and not ({"model", "_given"} & without_none(translator))


def without_none(translator: Translator) -> set[str]:
    return {name for name, value in vars(translator).items() if value is not None}


@pytest.mark.parametrize("lines", [[TEXT], made_up_sentences(1, 12)])
@pytest.mark.parametrize("options", [[], ["--json"], ["--beam", "1", "--nbest", "1"]])
def test_the_command_imports_no_torch(run: Path, lines: list[str], options: list[str]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "regard", "translate", str(run), *options]
    done = subprocess.run(
        command, input="".join(f"{line}\n" for line in lines), cwd=ROOT, env=dict(os.environ), capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    imported = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    assert done.returncode == 0, done.stderr
    assert "ctranslate2" in imported
    assert not [name for name in imported if name.split(".")[0] == "torch"]
    assert len(done.stdout.splitlines()) == len(lines)


def test_the_same_in_all_else(run: Path, tiny_translator: Translator) -> None:
    quick = regard.load(run, task="translation")
    assert is_quick(quick)
    assert quick.translate(TEXT).text == tiny_translator.translate(TEXT).text
    assert quick.cost([TEXT]) == tiny_translator.cost([TEXT])
    assert is_quick(quick)
    assert quick.attention(TEXT).translation == quick.translate(TEXT).text
    assert quick.score(TEXT, TEXT).log_probability == pytest.approx(
        tiny_translator.score(TEXT, TEXT).log_probability, abs=1e-4
    )
    assert not is_quick(quick)


def test_a_file_that_changed_meanwhile_is_not_looked_into(run: Path) -> None:
    quick = regard.load(run, task="translation")
    tensors, metadata = read(run / "model.safetensors")
    write(run / "model.safetensors", {name: tensor + 1 for name, tensor in tensors.items()}, metadata)
    with pytest.raises(CheckpointError, match="has changed since it was loaded"):
        quick.attention(TEXT)


def test_scores_that_were_added_change_nothing(run: Path) -> None:
    quick = regard.load(run, task="translation")
    tensors, metadata = read(run / "model.safetensors")
    write(run / "model.safetensors", tensors, {**metadata, "provenance": '{"updates": 4}'})
    assert quick.attention(TEXT).facts["updates"] == "3"
    again = regard.load(run, task="translation")
    assert is_quick(again)
    assert again.provenance == {"updates": 4}


def test_damage_is_told_as_ever(run: Path) -> None:
    file = run / "model.safetensors"
    assert read_whole(file) is not None
    content = file.read_bytes()
    for before, after in ((b"updates", b"updatez"), (content[-3:], bytes(byte ^ 1 for byte in content[-3:]))):
        place = content.rindex(before)
        file.write_bytes(content[:place] + after + content[place + len(before) :])
        assert read_whole(file) is None
        with pytest.raises(DamagedError, match="checksum"):
            regard.load(run)


def test_what_else_is_asked_for_is_left_to_the_row(run: Path) -> None:
    assert not is_quick(regard.load(run, engine="native"))
    with pytest.raises(UsageError, match="lexicon"):
        regard.load(run, shortlist=True)
    with pytest.raises(UsageError, match="unheard_of"):
        regard.load(run, unheard_of=1)
