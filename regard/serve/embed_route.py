"""`/embed`: vectors of texts, by every model whose task embeds."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from pydantic import ConfigDict, Field
from starlette.responses import Response

from regard.serve.batcher import Job
from regard.serve.endpoint import encode, endpoint, json_answer, json_list
from regard.serve.limits import Refusal
from regard.serve.schemas import Answered, Asked, Model, Texts
from regard.serve.service import Service, task_of


class EmbedRequest(Asked):
    """What to make vectors of."""

    text: Texts = Field(description="One text or a list of texts, answered in their order.")
    model: Model = None
    pool: str | None = Field(None, description="How states become one vector: mean, max, first or last. [the task's]")

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": ["Guten Morgen!", "Wo ist der Bahnhof?"]}]})


class Vector(Answered):
    vector: list[float] = Field(description="Zeros for a text without tokens.")
    windows: int = Field(description="How many the text was read in, if it was longer than the model reads at once.")
    cut: bool = Field(description="Whether only a part of the text was read.")


class EmbedAnswer(Answered):
    model: str
    pool: str = Field(description="How states became one vector.")
    embeddings: list[Vector]


def add_embed(app: FastAPI, service: Service) -> None:
    fitting = {name: model for name, model in service.models.items() if task_of(model).embed is not None}
    embedded = service.metrics.texts("embedded")
    declared = {**endpoint(service, "", EmbedAnswer), "include_in_schema": bool(fitting)}

    def find(name: str | None) -> tuple[str, Any]:
        chosen = next(iter(fitting), None) if name is None else name
        if chosen is None or (chosen in service.models and chosen not in fitting):
            raise Refusal(404 if name is None else 422, "no such model here makes vectors of texts.")
        return service.find(chosen, task_of(service.models[chosen]).name if chosen in fitting else "")

    @app.post("/embed", **declared)
    async def embed(asked: EmbedRequest, request: Request) -> Response:
        """One vector for each text. Requests that wait together are computed together; no answer depends on it."""
        name, model = find(asked.model)
        service.check_texts(asked.text, service.limits.classified_characters)
        pool = model.check_pool(asked.pool)
        run, key = partial(vectors, model, pool), ("embed", name, pool)
        costs = await service.costs(
            partial(model.embed_cost, asked.text), "Send fewer or shorter texts at a time.", asked.text
        )
        jobs = [Job(key, text, cost, run) for text, cost in zip(asked.text, costs, strict=True)]
        found = await service.answers(request, jobs)
        embedded.inc(len(found))
        return json_answer(model=encode(name), pool=encode(pool), embeddings=json_list(found))


def vectors(model: Any, pool: str, texts: list[str]) -> list[bytes]:
    """Of texts that share a model and its pool."""
    return [
        encode({"vector": each.to_dict()["vector"], "windows": each.windows, "cut": each.cut})
        for each in model.embed_stream(texts, pool=pool)
    ]
