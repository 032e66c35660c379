"""Vectors of texts, of every task: what the model's own states say, whatever stands beside a text, and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

import regard
from regard import config
from regard.attention.record import record
from regard.data.tokenizer import END, Tokenizer
from regard.errors import UsageError
from regard.tasks.registry import build
from regard.tasks.texts import LOOK_AHEAD
from regard.tasks.translation.native import known_pairs
from regard.tasks.translation.translator import Translator
from regard.tasks.vectors import TextVectors
from tests.conftest import made_up_sentences
from tests.tasks.labelled import texts as reviews
from tests.tasks.labelled import untrained
from tests.tasks.test_rivals import RIVALS
from tests.tasks.writers import mixed_tokenizer, recipe_of, untaught

SENTENCES = [*made_up_sentences(1, 5), "안녕하세요, 세계!", "", " \t", "a\nb"]
LONG = " ".join(made_up_sentences(3, 20))

tokenizer_of_writers = cache(mixed_tokenizer)


def of_translation(architecture: str, tokenizer: Tokenizer, recipe: config.TranslationRecipe) -> Translator:
    model = recipe.model if architecture == "transformer" else RIVALS[architecture]
    torch.manual_seed(3)
    made = build(model, tokenizer.size("source"), tokenizer.size("target"))
    return Translator(made.double(), tokenizer, replace(recipe, model=model))


KINDS = [
    "transformer", "rnn", "rnn-attention", "conv", "classify-mean", "classify-max", "classify-first", "write-transformer",
    "write-rnn", "write-transformer-pointer",
]  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def vectors(
    request: pytest.FixtureRequest, tiny_tokenizer: Tokenizer, tiny_recipe: config.TranslationRecipe
) -> TextVectors:
    task, _, rest = request.param.partition("-")
    if task == "classify":
        return untrained(pooling=rest, data={"long": "windows"})
    if task == "write":
        return untaught(tokenizer_of_writers(), recipe_of(rest))
    return of_translation(request.param, tiny_tokenizer, tiny_recipe)


def test_no_vector_depends_on_its_neighbours(vectors: TextVectors) -> None:
    given = [*SENTENCES, LONG]
    for pool in vectors.pools:
        together = vectors.embed(given, pool=pool)
        assert together.shape == (len(given), vectors.width)
        assert together.dtype == np.float32
        alone = np.stack([vectors.embed(text, pool=pool) for text in given])
        assert np.allclose(together, alone, atol=1e-6), pool  # computed in double precision
        backwards = vectors.embed(given[::-1], pool=pool)[::-1]
        assert np.allclose(together, backwards, atol=1e-6), pool


def test_a_text_without_tokens_has_zeros_and_no_other(vectors: TextVectors) -> None:
    found = list(vectors.embed_stream([*SENTENCES, LONG]))
    assert [each.text for each in found] == [*SENTENCES, LONG]
    for each in found:
        assert bool(each.vector.any()) == bool(each.text.strip()) == bool(each.windows)
    assert vectors.embed([]).shape == (0, vectors.width)


def test_the_usual_pool_is_one_of_them_and_others_are_refused(vectors: TextVectors) -> None:
    text = SENTENCES[0]
    assert np.array_equal(vectors.embed(text), vectors.embed(text, pool=vectors.usual_pool))
    with pytest.raises(UsageError, match=r"no `pool` 'meen'\. Did you mean 'mean'\?"):
        vectors.embed(text, pool="meen")
    with pytest.raises(UsageError, match="a text or a list of texts, not 7"):
        vectors.embed(7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"text 1 \(counting from 0\) is None"):
        vectors.embed(["a", None])  # type: ignore[list-item]


def test_pools_of_a_long_text_are_those_of_all_its_positions(vectors: TextVectors) -> None:
    (found,) = vectors.embed_stream([LONG])
    reading = vectors._reading(LONG)
    assert found.windows == len(reading.windows)
    with torch.inference_mode():
        states = [vectors._states([window])[-window.fresh :] for window in reading.windows]
    whole = torch.cat(states).float().numpy()
    assert np.allclose(vectors.embed(LONG, pool="mean"), whole.mean(0), atol=1e-5)
    assert np.allclose(vectors.embed(LONG, pool="max"), whole.max(0), atol=1e-6)
    assert np.allclose(vectors.embed(LONG, pool="last"), whole[-1], atol=1e-6)
    if "first" in vectors.pools:
        firsts = np.stack([each[0].float().numpy() for each in states])
        assert np.allclose(vectors.embed(LONG, pool="first"), firsts.mean(0), atol=1e-6)


def test_a_million_texts_are_not_read_ahead(vectors: TextVectors) -> None:
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        while read < 1_000_000:
            read += 1
            yield "a"

    found = vectors.embed_stream(lines())
    next(found)
    assert read <= LOOK_AHEAD


# What the glass path sees


@pytest.mark.parametrize("architecture", ["transformer", *RIVALS])
def test_a_translators_mean_is_that_of_the_recorded_memory(
    architecture: str, tiny_tokenizer: Tokenizer, tiny_recipe: config.TranslationRecipe
) -> None:
    translator = of_translation(architecture, tiny_tokenizer, tiny_recipe)
    given = made_up_sentences(1, 4)
    ids = tiny_tokenizer.encode_all(given, "source")
    with torch.inference_mode(), record(translator.model) as seen:
        translator.model(*known_pairs(translator.model, ids, [[] for _ in ids]))  # [S, K], padded
    memory = seen["model"]["memory"]
    for text, own, states in zip(given, ids, memory, strict=True):
        real = states[: len(own) + 1].float().numpy()  # and the end
        assert np.allclose(translator.embed(text), real.mean(0), atol=1e-6)
        assert np.allclose(translator.embed(text, pool="max"), real.max(0), atol=1e-6)
        assert np.allclose(translator.embed(text, pool="first"), real[0], atol=1e-6)


@pytest.mark.parametrize("pooling", ["mean", "max", "first"])
def test_a_classifiers_vector_is_what_its_labels_are_decided_by(pooling: str) -> None:
    classifier = untrained(pooling=pooling)
    for text in reviews()[:4]:
        with record(classifier.model) as seen:
            classifier.classify(text)
        assert np.allclose(classifier.embed(text), seen["model"]["pooled"][0].float().numpy(), atol=1e-6)


@pytest.mark.parametrize("architecture", ["transformer", "rnn"])
def test_a_language_models_last_state_is_the_one_that_predicts_the_end(architecture: str) -> None:
    writer = untaught(tokenizer_of_writers(), recipe_of(architecture))
    text = made_up_sentences(1, 1)[0][:20]
    with torch.inference_mode(), record(writer.model) as seen:
        writer.model(
            torch.tensor([[END, *writer.tokenizer.encode(text)]])
        )  # of a stream: a line's end stands before it
    states = seen["model"]["states"][0].float().numpy()
    assert np.allclose(writer.embed(text), states[-1], atol=1e-6)
    assert np.allclose(writer.embed(text, pool="mean"), states.mean(0), atol=1e-6)
    with pytest.raises(UsageError, match="no `pool` 'first'"):
        writer.embed(text, pool="first")


def test_what_is_told_of_long_texts(tiny_tokenizer: Tokenizer, tiny_recipe: config.TranslationRecipe) -> None:
    translator = of_translation("transformer", tiny_tokenizer, tiny_recipe)
    assert translator.about_long(0, 0) == ""
    assert translator.about_long(0, 2).startswith("2 text(s) longer than the 40 tokens")
    cut = untrained(data={"long": "ends", "max_tokens": 10})
    (found,) = cut.embed_stream([LONG])
    assert (found.windows, found.cut) == (1, True)


def test_the_demos_encoder_in_8_bits_is_nearly_the_same() -> None:
    given = ["Ich habe Hunger.", "Wo ist der Bahnhof?"]
    exact, rounded = (regard.load("demo", task="translation", int8=int8).embed(given) for int8 in (False, True))
    cosines = (exact * rounded).sum(1) / (np.linalg.norm(exact, axis=1) * np.linalg.norm(rounded, axis=1))
    assert (cosines > 0.99).all()
    assert not np.array_equal(exact, rounded)
