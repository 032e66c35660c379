"""`regard classify`, and `evaluate` and `view` of a classifier, on a toy that `regard train` makes of the bundled moods."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import regard
from regard.data.corpus import locate
from regard.data.labelled import read_split
from regard.tasks.texts import LOOK_AHEAD
from regard.tasks.trained import load_trained
from tests.tasks.labelled import MOODS
from tests.test_cli import call, fail, succeed

QUICK = ("training.updates=45", "training.validate_every=45", "data.max_tokens=40", "training.learning_rate=5e-3")
GOOD, BAD = "The soup was wonderful!", "국물은 너무 실망스러웠다."
LONG = " ".join([GOOD] * 30)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("moods")
    settings = [word for each in (*QUICK, f"data.prepared={folder}/prepared") for word in ("--set", each)]
    recipe = Path(regard.__file__).parent / "bundled" / "moods.toml"
    answer = succeed("train", recipe, "--run", folder / "run", *settings)
    assert f"regard classify {folder / 'run'} 'some text'" in answer.out
    return folder / "run"


def test_one_line_in_one_line_out(model: Path, tmp_path: Path) -> None:
    given = [GOOD, "", BAD, " ", "!"]
    found = regard.load(model, task="text-classification").classify(given)
    wanted = [f"{each.label}\t{each.probabilities[each.label]:.4f}" if each.label else "\t" for each in found]
    assert succeed("classify", model, *given).lines == wanted
    text = "".join(f"{line}\n" for line in given)
    assert succeed("classify", model, stdin=text.encode()).lines == wanted
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    with gzip.open(tmp_path / "in.txt.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    for name in ("in.txt", "in.txt.gz"):
        assert succeed("classify", model, "--file", tmp_path / name).lines == wanted
    assert succeed("classify", model, "two\nlines").lines == [succeed("classify", model, "two lines").out.rstrip("\n")]
    assert succeed("classify", model, stdin=b"").out == ""


def test_all_labels(model: Path) -> None:
    first, empty = succeed("classify", model, GOOD, "", "--all").lines
    cells = first.split("\t")
    assert sorted(cells[::2]) == ["negative", "neutral", "positive"]
    assert sum(map(float, cells[1::2])) == pytest.approx(1, abs=2e-4)
    label, share = succeed("classify", model, GOOD).lines[0].split("\t")
    assert (cells[0], float(cells[1])) == (
        label,
        pytest.approx(float(share), abs=2e-4),
    )  # alone: the last digit may differ
    assert empty == "\t"


def test_json_is_what_python_says(model: Path) -> None:
    classifier = regard.load(model, task="text-classification")
    lines = succeed("classify", model, GOOD, "", LONG, "--json").lines
    for line, found in zip(lines, classifier.classify([GOOD, "", LONG]), strict=True):
        told = json.loads(line)
        assert told.pop("probabilities") == pytest.approx(dict(found.probabilities), abs=1e-5)
        assert told == {key: value for key, value in found.to_dict().items() if key != "probabilities"}


def test_long_texts_are_counted(model: Path) -> None:
    answer = succeed("classify", model, LONG, GOOD, LONG)
    assert len(answer.lines) == 3
    assert '2 text(s) longer than data.max_tokens = 40: read was half from each end (data.long = "ends")' in answer.err
    assert succeed("classify", model, GOOD).err == ""


def test_mistakes(model: Path, tmp_path: Path) -> None:
    assert "not both" in fail("classify", model, GOOD, "--file", tmp_path / "x")
    assert "cannot read" in fail("classify", model, "--file", tmp_path / "x")
    assert "demo cannot classify: its task is 'translate'. Try: regard translate demo" in fail("classify", "demo", GOOD)
    assert "cannot translate: its task is 'classify'. Try: regard classify" in fail("translate", model, GOOD)
    broken = call("classify", model, stdin=GOOD.encode() + b"\n\xff\n")
    assert broken.code == 2
    assert len(broken.lines) == 1  # what came before is answered
    assert "standard input, line 2 is not UTF-8" in broken.err


def test_a_million_lines_are_not_read_ahead(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    class Lines(io.BytesIO):
        def __iter__(self) -> Iterator[bytes]:  # type: ignore[override]
            nonlocal read
            while read < 1_000_000:
                read += 1
                yield GOOD.encode() + b"\n"

    class Pipe:
        buffer = Lines()

        def isatty(self) -> bool:
            return False

    from regard.commands.app import standard_input

    monkeypatch.setattr(sys, "stdin", Pipe())
    answers = regard.load(model, task="text-classification").stream(standard_input())
    for _ in range(10):
        next(answers)
    assert read <= LOOK_AHEAD


def test_evaluate(model: Path, tmp_path: Path) -> None:
    answer = succeed("evaluate", model, "--output", tmp_path / "out")
    told = json.loads(succeed("evaluate", model, "--json").out)["test"]
    classifier = regard.load(model, task="text-classification")
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


def test_evaluate_a_file(model: Path, tmp_path: Path) -> None:
    rows = [f"{text}\t{label}" for text, label, _ in read_split(MOODS, "valid")][:9]
    (tmp_path / "mine.tsv").write_text("\n".join(["text\tlabel", *rows, "\tneutral", ""]), encoding="utf-8")
    told = json.loads(succeed("evaluate", model, "--file", tmp_path / "mine.tsv", "--json").out)["mine.tsv"]
    assert (told["scores"][0]["texts"], told["empty"]) == (9, 1)
    answer = succeed("evaluate", model, "--file", tmp_path / "mine.tsv", "--output", tmp_path / "out")
    assert "mine.tsv (9 texts; 1 empty ones do not count)" in answer.out
    assert (tmp_path / "out" / "mine.tsv.tsv").read_text(encoding="utf-8").splitlines()[-1] == "\t0.0000\tneutral"
    (tmp_path / "mine.tsv").write_text("text\tlabel\nx\tpositive\ny\tpositiv\n", encoding="utf-8")
    said = fail("evaluate", model, "--file", tmp_path / "mine.tsv")
    assert "mine.tsv, line 3: the label 'positiv' does not occur" in said
    assert "Did you mean 'positive'?" in said
    (tmp_path / "mine.tsv").write_text("text\tlabel\n\tpositive\n", encoding="utf-8")
    assert "none of its 1 texts has any words" in fail("evaluate", model, "--file", tmp_path / "mine.tsv")
    assert "--beam is of the task 'translate'; the task of" in fail("evaluate", model, "--beam", 3)
    (tmp_path / "mine.tsv").write_text("\n".join(["text\tlabel", *rows, ""]), encoding="utf-8")
    (tmp_path / "mine.tsv").rename(tmp_path / "mine")
    before = (tmp_path / "mine").read_bytes()
    (tmp_path / "mine.tsv").symlink_to(tmp_path / "mine")
    said = fail("evaluate", model, "--file", tmp_path / "mine", "--output", tmp_path)
    assert "would overwrite" in said
    assert (tmp_path / "mine").read_bytes() == before
    assert "is a classifier: regard classify --all" in fail("score", model, "text")
    assert "--stride is of the task 'language-model'" in fail("evaluate", model, "--stride", 3)
    assert "--beam is of the task 'translate'" in fail("view", model, "text", "--beam", 3)


def test_scores_are_stored(model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "run")
    before = succeed("classify", tmp_path / "run", GOOD).out
    succeed("evaluate", tmp_path / "run", "--save")
    (accuracy, *others) = load_trained(tmp_path / "run").provenance["scores"]["test"]
    assert (accuracy["name"], [each["name"] for each in others]) == ("accuracy", ["macro-F1", "calibration error"])
    assert (
        regard.load(tmp_path / "run", task="text-classification").facts()["accuracy on test"]
        == f"{accuracy['value']:.1f}"
    )
    assert succeed("classify", tmp_path / "run", GOOD).out == before


def test_view(model: Path, tmp_path: Path) -> None:
    answer = succeed("view", model, GOOD)
    label = regard.load(model, task="text-classification").classify(GOOD).label
    assert f"for {label}:" in answer.out
    assert "█" in answer.out
    page = tmp_path / "page.html"
    assert succeed("view", model, BAD, "-o", page).out == f"wrote {page}\n"
    assert "실망스러웠다" in page.read_text(encoding="utf-8")
    assert "half from each end" in succeed("view", model, LONG, "-o", page).err
    assert "an empty text has nothing to look at" in fail("view", model, "")


def test_bundled_moods_are_what_their_script_makes() -> None:
    from regard.bundled.make_moods import rows

    assert locate("bundled:moods.tsv", MOODS).read_text(encoding="utf-8") == "".join(f"{row}\n" for row in rows())
    texts = {split: {each.text for each in read_split(MOODS, split)} for split in ("train", "valid", "test")}
    assert sum(map(len, texts.values())) == len(set.union(*texts.values())) == len(rows()) - 1 == 320


@pytest.mark.slow
def test_the_bundled_recipe_learns(tmp_path: Path) -> None:
    recipe = Path(regard.__file__).parent / "bundled" / "moods.toml"
    succeed("train", recipe, "--run", tmp_path / "run", "--set", f"data.prepared={tmp_path}/prepared")
    assert json.loads(succeed("evaluate", tmp_path / "run", "--json").out)["test"]["scores"][0]["value"] > 90
