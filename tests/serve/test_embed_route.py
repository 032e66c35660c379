"""`/embed`: what Python says, by models of every task, whatever else is asked meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import numpy as np
import pytest

from regard.serve.embed_route import EmbedAnswer
from regard.serve.limits import Limits
from regard.tasks.classification.classifier import Classifier
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.translation.translator import Translator
from tests.serve.conftest import PATIENCE, SENTENCES, Running, running

TEXTS = [*SENTENCES[:5], "", "안녕하세요, 세계!", " ".join(SENTENCES)]


@pytest.fixture(scope="module")
def server(tiny_translator: Translator, tiny_classifier: Classifier, tiny_writer: TextGenerator) -> Iterator[Running]:
    models = {"moods": tiny_classifier, "prose": tiny_writer, "tiny": tiny_translator}
    with running(models, Limits(classified_characters=2_000)) as made:
        yield made


@pytest.fixture(scope="module")
def asked(server: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server.url, timeout=PATIENCE) as made:
        yield made


@pytest.mark.parametrize("name", ["moods", "prose", "tiny"])
def test_every_model_answers_as_in_python(asked: httpx.Client, server: Running, name: str) -> None:
    model = server.service.models[name]
    for pool in (None, "mean", "max"):
        told = EmbedAnswer(**asked.post("/embed", json={"text": TEXTS, "model": name, "pool": pool}).json())
        assert (told.model, told.pool) == (name, pool or model.usual_pool)
        vectors = np.array([each.vector for each in told.embeddings], dtype=np.float32)
        assert np.allclose(vectors, model.embed(TEXTS, pool=pool), atol=1e-6)
        assert told.embeddings[-1].windows > 1
    assert "regard_texts_embedded_total" in asked.get("/metrics").text


def test_the_first_answers_who_names_none_and_it_is_documented(asked: httpx.Client) -> None:
    assert asked.post("/embed", json={"text": "a"}).json()["model"] == "moods"
    assert "/embed" in asked.get("/openapi.json").json()["paths"]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"text": "a", "model": "no"}, 404, "there is no model 'no'"),
        ({"text": "a", "pool": "meen"}, 422, "Did you mean 'mean'?"),
        ({"text": "a", "model": "prose", "pool": "first"}, 422, "no `pool` 'first'"),
        ({"text": "a", "pool": "a" * 100_000}, 422, "(100,002 characters)"),
        ({"text": "a" * 2_001}, 422, "at most 2,000"),
        ({"text": ["a"] * 65}, 422, "at most 64"),
        ({"text": []}, 422, "at least one text"),
        ({"text": "a", "pools": "mean"}, 422, "pools"),
    ],
)
def test_refusals(asked: httpx.Client, body: dict[str, object], status: int, said: str) -> None:
    answer = asked.post("/embed", json=body)
    assert answer.status_code == status
    assert said in answer.json()["detail"]
