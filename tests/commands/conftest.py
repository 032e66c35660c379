"""Toy models of each task, made by `regard train` as a user calls it."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

import regard
from regard.config import recipes
from regard.data.corpus import read_pairs
from tests.commands.calling import RHYMES, ROOT, prepared, succeed

RECIPE = """
[data]
source_language = "de"
target_language = "en"
train = ["toy.tsv"]
valid = ["toy.tsv"]
split_column = 1
source_column = 2
target_column = 3
max_tokens = 60
[data.test]
test = ["toy.tsv"]
[tokenizer]
vocabulary = 500
[model]
size = "tiny"
width = 32
feed_forward = 64
encoder_layers = 1
decoder_layers = 1
dropout = 0.0
[training]
batch_tokens = 512
updates = 30
learning_rate = 5e-3
warmup = 10
validate_every = 15
validate_sentences = 10
average = 1
threads = 1
[decoding]
beam = 2
max_ratio = 1.0
max_extra = 5
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`toy.toml` with its corpus, `run` trained from it, and the test set as two files."""
    folder = tmp_path_factory.mktemp("cli")
    bundled = recipes.load(ROOT / "recipes" / "translate" / "tiny.toml").data
    rows = []
    for split, count in (("train", 400), ("valid", 20), ("test", 12)):
        pairs = list(islice(read_pairs(bundled.train, bundled, split), count))
        rows += [f"{split}\t{source}\t{target}\n" for source, target in pairs]
    (folder / "test.de").write_text("".join(f"{source}\n" for source, _ in pairs), encoding="utf-8")
    (folder / "test.en").write_text("".join(f"{target}\n" for _, target in pairs), encoding="utf-8")
    (folder / "toy.tsv").write_text("".join(rows), encoding="utf-8")
    (folder / "toy.toml").write_text(RECIPE, encoding="utf-8")
    answer = succeed("train", folder / "toy.toml", "--run", folder / "run", *prepared(folder))
    assert "all updates done" in answer.out
    assert f"regard evaluate {folder / 'run'}" in answer.out
    return folder


@pytest.fixture(scope="session")
def run(folder: Path) -> Path:
    return folder / "run"


QUICK = ("training.updates=45", "training.validate_every=45", "data.max_tokens=40", "training.learning_rate=5e-3")
SMALL = ("training.updates=30", "training.validate_every=15", "model.width=32", "model.feed_forward=64")


@pytest.fixture(scope="session")
def moods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("moods")
    settings = [word for each in (*QUICK, f"data.prepared={folder}/prepared") for word in ("--set", each)]
    recipe = Path(regard.__file__).parent / "bundled" / "moods.toml"
    answer = succeed("train", recipe, "--run", folder / "run", *settings)
    assert f"regard classify {folder / 'run'} 'some text'" in answer.out
    return folder / "run"


@pytest.fixture(scope="session")
def rhymes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rhymes")
    settings = [word for each in (*SMALL, f"data.prepared={folder / 'prepared'}") for word in ("--set", each)]
    answer = succeed("train", RHYMES, "--run", folder / "run", *settings)
    assert "perplexity" in answer.out
    assert "regard generate" in answer.out
    return folder / "run"
