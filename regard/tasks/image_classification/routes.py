"""Image classification over HTTP: `/recognize`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from fastapi import FastAPI, Request
from starlette.responses import Response

from regard.config.image_classification import SETTINGS
from regard.data.images import SUFFIXES, open_image, see
from regard.serve.batcher import Job
from regard.serve.endpoint import encode, endpoint, json_answer, json_list
from regard.serve.limits import Limits, Refusal
from regard.serve.service import Service
from regard.tasks.image_classification import schemas
from regard.tasks.image_classification.recognizer import Recognizer


class Sent(NamedTuple):
    """A picture of a request."""

    name: str
    """For who must hear that it is damaged."""
    file: bytes


PIXELS_PER_TOKEN = 10_000
"""That are decoded in the time of one token, or less."""
REMEDY = "Send fewer or smaller pictures at a time."


def add_routes(app: FastAPI, service: Service) -> None:
    task = SETTINGS.name
    recognized = service.metrics.pictures("recognized")

    @app.post("/recognize", **endpoint(service, task, schemas.RecognizeAnswer))
    async def recognize(asked: schemas.RecognizeRequest, request: Request) -> Response:
        """Label one or many pictures. Requests that wait together are computed together; no answer depends on it."""
        name, recognizer = service.find(asked.model, task)
        files = asked.picture
        service.check_pictures(len(files))
        if asked.look and len(files) > 1:
            raise Refusal(422, f"only one picture can be looked at, and {len(files)} were given.")
        if asked.look:
            size, most = recognizer.look_size(), service.limits.attention_numbers
            service.check("numbers to look at", size, most, "Look at a smaller model.")
        costs = await service.costs(partial(picture_costs, recognizer, files, service.limits, asked.look), REMEDY)
        run, key = partial(looks if asked.look else recognitions, recognizer), ("recognize", name, asked.look)
        jobs = [
            Job(key, Sent(name_of(number, files), file), cost, run)
            for number, (file, cost) in enumerate(zip(files, costs, strict=True))
        ]
        found = await service.answers(request, jobs)
        recognized.inc(len(found))
        answers, seen = zip(*found, strict=True)
        return json_answer(model=encode(name), recognitions=json_list(answers), look=seen[0])


def picture_costs(recognizer: Recognizer, files: Sequence[bytes], limits: Limits, look: bool) -> list[int]:
    """Of each file: its first bytes say how many pixels would be decoded. What is no picture, or too large, is refused."""
    tokens = recognizer.cost() * (3 if look else 1)  # looking asks again, with gradients
    costs = []
    for number, file in enumerate(files):
        with open_image(file, name_of(number, files), limits.picture_pixels) as image:
            costs.append(tokens + image.width * image.height // PIXELS_PER_TOKEN)
    return costs


def name_of(number: int, files: Sequence[bytes]) -> str:
    return f"picture {number} (counting from 0)" if len(files) > 1 else "the picture"


def recognitions(recognizer: Recognizer, sent: list[Sent]) -> list[tuple[bytes, bytes]]:
    """Of each picture its label, and that nothing was looked at."""
    seen = [see(each.file, recognizer.recipe.data, each.name) for each in sent]
    answers = recognizer.answers([each.pixels for each in seen])
    return [
        (encode({**answer.to_dict(), "animated": each.animated}), b"null")
        for answer, each in zip(answers, seen, strict=True)
    ]


def looks(recognizer: Recognizer, sent: list[Sent]) -> list[tuple[bytes, bytes]]:
    """Of each picture its label, and what a page draws of the decision."""
    answers = recognitions(recognizer, sent)
    return [
        (answer, encode(recognizer.look(each.file).data())) for (answer, _), each in zip(answers, sent, strict=True)
    ]


def asked_of(recognizer: Recognizer, limits: Limits) -> dict[str, Any]:
    """What the page that asks should know of a model."""
    room = len('{"picture":"","model":"","look":true}') + 1_000  # the name of a model is not longer
    return {
        "path": "/recognize",
        "most_bytes": max(0, limits.body_bytes - room) // 4 * 3,
        "most_pixels": limits.picture_pixels,
        "suffixes": list(SUFFIXES),
        "labels": list(recognizer.labels),
        "look": recognizer.look_size() <= limits.attention_numbers,
    }
