"""`regard recipes`, recipes by name, and what a wheel carries of them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import regard
from regard.config import recipes
from regard.config.shipped import shipped_recipes
from regard.errors import ConfigError
from tests.commands.calling import ROOT, fail, succeed


def test_every_recipe_is_listed_with_a_sentence() -> None:
    files = [*ROOT.glob("recipes/*/*.toml"), *(ROOT / "regard" / "bundled").glob("*.toml")]
    known = shipped_recipes()
    assert len(known) == len(files)  # no two have one name
    lines = succeed("recipes").lines
    for name, recipe in known.items():
        assert re.fullmatch(r"[^#].{15,}\.", recipe.about), name
        assert any(line.split() == [name, *recipe.about.split()] for line in lines), name
    told = json.loads(succeed("recipes", "--json").out)
    assert [each["name"] for each in told] == [*known]


def test_a_recipe_is_shown_and_copied_but_overwrites_nothing(tmp_path: Path) -> None:
    original = ROOT / "recipes" / "translate" / "tiny.toml"
    assert succeed("recipes", "show", "tiny").out == original.read_text(encoding="utf-8")
    answer = succeed("recipes", "copy", "tiny", tmp_path / "mine")
    copied = tmp_path / "mine" / "tiny.toml"
    assert copied.read_bytes() == original.read_bytes()
    assert f"regard train {copied} --dry-run" in answer.out
    copied.write_text("mine")
    assert "already" in fail("recipes", "copy", "tiny", tmp_path / "mine")
    assert copied.read_text() == "mine"
    assert "Did you mean 'tiny'? `regard recipes` lists" in fail("recipes", "copy", "tinny")
    assert "Did you mean 'tiny'?" in fail("train", "tinny", "--dry-run")


def test_a_name_is_a_recipe_whose_data_is_looked_for_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recipe = recipes.load("multi30k-de-en")
    assert recipe.name == "multi30k-de-en"
    assert recipe.data.folder == str(tmp_path.resolve())  # and not inside of the package
    (tmp_path / "tiny").write_text("[[data]")
    with pytest.raises(ConfigError, match="tiny is not valid TOML"):
        recipes.load("tiny")  # a file that is there is meant first
    assert "the recipe is sound" in succeed("train", "quickstart", "--dry-run").out


def test_no_page_or_message_fetches_somebody_elses_package() -> None:
    files = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("regard/**/*.py"), *ROOT.glob("recipes/*/*.toml")]
    wrong = re.compile(r"pip3? install (?:-\S+ )*'?\"?regard\b")
    assert [str(file) for file in files if wrong.search(file.read_text(encoding="utf-8"))] == []


@pytest.mark.slow
def test_wheel_and_sdist_carry_the_recipes(tmp_path: Path) -> None:
    setuptools = pytest.importorskip("setuptools", "77")
    clone = tmp_path / "clone"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "clothes-*", "*.safetensors")
    for name in ("regard", "recipes"):
        shutil.copytree(ROOT / name, clone / name, ignore=ignored)
    for name in (
        "pyproject.toml",
        "setup.py",
        "MANIFEST.in",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "constraints.txt",
    ):
        shutil.copyfile(ROOT / name, clone / name)
    program = "from setuptools.build_meta import *; build_wheel('..'); build_sdist('..')"
    env = {**os.environ, "PYTHONPATH": str(Path(setuptools.__file__).parent.parent)}
    subprocess.run([sys.executable, "-c", program], cwd=clone, check=True, capture_output=True, env=env)
    names = {str(path.relative_to(ROOT)) for path in ROOT.glob("recipes/*/*.toml")}
    (wheel,), (sdist,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    assert wheel.name.startswith(f"regard-{regard.__version__}-")
    with zipfile.ZipFile(wheel) as packed:
        assert {f"regard/bundled/{name}" for name in names} <= {*packed.namelist()}
        packed.extractall(tmp_path / "site")
    with tarfile.open(sdist) as packed_too:
        assert {f"regard-{regard.__version__}/{name}" for name in names} <= {*packed_too.getnames()}
    env["PYTHONPATH"] = str(tmp_path / "site")
    listed = subprocess.run(
        [sys.executable, "-m", "regard", "recipes", "--json"], cwd=tmp_path, check=True, capture_output=True, env=env
    )
    found = json.loads(listed.stdout)
    assert {each["name"] for each in found} == {*shipped_recipes()}
    assert all(Path(each["file"]).is_relative_to(tmp_path / "site") for each in found)
