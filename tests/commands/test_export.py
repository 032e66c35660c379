"""`regard export`: writes, compares, and says what cannot be before anything is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.checkpoint import unique_weights
from regard.tasks.trained import save_trained
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.translator import Translator
from tests.commands.calling import fail, succeed
from tests.conftest import made_up_sentences

for package in ("ctranslate2", "onnx", "onnxruntime"):
    pytest.importorskip(package)


@pytest.fixture
def model(tiny_translator: Translator, tmp_path: Path) -> Path:
    each = tiny_translator
    save_trained(
        tmp_path / "model.safetensors", unique_weights(each.model), each.recipe, TranslationAssets(each.tokenizer), {}
    )
    (tmp_path / "given.txt").write_text("\n".join(made_up_sentences(1, 16)) + "\n")
    return tmp_path


@pytest.mark.parametrize("engine", ["ctranslate2", "onnx"])
def test_the_verb_writes_and_compares(engine: str, model: Path) -> None:
    answer = succeed("export", model, "--to", engine, "--source", model / "given.txt", "--samples", 10, "--json")
    assert (model / engine / "regard.json").is_file()
    found = json.loads(answer.out)
    assert (found["sentences"], found["share"]) == (10, 1.0)
    assert (found["engine"], found["folder"]) == (engine, str(model / engine))
    assert found["score_difference"] < 1e-4
    assert f"regard: wrote {model / engine}" in answer.err


def test_without_test_text_it_says_that_nothing_was_compared(model: Path) -> None:
    answer = succeed("export", model, "--to", "ctranslate2", "-o", model / "here", "--int8")
    assert "not compared" in answer.err
    assert "give --source or --data" in answer.err
    assert not answer.out
    assert json.loads((model / "here" / "regard.json").read_text(encoding="utf-8"))["int8"]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        (["--to", "ctranslat"], "Did you mean 'ctranslate2'"),
        (["--to", "onnx", "--int8"], "--int8 is for CTranslate2"),
        (["--to", "onnx", "-o", "."], "not empty and not an earlier export; name another folder by --output"),
    ],
    ids=str,
)
def test_mistakes_are_told_before_anything_is_written(
    asked: list[str], answer: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(model)
    assert answer in fail("export", model, *asked)
    assert sorted(each.name for each in model.iterdir()) == ["given.txt", "model.safetensors"]


def test_a_classifier_and_its_proof(moods: Path, tmp_path: Path) -> None:
    answer = succeed("export", moods, "--to", "onnx", "-o", tmp_path / "out", "--samples", 20, "--json")
    found = json.loads(answer.out)
    assert (found["texts"], found["of"], found["engine"]) == (20, "labels", "onnx")
    assert found["probability_difference"] < 1e-4
    described = json.loads((tmp_path / "out" / "regard.json").read_text(encoding="utf-8"))
    assert described["labels"] == ["negative", "neutral", "positive"]


def test_a_language_model_and_its_proof(rhymes: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("On Monday a fox\n\nsaw a bear\n", encoding="utf-8")
    answer = succeed("export", rhymes, "--to", "onnx", "-o", tmp_path / "out", "--file", tmp_path / "lines.txt")
    assert answer.out.startswith("2 texts: probabilities of next tokens at ")
    assert "comparing on 2 lines of lines.txt" in answer.err


def test_options_and_engines_of_other_tasks_are_refused(moods: Path, tmp_path: Path) -> None:
    assert "There are onnx" in fail("export", moods, "--to", "ctranslate2")
    assert "--source is of the task 'translation'" in fail("export", moods, "--to", "onnx", "--source", tmp_path / "x")
