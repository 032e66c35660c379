"""Movies of classifiers and language models: frames of real attention, in the same page frame as a translator's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard.tasks.classification.verbs import view as view_decision
from regard.tasks.language_model.page import tokens_read
from regard.tasks.language_model.verbs import view as view_text
from regard.tasks.movie_file import load_movie
from regard.view.arrays import unpack
from regard.view.words import text_of
from tests.test_race_texts import MOODS, RHYMES, TRAINING
from tests.training.toy import contents, train

FILMED = ("training.probes=2", "training.probe_every=2", "training.keep=last")
ATTENTION = 'model={architecture="rnn-attention", size="tiny", width=16, max_positions=32}'


@pytest.fixture(scope="module")
def recipes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("recipes")
    found = {name: folder / f"{name}.toml" for name in ("moods", "rhymes")}
    for (name, path), text in zip(found.items(), (MOODS, RHYMES), strict=True):
        path.write_text(text.format(folder=folder / name) + TRAINING, encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def moods(recipes: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("moods") / "run"
    train(recipes["moods"], run, *FILMED)
    return run


@pytest.fixture(scope="module")
def rhymes(recipes: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("rhymes") / "run"
    train(recipes["rhymes"], run, *FILMED)
    return run


def movie_of(run: Path) -> dict[str, Any]:
    movie = load_movie(run)
    assert movie is not None
    assert [frame["update"] for frame in movie["frames"]] == [0, 2, 3, 4, 6]
    return movie


@pytest.mark.parametrize("name", ["moods", "rhymes"])
def test_filming_changes_no_bit_of_the_run(
    name: str, recipes: dict[str, Path], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    train(recipes[name], tmp_path / "run", "training.keep=last")
    plain, other = contents(tmp_path / "run"), contents(request.getfixturevalue(name))
    assert plain["model.safetensors"][1] == other["model.safetensors"][1]
    plain, other = ([line for line in each["metrics.jsonl"] if line["kind"] == "valid"] for each in (plain, other))
    assert plain == other


def test_a_frame_of_a_classifier_is_what_it_attends_to_then(moods: Path) -> None:
    movie, classifier = movie_of(moods), regard.load(moods, task="text-classification")
    assert movie["kind"] == "encoder"
    for probe, seen in zip(movie["probes"], movie["frames"][-1]["probes"], strict=True):
        look = classifier.look(probe["source"]["text"])
        assert look.tokens == probe["source"]["tokens"] == probe["target"]["tokens"]
        np.testing.assert_allclose(unpack(seen["weights"]), look.weights, atol=2e-5)
        assert probe["target"]["text"] in classifier.labels
        assert seen["text"].split()[0] in classifier.labels
    assert {name for frame in movie["frames"] for name in frame["metrics"]} >= {"accuracy"}


def test_a_frame_of_a_language_model_is_where_it_looks_back_then(rhymes: Path) -> None:
    movie, writer = movie_of(rhymes), regard.load(rhymes, task="text-generation")
    assert movie["kind"] == "decoder"
    for probe, seen in zip(movie["probes"], movie["frames"][-1]["probes"], strict=True):
        look = writer.look(probe["source"]["text"])
        assert (tokens_read(look.read), look.tokens) == (probe["source"]["tokens"], probe["target"]["tokens"])
        np.testing.assert_allclose(unpack(seen["weights"]), look.weights, atol=2e-5)
        expected = [each.tokens[0] for each in look.alternatives]
        assert seen["text"].split() == text_of([each for each in expected if each != "</s>"]).split()
    assert {name for frame in movie["frames"] for name in frame["metrics"]} >= {"perplexity"}


def test_the_query_that_pools_is_one_row(recipes: dict[str, Path], tmp_path: Path) -> None:
    train(recipes["moods"], tmp_path / "run", *FILMED, ATTENTION)
    movie = movie_of(tmp_path / "run")
    assert movie["kind"] == "pooling"
    probe, seen = movie["probes"][0], movie["frames"][-1]["probes"][0]
    weights = unpack(seen["weights"])
    assert weights.shape == (1, 1, 1, len(probe["source"]["tokens"]))
    assert weights.sum() == pytest.approx(1, abs=1e-3)
    assert [word["text"] for word in probe["target"]["words"]] == ["query"]


@pytest.mark.parametrize("architecture", ["rnn", "conv"])
def test_what_has_no_attention_leaves_no_frames(architecture: str, recipes: dict[str, Path], tmp_path: Path) -> None:
    train(recipes["moods"], tmp_path / "run", *FILMED, ATTENTION.replace("rnn-attention", architecture))
    assert load_movie(tmp_path / "run") is None


@pytest.mark.parametrize(("name", "view"), [("moods", view_decision), ("rhymes", view_text)])
def test_the_page_carries_the_movie_and_its_first_text(
    name: str, view: Any, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run = request.getfixturevalue(name)
    view(run).write(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    data = json.loads(found)
    assert data["movie"] == load_movie(run)
    assert data["scenes"][0]["source"]["text"] == data["movie"]["probes"][0]["source"]["text"]
