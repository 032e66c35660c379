"""Translation over HTTP: `/translate`, `/attention`, `/score`, and the live page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from regard.config.translation import SETTINGS
from regard.serve.attention_route import check_looks, live_page, look_costs
from regard.serve.batcher import Job
from regard.serve.endpoint import encode, endpoint, json_answer, json_list
from regard.serve.limits import Refusal
from regard.serve.service import Service
from regard.serve.stream import Stream
from regard.tasks.movie_file import load_movie
from regard.tasks.translation import schemas
from regard.tasks.translation.glass_box import GLASS_BOX, REMEDY
from regard.tasks.translation.translator import Translator
from regard.view.scenes import scenes_of


def add_routes(app: FastAPI, service: Service) -> None:
    task = SETTINGS.name
    translated = service.metrics.texts("translated")

    @app.post("/translate", **endpoint(service, task, schemas.TranslateAnswer, content={"text/event-stream": {}}))
    async def translate(asked: schemas.TranslateRequest, request: Request) -> Response:
        """Translate one or many texts. Requests that wait together are computed together; no answer depends on it.

        With `stream`, the translation of one text comes as server-sent events, as soon as a few of its sentences are translated:
        `text`, `text`, … which together are the translation, and at last `done` with the whole answer, or `error` with what
        went wrong."""
        name, translator = service.find(asked.model, task)
        service.check_texts(asked.text)
        if asked.attention:
            check_looks(service, asked.text)
        service.check("beam", asked.beam or 1, service.limits.beam, "More is rarely better.")
        service.check("nbest", asked.nbest, service.limits.nbest, "Ask for fewer.")
        service.check("characters in the prefix", len(asked.prefix), service.limits.characters, "Shorten it.")
        options = asked.model_dump(exclude={"text", "model", "attention", "stream"})
        if asked.stream and (len(asked.text) > 1 or asked.nbest > 1 or asked.attention):
            raise Refusal(422, "what can be streamed is the translation of one text, without nbest and attention.")
        count = partial(_costs, service, translator, options, asked.attention, asked.text)
        costs = await service.costs(count, REMEDY, None if asked.attention else asked.text)
        if asked.stream:
            [text], [cost] = asked.text, costs
            tell = partial(translation_told, translator, options, name)
            return Stream(service, request, translated, lambda told: Job(object(), text, cost, partial(tell, told)))
        run = partial(translations, translator, options, asked.attention)
        key = ("translate", name, asked.attention, *options.values())
        jobs = [Job(key, text, cost, run) for text, cost in zip(asked.text, costs, strict=True)]
        found = await service.answers(request, jobs)
        translated.inc(len(found))
        return json_answer(model=encode(name), translations=json_list(found))

    @app.post("/score", **endpoint(service, task, schemas.ScoreAnswer))
    async def score(asked: schemas.ScoreRequest, request: Request) -> Response:
        """How probable the model finds given translations."""
        name, translator = service.find(asked.model, task)
        service.check_texts(asked.source)
        service.check_texts(asked.target)
        if len(asked.source) != len(asked.target):
            counts = f"{len(asked.source)} source(s) were given with {len(asked.target)} target(s)"
            raise Refusal(422, f"{counts}; they go in pairs.")
        run, key = partial(scores, translator, asked.to), ("score", name, asked.to)
        count = partial(score_costs, translator, asked.to, asked.source, asked.target)
        costs = await service.costs(count, "Send fewer or shorter pairs at a time.", [*asked.source, *asked.target])
        pairs = zip(asked.source, asked.target, strict=True)
        jobs = [Job(key, pair, cost, run) for pair, cost in zip(pairs, costs, strict=True)]
        found = await service.answers(request, jobs)
        return json_answer(model=encode(name), scores=json_list(found))


def _costs(
    service: Service, translator: Translator, options: Mapping[str, Any], attention: bool, texts: list[str]
) -> list[int]:
    """Of each text the tokens that are computed; with attention, to translate and to look."""
    costs = translator.cost(texts, **options)
    if not attention:
        return costs
    looked = look_costs(service, GLASS_BOX, translator, texts, options)
    return [cost + look for cost, look in zip(costs, looked, strict=True)]


def translations(translator: Translator, options: Mapping[str, Any], attention: bool, texts: list[str]) -> list[bytes]:
    """Of texts that share a model and its options."""
    found = [each.to_dict() for each in translator.translate(texts, **options)]
    if attention:
        for text, each in zip(texts, found, strict=True):
            seen = translator.attentions(text, **options) if each["parts"] else ()
            each["attention"] = scenes_of(seen, walk=False)
    return [encode(each) for each in found]


def translation_told(
    translator: Translator, options: Mapping[str, Any], name: str, on_text: Callable[[str], None], texts: list[str]
) -> list[bytes]:
    """Of one text, whose translation is told a few sentences at a time; then the whole answer, which is the same as ever."""
    [text] = texts
    told = translator.translate_parts(text, on_text, **options)
    return [encode({"model": name, "translations": [told.to_dict()]})]


def score_costs(translator: Translator, to: str | None, sources: list[str], targets: list[str]) -> list[int]:
    return (translator if to is None else translator.to(to)).score_cost(sources, targets)


def scores(translator: Translator, to: str | None, pairs: list[tuple[str, str]]) -> list[bytes]:
    """Of sources with their translations, in one of the model's languages."""
    found = translator.score([source for source, _ in pairs], [target for _, target in pairs], to=to)
    return [encode({**vars(each), "perplexity": each.perplexity}) for each in found]


def front_page(service: Service, folders: Sequence[Path]) -> str:
    """Where one looks inside a translator, with the first movie that there is."""
    movies = map(load_movie, folders)
    movie = next((each for each in movies if each is not None), None)
    return live_page(service, service.of(SETTINGS.name), movie)
