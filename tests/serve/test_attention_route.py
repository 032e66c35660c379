"""`/attention` for models of every task: the scenes that their pages draw, of the model as it is or changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from regard.data.tokenizer import Tokenizer
from regard.serve.limits import Limits
from regard.tasks.classification.classifier import Classifier
from regard.tasks.language_model.generator import TextGenerator
from regard.view.scenes import scenes_of
from tests.serve.conftest import Running, running
from tests.serve.test_refusals import refused
from tests.tasks.writers import recipe_of, untaught

TEXT = "the cat was"


@pytest.fixture(scope="module")
def server(tiny_classifier: Classifier, tiny_writer: TextGenerator, tiny_tokenizer: Tokenizer) -> Iterator[Running]:
    models = {
        "moods": tiny_classifier,
        "prose": tiny_writer,
        "recurrent": untaught(tiny_tokenizer, recipe_of("rnn", context=64)),
    }
    with running(models, Limits(attention_characters=100)) as made:
        yield made


CHANGES: list[dict[str, Any]] = [{}, {"off": {"layers.0.self_attention": [1]}}, {"temperature": 3.0}, {"hard": True}]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_the_scenes_are_those_of_the_changed_model(
    server: Running, tiny_classifier: Classifier, tiny_writer: TextGenerator, change: dict[str, Any]
) -> None:
    for name, model in (("moods", tiny_classifier), ("prose", tiny_writer)):
        with model.changed(**change):
            wanted = scenes_of(model.looks(TEXT) if name == "moods" else [model.look(TEXT)], walk=False)  # type: ignore[attr-defined]
        assert server.post("/attention", model=name, text=TEXT, **change).json()["scenes"] == wanted


def test_the_walk_comes_if_asked_for(server: Running) -> None:
    for name in ("moods", "prose"):
        [scene] = server.post("/attention", model=name, text=TEXT, walk=True).json()["scenes"]
        assert "layers.0.self_attention" in scene["walk"]
        assert [stack["layers"] for stack in scene["stacks"]] == ["layers"]


def test_a_model_without_attention_is_looked_at_but_not_changed(server: Running) -> None:
    [scene] = server.post("/attention", model="recurrent", text=TEXT).json()["scenes"]
    assert (scene["attention"], scene["stacks"], scene["positions"]) == ({}, [], None)
    assert "no attention that could be changed" in refused(
        server.post("/attention", model="recurrent", text=TEXT, hard=True), 422
    )


def test_what_cannot_be_is_said(server: Running) -> None:
    assert "beam has no effect" in refused(server.post("/attention", model="moods", text=TEXT, beam=3), 422)
    assert "characters to look at: 101" in refused(server.post("/attention", model="prose", text="a" * 101), 422)
    assert "nothing to look at" in refused(server.post("/attention", model="moods", text=" "), 422)
    assert "looks back at most" in refused(server.post("/attention", model="prose", text="x y " * 20), 422)


def test_too_many_numbers_are_refused_before_anything_is_computed(tiny_classifier: Classifier) -> None:
    with running({"moods": tiny_classifier}, Limits(attention_numbers=100)) as made:
        assert "numbers to look at" in refused(made.post("/attention", text=TEXT), 422)
