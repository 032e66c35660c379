"""`/attention`: what models of every task that has a glass box do with one text, as they are or changed; and the live page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Request
from pydantic import ConfigDict, FailFast, Field
from starlette.responses import Response

from regard.serve.batcher import Job
from regard.serve.endpoint import encode, endpoint, json_answer
from regard.serve.limits import Refusal
from regard.serve.schemas import Answered, Asked, Beam, Model, To
from regard.serve.service import Served, Service, task_of
from regard.tasks.task import GlassBox
from regard.view.scenes import render, scenes_of

Heads = dict[str, Annotated[list[int], FailFast()]]


class AttentionRequest(Asked):
    """A text to look at, and what to change in the model meanwhile."""

    text: str = Field(description="One text.")
    model: Model = None
    beam: Beam = None
    to: To = None
    off: Heads = Field(
        default_factory=dict, description="Heads to switch off, by the attention's name and counted from 0."
    )
    temperature: float = Field(
        1.0, ge=0.01, le=100, description="Of every attention: below 1 is sharper, above 1 flatter."
    )
    hard: bool = Field(False, description="Every attention looks at one place only.")
    walk: bool = Field(False, description="Also answer the computation's other numbers: queries, keys, values …")

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Ich habe Hunger.", "temperature": 2.0}]})


class AttentionAnswer(Answered):
    model: str
    scenes: list[dict[str, Any]] = Field(description="One per part of the text; docs/files.md describes it.")


def add_attention(app: FastAPI, service: Service) -> None:
    boxes = glass_boxes(service.models)
    declared = {**endpoint(service, "", AttentionAnswer), "include_in_schema": bool(boxes)}

    def find(name: str | None) -> tuple[str, Any, GlassBox]:
        name = next(iter(boxes), None) if name is None else name
        if name is None or (name in service.models and name not in boxes):
            raise Refusal(404 if name is None else 422, "no such model here can be looked into.")
        found, model = service.find(name, task_of(service.models[name]).name if name in boxes else "")
        return found, model, boxes[found]

    @app.post("/attention", **declared)
    async def attention(asked: AttentionRequest, request: Request) -> Response:
        """Look into a model at work on one text, with heads switched off or the attention changed if asked for."""
        name, model, box = find(asked.model)
        options = check_options(service, asked, box)
        service.check_texts([asked.text])
        check_looks(service, [asked.text])
        [cost] = await service.costs(partial(look_costs, service, box, model, [asked.text], options), box.remedy)
        changes = {"off": asked.off, "temperature": asked.temperature, "hard": asked.hard}
        run = partial(looks, box, model, asked.walk, options, changes)
        found = await service.answers(request, [Job(object(), asked.text, cost, run)])
        return json_answer(model=encode(name), scenes=found[0])


def glass_boxes(models: Mapping[str, Served]) -> dict[str, GlassBox]:
    """Of the models that have one."""
    boxes = {name: task_of(model).glass_box for name, model in models.items()}
    return {name: box for name, box in boxes.items() if box is not None}


def check_options(service: Service, asked: AttentionRequest, box: GlassBox) -> dict[str, Any]:
    """What a task may be told besides the text; what has no effect is refused."""
    service.check("beam", asked.beam or 1, service.limits.beam, "More is rarely better.")
    given = {"beam": asked.beam, "to": asked.to}
    for name, why in {"beam": "searches nothing", "to": "translates nothing"}.items():
        if name not in box.options and given[name] is not None:
            raise Refusal(422, f"{name} has no effect: this model {why}. Leave it out.")
    return {name: value for name, value in given.items() if name in box.options}


def check_looks(service: Service, texts: list[str]) -> None:
    """The length of all together, if every attention weight is asked for."""
    most, remedy = service.limits.attention_characters, "Look at fewer or shorter texts."
    service.check("characters to look at", sum(map(len, texts)), most, remedy)


def look_costs(service: Service, box: GlassBox, model: Any, texts: list[str], options: Mapping[str, Any]) -> list[int]:
    """Of each text the tokens that are computed to look at it, unless there would be too much to see."""
    numbers = sum(box.size(model, text, **options) for text in texts)
    service.check("numbers to look at", numbers, service.limits.attention_numbers, box.remedy)
    return [box.cost(model, text, **options) for text in texts]


def looks(
    box: GlassBox, model: Any, walk: bool, options: Mapping[str, Any], changes: Mapping[str, Any], texts: list[str]
) -> list[bytes]:
    """Of each text the scenes of its parts, by a model that is changed meanwhile."""
    with model.changed(**changes):
        return [encode(scenes_of(box.scenes(model, text, **options), walk=walk)) for text in texts]


def live_page(service: Service, names: Iterable[str] | None = None, movie: Mapping[str, Any] | None = None) -> str:
    """Where one types a text and looks inside: of some models, or of all that can be looked into."""
    boxes = glass_boxes(service.models)
    models = {name: service.models[name] for name in (boxes if names is None else names)}
    told = [
        {"name": name, "title": model.recipe.name, "verb": task_of(model).verb, **boxes[name].about(model)}
        for name, model in models.items()
    ]
    live = {
        "models": told,
        "most_characters": service.limits.attention_characters,
        "most_beam": service.limits.beam,
    }
    return render([], movie, live)
