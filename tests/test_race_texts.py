"""Races of classifiers and of language models: the same race, judged by accuracy and by perplexity."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from regard.config import recipes
from regard.errors import UsageError
from regard.experiments.race import measures, racing
from regard.experiments.race.entrants import Budget, build_entrants
from regard.tasks.registry import find_task
from regard.view.arrays import unpack

TRAINING = """
[training]
batch_tokens = 600
updates = 6
learning_rate = 3e-3
warmup = 2
validate_every = 3
average = 1
threads = 1
"""
MOODS = """
task = "text-classification"
[data]
train = ["bundled:moods.tsv"]
valid = ["bundled:moods.tsv"]
text = "text"
label = "label"
split = "split"
prepared = "{folder}/prepared"
max_tokens = 24
[data.test]
test = ["bundled:moods.tsv"]
[tokenizer]
vocabulary = 560
coverage = 1.0
[model]
size = "tiny"
width = 32
feed_forward = 64
heads = 2
layers = 1
max_positions = 32
ngrams = 2
buckets = 300
"""
RHYMES = """
task = "text-generation"
[data]
train = ["bundled:rhymes.txt"]
valid = ["bundled:rhymes-valid.txt"]
prepared = "{folder}/prepared"
max_tokens = 32
[tokenizer]
vocabulary = 400
coverage = 1.0
[model]
size = "tiny"
width = 32
feed_forward = 64
heads = 2
layers = 1
max_positions = 33
"""


@pytest.fixture(autouse=True, scope="module")
def quick() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "training_memory", lambda recipe: 123_000_000)
        patch.setattr(measures, "TIMED", 3)
        patch.setattr(measures, "ROUNDS", 1)
        yield


def raced(tmp_path_factory: pytest.TempPathFactory, name: str, recipe: str) -> tuple[Path, dict[str, Any], str]:
    folder = tmp_path_factory.mktemp(name)
    (folder / "toy.toml").write_text(recipe.format(folder=folder) + TRAINING, encoding="utf-8")
    said = io.StringIO()
    console = Console(file=said, width=300)
    found = racing.race(folder / "toy.toml", run=folder / "race", console=console, command="regard race")
    found.draw(console)
    return folder, json.loads((folder / "race" / "race.json").read_text(encoding="utf-8")), said.getvalue()


@pytest.fixture(scope="module")
def moods(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    return raced(tmp_path_factory, "moods", MOODS)


@pytest.fixture(scope="module")
def rhymes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    return raced(tmp_path_factory, "rhymes", RHYMES)


def test_all_classifiers_race_unless_some_are_named(moods: tuple[Path, dict[str, Any], str]) -> None:
    folder, comparison, said = moods
    names = [lane["name"] for lane in comparison["entrants"]]
    assert names == ["rnn", "rnn-attention", "conv", "transformer"]
    assert (comparison["task"], comparison["curve"], comparison["lower"]) == ("text-classification", "accuracy", False)
    own = comparison["entrants"][-1]["parameters"]
    for lane in comparison["entrants"]:
        assert own / 3 < lane["parameters"] <= own, "n-grams are counted, and all have them"
        assert lane["model"]["ngrams"] == 2
        assert (folder / "race" / lane["name"] / "model.safetensors").is_file()
        assert [point["update"] for point in lane["curve"]] == [3, 6]
        assert all(0 <= point["score"] <= 100 for point in lane["curve"])
    assert "accuracy, 95 %" in said


def test_accuracies_are_those_of_the_answers(moods: tuple[Path, dict[str, Any], str]) -> None:
    folder, comparison, _ = moods
    recipe = recipes.load(folder / "toy.toml")
    judge = find_task(recipe.task).judge
    assert judge is not None
    (test_set,) = judge.test_sets(recipe)
    for lane in comparison["entrants"]:
        kept = json.loads((folder / "race" / lane["name"] / "race.json").read_text(encoding="utf-8"))
        right = np.mean([given == wanted for given, wanted in zip(kept["answers"], test_set.references, strict=True)])
        (score,) = lane["scores"]
        assert score["value"] == pytest.approx(100 * right)
        assert score["low"] <= score["value"] <= score["high"]
    assert len(comparison["pairs"]) == 6
    assert {each["reference"] for each in comparison["samples"]} <= {*test_set.references}


def test_looks_of_classifiers_are_shares_of_words(moods: tuple[Path, dict[str, Any], str]) -> None:
    for sample in moods[1]["samples"]:
        assert [sample["looks"][name] for name in ("rnn", "conv")] == [None, None]
        for name in ("rnn-attention", "transformer"):
            look = sample["looks"][name]
            weights = unpack(look["weights"])
            assert weights.shape == (1, len(look["source"]))
            assert weights.sum() == pytest.approx(1, abs=1e-3)
            assert look["target"][0].startswith(sample["answers"][name])


def test_language_models_race_for_perplexity(rhymes: tuple[Path, dict[str, Any], str]) -> None:
    folder, comparison, said = rhymes
    assert [lane["name"] for lane in comparison["entrants"]] == ["rnn", "transformer"]
    assert comparison["lower"]
    assert comparison["test_set"]["name"] == "valid", "a recipe without tests is judged by its validation text"
    best, other = sorted(comparison["entrants"], key=lambda lane: lane["scores"][0]["value"])
    assert f"{best['name']} is ahead" in said
    assert f"less than {other['name']}" in said
    for lane in comparison["entrants"]:
        kept = json.loads((folder / "race" / lane["name"] / "race.json").read_text(encoding="utf-8"))
        logs, words = np.array(kept["answers"]).sum(0)
        assert lane["scores"][0]["value"] == pytest.approx(math.exp(-logs / words))
    for sample in comparison["samples"]:
        assert sample["looks"]["rnn"] is None
        look = sample["looks"]["transformer"]
        weights = unpack(look["weights"])
        assert weights.shape == (len(look["target"]), len(look["source"]))
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-3)
        assert sample["answers"]["rnn"].startswith("perplexity ")


@pytest.mark.parametrize("finished", ["moods", "rhymes"])
def test_pages_are_written(finished: str, request: pytest.FixtureRequest) -> None:
    folder, comparison, _ = request.getfixturevalue(finished)
    page = (folder / "race" / "race.html").read_text(encoding="utf-8")
    assert comparison["meaning"]["ko"] in page


def test_only_what_a_task_has_can_run(moods: tuple[Path, dict[str, Any], str], tmp_path: Path) -> None:
    folder, *_ = moods
    with pytest.raises(UsageError, match="unknown architecture 'cct'"):
        build_entrants(folder / "toy.toml", ["cct"], [], Budget())
    with pytest.raises(UsageError, match="whose models cannot race"):
        build_entrants(Path("bundled:clothes.toml"), None, [], Budget())
    entrants, _ = build_entrants(folder / "toy.toml", None, ["conv:training.clip=0.5"], Budget())
    assert [each.recipe.training.clip for each in entrants] == [1.0, 1.0, 0.5, 0.0]
