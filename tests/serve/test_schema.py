"""Requests that schemathesis makes up from the documentation, right and wrong ones, to every path of every task: each answer
must be one that is documented. REGARD_REQUESTS says how many for each path and kind; CI makes more of them."""

from __future__ import annotations

import os
from collections.abc import Iterator

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

import regard
from regard.data.tokenizer import Tokenizer
from regard.serve.limits import Limits
from regard.tasks.classification.classifier import Classifier
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.translation.translator import Translator
from tests.serve.conftest import PATIENCE, running
from tests.tasks.painters import make_painter
from tests.tasks.shapes import untrained

REQUESTS = int(os.environ.get("REGARD_REQUESTS", "12"))
PATHS = (
    "/translate",
    "/attention",
    "/score",
    "/classify",
    "/generate",
    "/embed",
    "/recognize",
    "/paint",
    "/health",
    "/metrics",
)
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
# Small, so that many requests take little time; what is refused is answered as well.
LIMITS = Limits(cost=2_000, characters=200, classified_characters=200, new_tokens=20, attention_numbers=100_000)


@pytest.fixture(scope="module")
def url(
    tiny_translator: Translator,
    tiny_classifier: Classifier,
    tiny_writer: TextGenerator,
    tiny_tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    eye = regard.load(untrained(tmp_path_factory.mktemp("eye") / "model.safetensors"))
    models = {"tiny": tiny_translator, "moods": tiny_classifier, "prose": tiny_writer}
    with running({**models, "eye": eye, "brush": make_painter(tiny_tokenizer)}, LIMITS) as server:
        yield server.url


@pytest.fixture(scope="module")
def schema(url: str) -> BaseSchema:
    return schemathesis.openapi.from_dict(httpx.get(f"{url}/openapi.json").json())


def test_every_path_is_tried(schema: BaseSchema) -> None:
    assert set(schema) == set(PATHS)


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("path", PATHS)
def test_every_answer_is_one_that_is_documented(schema: BaseSchema, url: str, path: str, mode: GenerationMode) -> None:
    [method] = schema[path]
    operation = schema[path][method]
    if mode is GenerationMode.NEGATIVE and method == "get":
        pytest.skip("there is nothing to get wrong")

    @settings(
        max_examples=REQUESTS, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Case) -> None:
        answer = case.call(base_url=url, timeout=PATIENCE)
        case.validate_response(answer, checks=CHECKS)

    check()
