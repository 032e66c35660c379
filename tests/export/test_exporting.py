"""The comparison of an export with its original, and the verb that makes both."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard.checkpoint import unique_weights
from regard.commands.exporting import export
from regard.decoding.options import Hypothesis, Search
from regard.errors import UsageError
from regard.export.agreement import compare
from regard.tasks.trained import save_trained
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.translator import Translator
from tests.conftest import made_up_sentences

for package in ("ctranslate2", "onnx", "onnxruntime"):
    pytest.importorskip(package)


def test_differences_are_counted_and_shown(tiny_translator: Translator) -> None:
    texts = made_up_sentences(1, 4)
    answers = [tuple(tiny_translator.tokenizer.encode(text, "target")) for text in made_up_sentences(2, 4)]
    ours = [[Hypothesis(tokens, -1.0, -1.0, (), "end")] for tokens in answers]
    theirs = [[Hypothesis(tokens, -1.25, -1.0, (), "end")] for tokens in answers]
    theirs[2] = [Hypothesis(answers[0], -9.0, -9.0, (), "end")]
    found = compare(
        lambda *_: ours, lambda *_: theirs, tiny_translator.tokenizer, texts, Search(), tiny_translator.recipe.decoding
    )
    assert (found.sentences, found.identical, found.share, found.score_difference) == (4, 3, 0.75, 0.25)
    (difference,) = found.differences
    assert (difference.source, difference.exported_score) == (texts[2], -9.0)
    lines = "\n".join(found.lines("there"))
    assert all(part in lines for part in ("75.0%", texts[2], difference.original, difference.exported))


@pytest.fixture
def run(tiny_translator: Translator, tmp_path: Path) -> Path:
    each = tiny_translator
    save_trained(
        tmp_path / "model.safetensors", unique_weights(each.model), each.recipe, TranslationAssets(each.tokenizer), {}
    )
    (tmp_path / "given.txt").write_text("\n".join(made_up_sentences(1, 16)) + "\n")
    return tmp_path


@pytest.mark.parametrize("engine", ["ctranslate2", "onnx"])
def test_the_verb_writes_and_compares(engine: str, run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(str(run), engine, source=run / "given.txt", samples=10, as_json=True)
    assert (run / engine / "regard.json").is_file()
    found = json.loads(capsys.readouterr().out)
    assert (found["sentences"], found["share"]) == (10, 1.0)
    assert found["score_difference"] < 1e-4


def test_without_test_text_it_says_that_nothing_was_compared(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export(str(run), "ctranslate2", output=run / "here", int8=True)
    captured = capsys.readouterr()
    assert "not compared" in captured.err
    assert "--source" in captured.err
    assert not captured.out
    assert json.loads((run / "here" / "regard.json").read_text(encoding="utf-8"))["int8"]


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ({"to": "ctranslat"}, "Did you mean 'ctranslate2'"),
        ({"to": "onnx", "int8": True}, "--int8 is for CTranslate2"),
        ({"to": "onnx", "output": "."}, "not empty"),
    ],
)
def test_mistakes_are_told_before_anything_is_written(
    asked: dict[str, str | bool], answer: str, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run)
    if "output" in asked:
        asked = {**asked, "output": Path(str(asked["output"]))}  # type: ignore[dict-item]
    with pytest.raises(UsageError, match=answer):
        export(str(run), **asked)  # type: ignore[arg-type]
    assert sorted(each.name for each in run.iterdir()) == ["given.txt", "model.safetensors"]
