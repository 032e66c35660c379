"""A painter over HTTP: `/paint`, at once or as the pictures form."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from fastapi import FastAPI, Request
from numpy.typing import NDArray
from starlette.responses import Response

from regard.config.text_to_image import SETTINGS
from regard.serve.batcher import Job
from regard.serve.endpoint import encode, endpoint, json_answer, json_list
from regard.serve.limits import Limits, Refusal
from regard.serve.service import Service
from regard.serve.stream import Stream
from regard.tasks.text_to_image import schemas
from regard.tasks.text_to_image.painter import Painter, Painting, png

REMEDY = "Lower count, or send fewer captions at a time."


def add_routes(app: FastAPI, service: Service) -> None:
    task = SETTINGS.name
    painted = service.metrics.pictures("painted")

    @app.post("/paint", **endpoint(service, task, schemas.PaintAnswer, content={"text/event-stream": {}}))
    async def paint(asked: schemas.PaintRequest, request: Request) -> Response:
        """Paint one or many captions. With `stream`, the pictures come while they form as server-sent events: `painted`,
        `painted`, … and at last `done` with the whole answer, or `error` with what went wrong."""
        name, painter = service.find(asked.model, task)
        service.check_texts(asked.caption)
        service.check_pictures(asked.count * len(asked.caption))
        if asked.stream and len(asked.caption) > 1:
            raise Refusal(422, f"only one caption can be streamed, and {len(asked.caption)} were given.")
        options = asked.model_dump(exclude={"caption", "model", "stream"})
        count = partial(painter.cost, asked.caption, count=asked.count, guidance=asked.guidance)
        costs = await service.costs(count, REMEDY)
        if asked.stream:
            [caption], [cost] = asked.caption, costs
            tell = partial(painting_told, painter, options, name)

            def job(told: Callable[[Any], None]) -> Job:
                return Job(object(), caption, cost, partial(tell, told))

            return Stream(service, request, painted, job, kind="painted", count=asked.count)
        run, key = partial(paintings, painter, options), ("paint", name, *options.values())
        jobs = [Job(key, caption, cost, run) for caption, cost in zip(asked.caption, costs, strict=True)]
        found = await service.answers(request, jobs)
        painted.inc(asked.count * len(found))
        return json_answer(model=encode(name), paintings=json_list(found))


def paintings(painter: Painter, options: Mapping[str, Any], captions: list[str]) -> list[bytes]:
    """Of captions that share a model and its options."""
    found = painter.paint(captions, **options)
    return [encode(answer(each)) for each in found]


def answer(painted: Painting | list[Painting]) -> dict[str, Any]:
    """Of one caption."""
    pictures = painted if isinstance(painted, list) else [painted]
    return {
        "caption": pictures[0].caption,
        "cut": pictures[0].cut,
        "pictures": [
            {"picture": in_base64(each.pixels), "seed": each.seed, "codes": each.codes.tolist()} for each in pictures
        ],
    }


def painting_told(
    painter: Painter, options: Mapping[str, Any], name: str, tell: Callable[[Any], None], captions: list[str]
) -> list[bytes]:
    """Of one caption, whose pictures are told while they form; then the whole answer."""
    [caption] = captions
    cells = painter.model.grid**2

    def told(number: int, pixels: NDArray[np.uint8]) -> None:
        codes = round(float((pixels[:, :, 3] > 0).mean()) * cells)
        tell({"number": number, "codes": codes, "of": cells, "picture": in_base64(pixels)})

    found = painter.paint(caption, on_picture=told, **options)
    return [encode({"model": name, "paintings": [answer(found)]})]


def in_base64(pixels: NDArray[np.uint8]) -> str:
    return base64.b64encode(png(pixels)).decode()


def asked_of(painter: Painter, limits: Limits) -> dict[str, Any]:
    """What the page that asks should know of a model."""
    return {"path": "/paint", "most_characters": limits.characters, "most_pictures": limits.pictures}
