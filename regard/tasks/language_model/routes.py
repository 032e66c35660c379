"""A language model over HTTP: `/generate`, at once or as the text is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from regard.config.language_model import SETTINGS
from regard.serve.batcher import Job
from regard.serve.endpoint import encode, endpoint, json_answer, json_list
from regard.serve.limits import Limits, Refusal
from regard.serve.service import Service
from regard.serve.stream import Stream
from regard.tasks.language_model import schemas
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.language_model.results import GenerationOptions

REMEDY = "Lower max_new_tokens, or send fewer or shorter prompts at a time."


def add_routes(app: FastAPI, service: Service) -> None:
    task, limits = SETTINGS.name, service.limits
    generated = service.metrics.texts("generated")

    @app.post("/generate", **endpoint(service, task, schemas.GenerateAnswer, content={"text/event-stream": {}}))
    async def generate(asked: schemas.GenerateRequest, request: Request) -> Response:
        """Go on with one or many prompts. With `stream`, what is written comes as server-sent events: `text`, `text`, …
        and at last `done` with the whole answer, or `error` with what went wrong."""
        name, writer = service.find(asked.model, task)
        service.check_texts(asked.prompt)
        new = asked.max_new_tokens or min(GenerationOptions.max_new_tokens, limits.new_tokens)
        service.check("max_new_tokens", new, limits.new_tokens, "Go on from there with another request.")
        service.check("stop strings", len(asked.stop), limits.texts, "Give fewer.")
        service.check("characters in the stop strings", sum(map(len, asked.stop)), limits.characters, "Shorten them.")
        options = asked.model_dump(exclude={"prompt", "model", "stream"})
        options |= {"max_new_tokens": new, "stop": tuple(asked.stop)}
        if asked.stream and len(asked.prompt) > 1:
            raise Refusal(422, f"only one prompt can be streamed, and {len(asked.prompt)} were given.")
        costs = await service.costs(partial(writer.cost, asked.prompt, **options), REMEDY, asked.prompt)
        if asked.stream:
            tell = partial(generation_told, writer, options, name)
            [prompt] = asked.prompt
            [cost] = costs
            return Stream(service, request, generated, lambda told: Job(object(), prompt, cost, partial(tell, told)))
        run, kind = partial(generations, writer, options), ("generate", name, *options.values())
        # Only prompts of one length are computed together, which cost the same; others take turns with everybody else.
        jobs = [Job((*kind, cost), prompt, cost, run) for prompt, cost in zip(asked.prompt, costs, strict=True)]
        found = await service.answers(request, jobs)
        generated.inc(len(found))
        return json_answer(model=encode(name), generations=json_list(found))


def generations(writer: TextGenerator, options: Mapping[str, Any], prompts: list[str]) -> list[bytes]:
    """Of prompts that share a model and its options."""
    return [encode(each.to_dict()) for each in writer.generate(prompts, **options)]


def generation_told(
    writer: TextGenerator, options: Mapping[str, Any], name: str, on_text: Callable[[str], None], prompts: list[str]
) -> list[bytes]:
    """Of one prompt, whose text is told while it is written; then the whole answer."""
    [prompt] = prompts
    written = writer.generate(prompt, on_text=on_text, **options)
    return [encode({"model": name, "generations": [written.to_dict()]})]


def asked_of(writer: TextGenerator, limits: Limits) -> dict[str, Any]:
    """What the page that asks should know of a model."""
    return {"path": "/generate", "most_characters": limits.characters, "most_new_tokens": limits.new_tokens}
