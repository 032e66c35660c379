"""`regard compare`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from regard.config import recipes
from tests.commands.calling import fail, succeed


def test_compare_files_and_models(folder: Path, run: Path, tmp_path: Path) -> None:
    references = (folder / "test.en").read_text(encoding="utf-8").splitlines()
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("".join(f"{line}\n" for line in references), encoding="utf-8")
    bad.write_text("".join(f"{line.split()[0]}\n" for line in references), encoding="utf-8")
    files = ("--target", folder / "test.en", "--resamples", 100)
    found = json.loads(succeed("compare", bad, good, *files, "--json").out)["test.en"]
    assert all(metric["difference"] > 0 for metric in found["metrics"])
    assert "B - A" in succeed("compare", bad, good, *files).out
    with_model = succeed("compare", run, good, "--source", folder / "test.de", *files, "--json")
    assert json.loads(with_model.out)["test.de"]["metrics"][0]["scores"][1] == pytest.approx(100.0)
    itself = json.loads(succeed("compare", run, run, "--resamples", 100, "--json").out)["test"]
    assert all(metric["difference"] == 0 and metric["p_value"] == 1 for metric in itself["metrics"])
    assert "--target" in fail("compare", bad, good)
    assert "each line needs exactly one reference" in fail("compare", bad, folder / "toy.tsv", *files)


def test_models_are_compared_on_each_test_set_of_the_first(folder: Path, run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    (tmp_path / "more.tsv").write_text("more\tJa.\tYes.\n", encoding="utf-8")
    more = [f"data.test.more=['{tmp_path / 'more.tsv'}']"]
    stored = recipes.load(run / "config.toml", more, finished=True)
    (copy / "config.toml").write_text(recipes.to_toml(stored), encoding="utf-8")
    options = ("--resamples", 100, "--worst", 0)
    both = json.loads(succeed("compare", copy, copy, *options, "--json").out)
    assert {name: found["sentences"] for name, found in both.items()} == {"test": 12, "more": 1}
    assert succeed("compare", copy, copy, "--test", "more", *options).lines[0] == "test set: more"
    assert "1 sentences" in succeed("compare", copy, copy, "--test", "more", *options).out
    assert list(json.loads(succeed("compare", run, copy, *options, "--json").out)) == ["test"]
    assert "no test set with the sentences of 'more'" in fail("compare", copy, run, *options)
    assert "no test set 'mor'. Did you mean 'more'?" in fail("compare", copy, run, "--test", "mor")
