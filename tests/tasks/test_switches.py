"""A model of any task can be meddled with: heads off, another temperature, hard attention; afterwards it is as before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from regard.errors import UsageError
from regard.tasks.switches import Switchable
from tests.tasks.labelled import untrained
from tests.tasks.writers import mixed_tokenizer, recipe_of, untaught

TEXT = "the cat was there"
HEADS = 2  # of every model here
CHANGES: list[dict[str, Any]] = [
    {"off": {"layers.0.self_attention": [1]}}, {"temperature": 4.0}, {"hard": True},
    {"off": {"layers.1.self_attention": [0, 1]}, "temperature": 0.25},
]  # fmt: skip


def a_classifier() -> tuple[Switchable, Callable[[], list[float]]]:
    made = untrained(heads=HEADS, ngrams=1)
    return made, lambda: list(made.classify(TEXT).probabilities.values())


def a_writer() -> tuple[Switchable, Callable[[], list[float]]]:
    made = untaught(mixed_tokenizer(), recipe_of(heads=HEADS))
    return made, lambda: list(made.score(TEXT).token_log_probabilities)


MODELS = pytest.mark.parametrize("made", [a_classifier, a_writer])


@MODELS
@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_change_holds_inside_and_is_gone_after(made: Callable[..., Any], change: dict[str, Any]) -> None:
    model, numbers = made()
    before = numbers()
    with model.changed(**change):
        inside = numbers()
    assert not np.allclose(inside, before, atol=1e-4)
    assert numbers() == before


@MODELS
def test_a_head_that_is_off_adds_nothing(made: Callable[..., Any]) -> None:
    """As if its columns of the output projection were zero."""
    model, numbers = made()
    name, head = "layers.1.self_attention", 1
    with model.changed(off={name: [head]}):
        assert model.heads_off() == {kind: [[], [head]] for kind in model.model.attention_names()}
        wanted = numbers()
    weight = model.model.get_submodule(name).output.weight
    with torch.no_grad():
        weight.view(len(weight), HEADS, -1)[:, head] = 0.0
    np.testing.assert_allclose(numbers(), wanted, atol=1e-9)


def test_what_is_seen_is_the_changed_model() -> None:
    classifier, writer = untrained(ngrams=1), untaught(mixed_tokenizer(), recipe_of())
    with classifier.changed(hard=True), writer.changed(hard=True):
        for weights in (classifier.look(TEXT).weights, writer.look(TEXT).weights):
            assert weights is not None
            assert set(np.unique(weights)) == {0.0, 1.0}


def test_a_writer_goes_on_as_the_changed_model_does() -> None:
    writer = untaught(mixed_tokenizer(), recipe_of())
    options: dict[str, Any] = {"max_new_tokens": 12, "temperature": 0}
    plain = writer.generate(TEXT, **options)
    with writer.changed(temperature=50.0):
        flat = writer.generate(TEXT, **options)
    assert flat.token_log_probabilities != plain.token_log_probabilities
    assert writer.generate(TEXT, **options) == plain


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_model_without_attention_says_so(change: dict[str, Any]) -> None:
    recurrent = untaught(mixed_tokenizer(), recipe_of("rnn"))
    with pytest.raises(UsageError, match="no attention that could be changed"), recurrent.changed(**change):
        pytest.fail("it was let in")
    with recurrent.changed():  # nothing is asked of it
        recurrent.score(TEXT)


@MODELS
def test_names_that_are_not_there_are_told(made: Callable[..., Any]) -> None:
    model, _ = made()
    with pytest.raises(UsageError, match=r"There are layers.0.self_attention, layers.1.self_attention"):
        model.changed(off={"decoder.0.cross_attention": [0]}).__enter__()
