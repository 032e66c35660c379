"""Classification over HTTP: `/classify`."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from regard.config.classification import SETTINGS
from regard.serve.batcher import Job
from regard.serve.endpoint import encode, endpoint, json_answer, json_list
from regard.serve.limits import Limits
from regard.serve.service import Service
from regard.tasks.classification import schemas
from regard.tasks.classification.classifier import Classifier


def add_routes(app: FastAPI, service: Service) -> None:
    task = SETTINGS.name
    classified = service.metrics.texts("classified")

    @app.post("/classify", **endpoint(service, task, schemas.ClassifyAnswer))
    async def classify(asked: schemas.ClassifyRequest, request: Request) -> Response:
        """Label one or many texts. Requests that wait together are computed together; no answer depends on it."""
        name, classifier = service.find(asked.model, task)
        service.check_texts(asked.text, service.limits.classified_characters)
        run, key = partial(classifications, classifier), ("classify", name)
        costs = await service.costs(
            partial(classifier.cost, asked.text), "Send fewer or shorter texts at a time.", asked.text
        )
        jobs = [Job(key, text, cost, run) for text, cost in zip(asked.text, costs, strict=True)]
        found = await service.answers(request, jobs)
        classified.inc(len(found))
        return json_answer(model=encode(name), classifications=json_list(found))


def classifications(classifier: Classifier, texts: list[str]) -> list[bytes]:
    return [encode(each.to_dict()) for each in classifier.classify(texts)]


def asked_of(classifier: Classifier, limits: Limits) -> dict[str, Any]:
    """What the page that asks should know of a model."""
    return {
        "path": "/classify",
        "most_characters": limits.classified_characters,
        "labels": list(classifier.labels),
    }
