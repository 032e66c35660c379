"""The movie: frames of real attention that take no part in training, and what a page makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import regard
from regard.errors import CheckpointError
from regard.tasks.movie_file import MOST_FRAMES, load_movie
from regard.view.arrays import pack_probabilities, unpack
from tests.training.toy import contents, train

FILMED = ("training.probes=3", "training.probe_every=3", "training.keep=last")


@pytest.fixture(scope="module")
def filmed(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("filmed") / "run"
    train(recipe, run, *FILMED)
    return run


def frames(run: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text(encoding="utf-8")) for path in sorted((run / "movie").iterdir())]


def test_filming_changes_no_bit_of_the_run(recipe: Path, filmed: Path, tmp_path: Path) -> None:
    train(recipe, tmp_path / "run", "training.keep=last")
    plain, other = contents(tmp_path / "run"), contents(filmed)
    with_movie = {name for name in other if name.startswith("movie")}
    assert len(with_movie) == 7
    for name in set(plain) - {"config.toml", "model.safetensors"}:  # which tell of the setting itself
        assert other[name] == plain[name]
    assert other["model.safetensors"][1] == plain["model.safetensors"][1]


def test_frames_are_taken_as_often_as_asked(filmed: Path, recipe: Path, tmp_path: Path) -> None:
    assert [frame["update"] for frame in frames(filmed)] == [0, 3, 5, 6, 9, 10, 12]
    train(recipe, tmp_path / "run", "training.probes=1")  # at every validation, the last of which is not a multiple
    assert [frame["update"] for frame in frames(tmp_path / "run")] == [0, 5, 10, 12]


def test_a_frame_holds_the_attention_of_that_moment(filmed: Path) -> None:
    last = frames(filmed)[-1]["probes"]
    assert len(last) == 3
    translator = regard.load(filmed)  # the weights after update 12: nothing was averaged
    for probe in last:
        weights = unpack(probe["cross"])
        assert weights.shape[2:] == (len(probe["target"]["tokens"]), len(probe["source"]["tokens"]))
        assert np.allclose(weights.sum(-1), 1, atol=1e-3)
        ids = [translator.tokenizer.encode(probe[side]["text"], side) for side in ("source", "target")]
        again = translator._look(probe["source"]["text"], ids[0], [*ids[1], 2], translator.tokenizer).weights["cross"]
        assert np.allclose(weights, again, atol=2e-5)
        assert probe["text"] == translator.translate(probe["source"]["text"], beam=1).text


def test_the_movie_has_the_curve_beside_the_frames(filmed: Path) -> None:
    movie = load_movie(filmed)
    assert movie is not None
    measured = {frame["update"]: frame["metrics"] for frame in movie["frames"]}
    assert list(measured) == [0, 3, 5, 6, 9, 10, 12]
    lines = [json.loads(line) for line in (filmed / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    bleu = {line["update"]: line["bleu"] for line in lines if line["kind"] == "valid"}
    assert {update: facts["bleu"] for update, facts in measured.items() if "bleu" in facts} == bleu
    loss = {line["update"]: line["loss"] for line in lines if line["kind"] == "train"}
    assert {update: facts["loss"] for update, facts in measured.items() if "loss" in facts} == loss
    assert measured[3] == {}  # nothing was measured there, so nothing is told


def test_a_run_that_was_not_filmed_has_no_movie(tmp_path: Path) -> None:
    assert load_movie(tmp_path) is None


def test_a_long_movie_is_shown_in_part(tmp_path: Path) -> None:
    (tmp_path / "movie").mkdir()
    side = {"text": "a", "tokens": ["▁a"], "words": [{"first": 0, "end": 1, "text": "a"}]}
    probe = {"source": side, "target": side, "cross": pack_probabilities(np.ones((1, 1, 1, 1))), "text": "a"}
    for update in range(1, 200):
        frame = {"update": update, "probes": [probe]}
        (tmp_path / "movie" / f"{update:08d}.json").write_text(json.dumps(frame), encoding="utf-8")
    movie = load_movie(tmp_path)
    assert movie is not None
    updates = [frame["update"] for frame in movie["frames"]]
    assert len(updates) == MOST_FRAMES
    assert (updates[0], updates[-1]) == (1, 199)
    assert updates == sorted(set(updates))


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"update": 1, "probes": []}',
    '{"update": [1], "probes": [{"cross": {"shape": []}, "text": "", "source": {"tokens": []}, "target": {"tokens": []}}]}',
    '{"update": 1, "probes": [{"cross": {"shape": []}}]}', '{"update": 1, "probes": {"a": 1}}', "[" * 100_000])  # fmt: skip
def test_a_damaged_frame_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "movie").mkdir()
    (tmp_path / "movie" / "00000001.json").write_text(content, encoding="utf-8")
    with pytest.raises(CheckpointError, match=r"00000001\.json is not a frame"):
        load_movie(tmp_path)
