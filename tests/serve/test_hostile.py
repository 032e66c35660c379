"""Requests that mean no good: a part of what benchmarks/hostile_requests.py tries, with answers as clear."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.hostile_requests import AREAS, PATIENCE, everything, healthy, of_slowness, table, try_all
from regard.serve.limits import Limits
from regard.serve.start import LOOPBACK_NAMES
from regard.tasks.classification.classifier import Classifier
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.translation.translator import Translator
from tests.serve.conftest import Running, running

FEW = 12
"""Of each area; those of a slow client take their time, and every field is tried by test_schema.py."""


@pytest.fixture(scope="module")
def server(tiny_translator: Translator, tiny_classifier: Classifier, tiny_writer: TextGenerator) -> Iterator[Running]:
    models = {"tiny": tiny_translator, "moods": tiny_classifier, "prose": tiny_writer}
    with running(models, Limits(cost=5_000, body_seconds=1.0, answer_seconds=PATIENCE), LOOPBACK_NAMES) as made:
        yield made


def test_there_are_enough_of_them() -> None:
    assert len(everything()) >= 150


@pytest.mark.parametrize("area", [area for area in AREAS if area is not of_slowness], ids=lambda area: area.__name__)
def test_hostile_requests_are_answered_clearly(server: Running, area: object) -> None:
    wanted = list(area())  # type: ignore[operator]
    found = try_all(wanted[:: max(1, len(wanted) // FEW)], server.port, together=4)
    assert [f"{each.name}: {wrong}" for each, wrong in found if wrong] == [], table(found)
    assert healthy(server.port)
