"""`regard evaluate` of models of every task."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import pytest

import regard
from regard.config import recipes
from regard.data.labelled import read_split
from regard.tasks.trained import load_trained
from tests.commands.calling import GOOD, ROOT, SENTENCE, fail, succeed
from tests.tasks.labelled import MOODS

# Translation


def test_evaluate_the_recipes_test_set(run: Path) -> None:
    out = succeed("evaluate", run, "--beam", 1).out
    assert out.startswith("test (12 sentences)\n")
    for name in ("BLEU", "chrF2", "TER"):
        assert re.search(rf"  {name} [\d.]+  \(nrefs:1\|.*version:", out)


def test_evaluate_files_and_write_the_translations(folder: Path, run: Path, tmp_path: Path) -> None:
    files = ("--source", folder / "test.de", "--target", folder / "test.en")
    scored = json.loads(succeed("evaluate", run, *files, "--json", "--paper", "--output", tmp_path / "out").out)
    ((name, told),) = scored.items()
    found = told["scores"]
    assert told["sentences"] == 12
    assert [each["name"] for each in found] == ["BLEU", "chrF2", "TER", "tokenised BLEU"]
    assert all(each["signature"] for each in found)
    assert found[:3] == json.loads(succeed("evaluate", run, "--json").out)["test"]["scores"]
    written = (tmp_path / "out" / f"{name}.txt").read_bytes()
    assert written.decode() == succeed("translate", run, stdin=(folder / "test.de").read_bytes()).out
    assert "--source and --target go together" in fail("evaluate", run, "--source", folder / "test.de")
    assert "File exists" in fail("evaluate", run, *files, "--output", folder / "toy.tsv")


def test_saved_scores_stay_with_the_model(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (bleu, *_) = json.loads(succeed("evaluate", copy, "--json", "--save").out)["test"]["scores"]
    kept = regard.load(copy)
    assert kept.facts()["BLEU on test"] == f"{bleu['value']:.1f}"
    assert kept.translate(SENTENCE) == regard.load(run).translate(SENTENCE)


def test_a_model_file_alone_needs_to_be_told_where_the_data_is(
    folder: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.safetensors"
    shutil.copy(run / "model.safetensors", file)
    (tmp_path / "toy.tsv").write_text("test\tJa.\tYes.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # where a file of the same name means nothing
    said = fail("evaluate", file)
    assert "is toy.tsv." in said
    assert all(option in said for option in ("--data DIR or REGARD_DATA=DIR", "--source and --target"))
    assert "--data" in fail("evaluate", file, "--data", folder / "none")
    right = succeed("evaluate", run).out
    assert succeed("evaluate", file, "--data", folder).out == right
    assert succeed("evaluate", run / "model.safetensors").out == right


def test_a_run_knows_files_that_lay_elsewhere(folder: Path, run: Path, tmp_path: Path) -> None:
    """The model file keeps only their names; a namesake in the data folder is not meant."""
    elsewhere, namesake, copy = tmp_path / "toy.tsv", tmp_path / "data" / "toy.tsv", tmp_path / "run"
    elsewhere.write_text("test\tJa.\tYes.\n", encoding="utf-8")
    namesake.parent.mkdir()
    shutil.copy(folder / "toy.tsv", namesake)
    shutil.copytree(run, copy)
    stored = recipes.load(copy / "config.toml", [f"data.test.test=['{elsewhere}']"], namesake.parent, finished=True)
    (copy / "config.toml").write_text(recipes.to_toml(stored), encoding="utf-8")
    assert succeed("evaluate", copy).out.startswith("test (1 sentences)\n")
    assert "no test set with the sentences of 'test'" in fail("compare", run, copy, "--resamples", 100)


def test_what_is_bundled_stays_as_it_is() -> None:
    assert "demo is part of regard" in fail("evaluate", "demo", "--save")


# Classification


def test_a_classifier(moods: Path, tmp_path: Path) -> None:
    answer = succeed("evaluate", moods, "--output", tmp_path / "out")
    told = json.loads(succeed("evaluate", moods, "--json").out)["test"]
    classifier = regard.load(moods, task="text-classification")
    examples = list(read_split(MOODS, "test"))
    found = classifier.classify([each.text for each in examples])
    right = sum(each.label == example.label for each, example in zip(found, examples, strict=True))
    accuracy = 100 * right / len(examples)
    assert told["scores"][0]["value"] == pytest.approx(accuracy)
    assert told["scores"][0]["low"] < accuracy < told["scores"][0]["high"] or accuracy == 100
    assert sum(map(sum, told["confusion"])) == len(examples) == told["scores"][0]["texts"]
    assert len(told["worst"]) == min(10, len(examples) - right)
    assert [each["confidence"] for each in told["worst"]] == sorted(
        (each["confidence"] for each in told["worst"]), reverse=True
    )
    assert f"test ({len(examples)} texts)" in answer.out
    assert f"accuracy {accuracy:.2f} (95 % interval" in answer.out
    assert f"before the temperature of {classifier.temperature:g}" in answer.out
    rows = [line.split("\t") for line in (tmp_path / "out" / "test.tsv").read_text(encoding="utf-8").splitlines()]
    assert [(row[0], row[2]) for row in rows] == [
        (each.label, example.label) for each, example in zip(found, examples, strict=True)
    ]
    if right < len(examples):
        worst = told["worst"][0]
        assert f"line {worst['line']}: {worst['label']}, given {worst['given']} with" in answer.out
        assert examples[[each.line for each in examples].index(worst["line"])].text == worst["text"]


def test_a_classifier_on_a_file(moods: Path, tmp_path: Path) -> None:
    rows = [f"{text}\t{label}" for text, label, _ in read_split(MOODS, "valid")][:9]
    (tmp_path / "mine.tsv").write_text("\n".join(["text\tlabel", *rows, "\tneutral", ""]), encoding="utf-8")
    told = json.loads(succeed("evaluate", moods, "--file", tmp_path / "mine.tsv", "--json").out)["mine.tsv"]
    assert (told["scores"][0]["texts"], told["empty"]) == (9, 1)
    answer = succeed("evaluate", moods, "--file", tmp_path / "mine.tsv", "--output", tmp_path / "out")
    assert "mine.tsv (9 texts; 1 empty ones do not count)" in answer.out
    assert (tmp_path / "out" / "mine.tsv.tsv").read_text(encoding="utf-8").splitlines()[-1] == "\t0.0000\tneutral"
    (tmp_path / "mine.tsv").write_text("text\tlabel\nx\tpositive\ny\tpositiv\n", encoding="utf-8")
    said = fail("evaluate", moods, "--file", tmp_path / "mine.tsv")
    assert "mine.tsv, line 3: the label 'positiv' does not occur" in said
    assert "Did you mean 'positive'?" in said
    (tmp_path / "mine.tsv").write_text("text\tlabel\n\tpositive\n", encoding="utf-8")
    assert "none of its 1 texts has any words" in fail("evaluate", moods, "--file", tmp_path / "mine.tsv")
    assert "--beam is of the task 'translation'; the task of" in fail("evaluate", moods, "--beam", 3)
    (tmp_path / "mine.tsv").write_text("\n".join(["text\tlabel", *rows, ""]), encoding="utf-8")
    (tmp_path / "mine.tsv").rename(tmp_path / "mine")
    before = (tmp_path / "mine").read_bytes()
    (tmp_path / "mine.tsv").symlink_to(tmp_path / "mine")
    said = fail("evaluate", moods, "--file", tmp_path / "mine", "--output", tmp_path)
    assert "would overwrite" in said
    assert (tmp_path / "mine").read_bytes() == before
    assert "is a classifier: regard classify --all" in fail("score", moods, "text")
    assert "--stride is of the task 'text-generation'" in fail("evaluate", moods, "--stride", 3)
    assert "--beam is of the task 'translation'" in fail("view", moods, "text", "--beam", 3)


def test_scores_of_a_classifier_are_stored(moods: Path, tmp_path: Path) -> None:
    shutil.copytree(moods, tmp_path / "run")
    before = succeed("classify", tmp_path / "run", GOOD).out
    succeed("evaluate", tmp_path / "run", "--save")
    (accuracy, *others) = load_trained(tmp_path / "run").provenance["scores"]["test"]
    assert (accuracy["name"], [each["name"] for each in others]) == ("accuracy", ["macro-F1", "calibration error"])
    assert (
        regard.load(tmp_path / "run", task="text-classification").facts()["accuracy on test"]
        == f"{accuracy['value']:.1f}"
    )
    assert succeed("classify", tmp_path / "run", GOOD).out == before


# Language models


VALID = ROOT / "regard" / "bundled" / "rhymes-valid.txt"


def test_a_language_model(rhymes: Path) -> None:
    plain = succeed("evaluate", rhymes)
    assert "valid (82 lines" in plain.out
    assert "windows of 64 tokens, 16 new in each" in plain.out
    told = json.loads(succeed("evaluate", rhymes, "--json", "--file", VALID, "--stride", 64).out)["rhymes-valid.txt"][
        "scores"
    ][0]
    assert told["name"] == "perplexity"
    metrics = [json.loads(line) for line in (rhymes / "metrics.jsonl").read_text().splitlines()]
    last = [line for line in metrics if line["kind"] == "valid"][-1]
    assert told["value"] == pytest.approx(last["perplexity"], rel=1e-4)  # plain windows, as training has them
    assert math.log(told["per_token"]) == pytest.approx(last["loss"], rel=1e-4)
    assert "from 1 to the window's 64 tokens" in fail("evaluate", rhymes, "--stride", 65)


def test_a_language_model_with_a_cache(rhymes: Path) -> None:
    """A row of its own, beside the one that is there without; and nothing but that, if it holds nothing."""
    plain = succeed("evaluate", rhymes, "--cache", 0).out
    assert plain == succeed("evaluate", rhymes).out
    both = succeed("evaluate", rhymes, "--cache", 200).out
    assert both.splitlines()[0] == plain.splitlines()[0]
    assert re.search(r"perplexity [\d.]+ per word, [\d.]+ per token with a cache", both)
    assert re.search(r"cache: the last 200 tokens, theta \d+ and lambda 0[\d.]* chosen on the validation text", both)
    found = json.loads(succeed("evaluate", rhymes, "--json", "--file", VALID, "--cache", 200).out)
    alone, cached = found["rhymes-valid.txt"]["scores"]
    assert (alone["name"], alone["cache"], cached["name"]) == ("perplexity", "", "perplexity with a cache")
    assert cached["value"] <= alone["value"]  # on the text that it was chosen on
    assert "a cache holds from 1 to 100,000 tokens" in fail("evaluate", rhymes, "--cache", 100_001)
    assert "a cache of what was read is of one model" in fail("evaluate", rhymes, rhymes, "--cache", 10)


def test_scores_of_a_language_model_are_stored(rhymes: Path) -> None:
    succeed("evaluate", rhymes, "--save")
    stored = load_trained(rhymes).provenance["scores"]["valid"][0]
    assert stored["name"] == "perplexity"
    assert "perplexity on valid" in regard.load(rhymes).facts()


def test_a_file_without_text(rhymes: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_bytes(b"")
    assert "holds no text" in fail("evaluate", rhymes, "--file", tmp_path / "empty.txt")
    assert "missing.txt: No such file" in fail("evaluate", rhymes, "--file", tmp_path / "missing.txt")


def test_what_is_of_other_tasks_is_refused(rhymes: Path, tmp_path: Path) -> None:
    assert "--output is of the task 'translation' or 'text-classification'" in fail(
        "evaluate", rhymes, "--output", tmp_path / "out"
    )
    assert "--beam is of the task 'translation'" in fail("view", rhymes, "text", "--beam", 3)
    assert "should end in .html" in fail("view", rhymes, "text", "-o", tmp_path / "page.png")
