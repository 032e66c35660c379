"""`regard train`, and its dry run."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import regard
from regard.data.corpus import locate
from regard.data.labelled import read_split
from tests.commands.calling import ROOT, fail, prepared, succeed
from tests.tasks.labelled import MOODS


def test_a_bad_recipe_says_all_its_mistakes_and_starts_nothing(tmp_path: Path) -> None:
    recipe = tmp_path / "bad.toml"
    recipe.write_text("[model]\nhead = 4\n[training]\nupdates = 'x'\n", encoding="utf-8")
    for verb in ("train", "prepare"):
        said = fail(verb, recipe, "--set", "model.norm=past")
        assert f"unknown setting 'model.head' ({recipe}, line 2). Did you mean 'model.heads'?" in said
        assert f"training.updates must be a whole number, not 'x' ({recipe}, line 4)" in said
        assert "not 'past' (--set model.norm=past)" in said
    recipe.write_text("[data]\ntrain = ['a.tsv']\n", encoding="utf-8")
    for command in (("train",), ("train", "--dry-run"), ("prepare",)):
        assert "data.valid is not set" in fail(*command, recipe)
    assert os.listdir(tmp_path) == ["bad.toml"]


def test_text_that_is_not_there(tmp_path: Path) -> None:
    recipe = tmp_path / "missing.toml"
    recipe.write_text("[data]\ntrain = ['a.tsv']\nvalid = ['b.tsv']\n", encoding="utf-8")
    assert f"no file {tmp_path / 'a.tsv'}" in fail("prepare", recipe)
    assert f"no folder {tmp_path / 'none'}" in fail("prepare", recipe, "--data", tmp_path / "none")
    said = fail("train", recipe, "--dry-run", "--set", "model.size=tiny", "--set", "training.batch_tokens=128")
    assert str(tmp_path / "a.tsv") in said
    assert str(tmp_path / "b.tsv") in said


def test_a_dry_run_counts_and_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    out = succeed("train", ROOT / "recipes" / "translate" / "tiny.toml", "--dry-run").out
    assert "2,000 tokens" in out
    assert out.count("tokens/s") == 2
    assert "the recipe is sound" in out
    assert not os.listdir(tmp_path)


def test_a_dry_run_counts_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "165,667 parameters with 600 tokens and 3 labels" in succeed("train", "bundled:moods.toml", "--dry-run").out
    assert "Did you mean 'bundled:moods.toml'?" in fail("train", "bundled:mood.toml")
    for nothing in ("bundled:", "bundled:.", "bundled:demo.safetensors.toml"):
        said = fail("train", nothing)
        assert f"no recipe at {nothing}." in said
        assert "bundled:rhymes.toml" in said
        assert "Errno" not in said


def test_a_dry_run_reads_the_first_pair_of_each_text(tmp_path: Path) -> None:
    recipe = tmp_path / "my.toml"
    recipe.write_text(
        "[data]\ntrain = ['train.tsv']\nvalid = ['valid.tsv']\ntarget_column = 3\n"
        "test = {own = ['a', 'b'], far = ['far.tsv']}\ndownload = {'far.tsv' = 'http://localhost:1/x 0'}\n"
        "[model]\nsize = 'tiny'\n[training]\nbatch_tokens = 128\n",
        encoding="utf-8",
    )
    (tmp_path / "train.tsv").write_text("no tabs at all\n", encoding="utf-8")
    (tmp_path / "valid.tsv").write_text("one\ttwo\n", encoding="utf-8")
    for name in "ab":
        (tmp_path / name).touch()
    said = fail("train", recipe, "--dry-run")
    assert f"data.train: {tmp_path / 'train.tsv'}, line 1 has 1 tab-separated columns, but column 3" in said
    assert f"data.valid: {tmp_path / 'valid.tsv'}, line 1 has 2 tab-separated columns, but column 3" in said
    assert f"data.test.own: {tmp_path / 'a'} and {tmp_path / 'b'} are empty" in said
    assert "far" not in said
    for name in ("train.tsv", "valid.tsv"):
        (tmp_path / name).write_text("0\tone\ttwo\n", encoding="utf-8")
    for name in "ab":
        (tmp_path / name).write_text("one\n", encoding="utf-8")
    assert "the recipe is sound" in succeed("train", recipe, "--dry-run").out


SMALL = "[tokenizer]\nvocabulary = 300\n[model]\nsize = 'tiny'\nwidth = 8\nfeed_forward = 8\n[training]\nbatch_tokens = 128\n"


def labelled(folder: Path, rows: list[tuple[str, str]], columns: str = "label = '1'\ntext = '2'") -> Path:
    """A recipe of text classification and its rows."""
    (folder / "rows.tsv").write_text("".join(f"{label}\t{text}\n" for label, text in rows), encoding="utf-8")
    recipe = folder / "labels.toml"
    recipe.write_text(
        f"task = 'text-classification'\n[data]\ntrain = ['rows.tsv']\n{columns}\n{SMALL}", encoding="utf-8"
    )
    return recipe


def test_a_dry_run_counts_the_labels_of_all_rows(tmp_path: Path) -> None:
    rows = [("bad", f"text {number}") for number in range(12_500)] + [("good", "a text")] * 2
    assert "and 2 labels" in (out := succeed("train", labelled(tmp_path, rows), "--dry-run").out)
    assert "the recipe is sound" in out
    said = fail("train", labelled(tmp_path, rows[:-2]), "--dry-run")  # one row in ten is held out
    assert "data.train: every one of its 11,251 texts has the label 'bad'; there is nothing to learn" in said


def test_a_dry_run_notices_that_labels_are_texts(tmp_path: Path) -> None:
    rows = [("bad" if number % 2 else "good", f"text {number}") for number in range(60)]
    told = "data.label = '2' holds 60 different labels in 60 rows"
    out = succeed("train", labelled(tmp_path, rows, "label = '2'\ntext = '1'"), "--dry-run").out
    assert f"data.train: {told}, and data.text = '1' only 2 texts: are the columns swapped?" in out
    numbered = [(str(number), text) for number, (_, text) in enumerate(rows)]
    out += succeed("train", labelled(tmp_path, numbered), "--dry-run").out
    assert "data.label = '1' holds 60 different labels in 60 rows: does it hold text, or a number of each row?" in out
    assert "sound" not in out
    assert "holds" not in succeed("train", labelled(tmp_path, rows), "--dry-run").out


def aligned(folder: Path, sources: list[str], targets: list[str], more: str = "") -> Path:
    """A recipe of translation, and its line-aligned text."""
    for name, lines in (("a", sources), ("b", targets), ("valid.a", ["x"]), ("valid.b", ["y"])):
        (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    recipe = folder / "pairs.toml"
    data = f"[data]\ntrain = ['a', 'b']\nvalid = ['valid.a', 'valid.b']\n{more}\n"
    recipe.write_text(data + SMALL, encoding="utf-8")
    return recipe


@pytest.mark.parametrize("enough", [1_000_000, 50])
def test_a_dry_run_reads_aligned_files_to_their_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enough: int
) -> None:
    monkeypatch.setattr("regard.tasks.translation.training.ENOUGH_EXAMPLES", enough)
    assert "the recipe is sound" in succeed("train", aligned(tmp_path, ["a"] * 300, ["b"] * 300), "--dry-run").out
    said = fail("train", aligned(tmp_path, ["a"] * 300, ["b"] * 272), "--dry-run")
    assert f"data.train: {tmp_path / 'a'} has 300 lines, but {tmp_path / 'b'} has 272" in said


def test_a_dry_run_notices_that_pairs_will_be_skipped(tmp_path: Path) -> None:
    long = ["one two three four five six"] * 9
    said = fail("train", aligned(tmp_path, ["a"] * 9, long, "max_tokens = 5"), "--dry-run")
    assert (
        "data.train: none of its 9 pairs can be used: a side is empty or has more words than data.max_tokens = 5"
        in said
    )
    out = succeed("train", aligned(tmp_path, ["a"] * 10, [*long, "b"], "max_tokens = 5"), "--dry-run").out
    assert "data.train: 9 of 10 pairs will be skipped, or more" in out
    assert "sound" not in out
    assert "sound" in succeed("train", aligned(tmp_path, ["a"] * 9, long, "max_tokens = 6"), "--dry-run").out


def test_two_tables_are_no_source_and_target(tmp_path: Path) -> None:
    recipe = aligned(tmp_path, ["ein Hund\ta dog"] * 3, ["eine Kuh\ta cow"] * 3)
    for command in (("train", recipe, "--dry-run"), ("prepare", recipe, *prepared(tmp_path))):
        said = fail(*command)
        assert f"{tmp_path / 'a'} has a tab in every line" in said
        assert "[[data.corpus]]" in said


def test_a_dry_run_wants_more_than_blank_lines(tmp_path: Path) -> None:
    (tmp_path / "blank.txt").write_text("\n \n", encoding="utf-8")
    recipe = tmp_path / "text.toml"
    data = "task = 'language-model'\n[data]\ntrain = ['blank.txt']\nvalid = ['blank.txt']\ndocuments = 'stream'\n"
    recipe.write_text(data + SMALL, encoding="utf-8")
    assert "data.train: all lines are blank" in fail("train", recipe, "--dry-run")


def test_a_dry_run_without_tensorboard_or_where_memory_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("train", ROOT / "recipes" / "translate" / "tiny.toml", "--dry-run", "--set", "training.batch_tokens=128")
    monkeypatch.setitem(sys.modules, "resource", None)  # as on Windows
    out = succeed(*command).out
    assert "the recipe is sound" in out
    assert "peak memory" not in out
    monkeypatch.setattr("regard.training.log.find_spec", lambda name: None)
    assert "needs TensorBoard" in fail(*command, "--set", "training.tensorboard=true")


def test_training_goes_on_only_with_the_same_settings(folder: Path, run: Path) -> None:
    same = ("train", folder / "toy.toml", "--run", run, *prepared(folder))
    before = (run / "model.safetensors").read_bytes()
    assert "all updates done" in succeed(*same).out
    assert (run / "model.safetensors").read_bytes() == before
    assert 'model.norm: "post" → "pre"' in fail(*same, "--set", "model.norm=pre")


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
