"""Translation over HTTP: `/translate`, `/attention`, `/score`, and the live page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import Response

from regard.config.translation import SETTINGS
from regard.serve.batcher import Job
from regard.serve.endpoint import encode, endpoint, json_answer, json_list
from regard.serve.limits import Refusal
from regard.serve.service import Service
from regard.tasks.translation import schemas
from regard.tasks.translation.movie_file import load_movie
from regard.tasks.translation.page import render, scenes_of
from regard.tasks.translation.translator import Translator

EXAMPLES = {
    "de": ["Ich habe gestern ein interessantes Buch gelesen.", "Wo ist der nächste Bahnhof?", "Ich weiß nicht, was ich sagen soll."],
    "en": ["I read an interesting book yesterday.", "Where is the nearest station?", "I do not know what to say."],
    "ko": ["저는 어제 재미있는 책을 읽었습니다.", "가장 가까운 역은 어디입니까?", "무슨 말을 해야 할지 모르겠습니다."],
}  # fmt: skip


REMEDY = "Lower beam or nbest, shorten the prefix, or send fewer or shorter texts at a time."


def add_routes(app: FastAPI, service: Service) -> None:
    task = SETTINGS.name
    translated = service.metrics.texts("translated")

    @app.post("/translate", **endpoint(service, task, schemas.TranslateAnswer))
    async def translate(asked: schemas.TranslateRequest, request: Request) -> Response:
        """Translate one or many texts. Requests that wait together are computed together; no answer depends on it."""
        name, translator = service.find(asked.model, task)
        service.check_texts(asked.text)
        if asked.attention:
            _check_looks(service, asked.text)
        service.check("beam", asked.beam or 1, service.limits.beam, "More is rarely better.")
        service.check("nbest", asked.nbest, service.limits.nbest, "Ask for fewer.")
        service.check("characters in the prefix", len(asked.prefix), service.limits.characters, "Shorten it.")
        options = asked.model_dump(exclude={"text", "model", "attention"})
        count = partial(_costs, service, translator, options, asked.attention, asked.text)
        costs = await service.costs(count, REMEDY)
        run = partial(translations, translator, options, asked.attention)
        key = ("translate", name, asked.attention, *options.values())
        jobs = [Job(key, text, cost, run) for text, cost in zip(asked.text, costs, strict=True)]
        found = await service.answers(request, jobs)
        translated.inc(len(found))
        return json_answer(model=encode(name), translations=json_list(found))

    @app.post("/attention", **endpoint(service, task, schemas.AttentionAnswer))
    async def attention(asked: schemas.AttentionRequest, request: Request) -> Response:
        """Translate one text, with heads switched off or the attention changed if asked for, and see all its weights."""
        name, translator = service.find(asked.model, task)
        service.check_texts([asked.text])
        _check_looks(service, [asked.text])
        service.check("beam", asked.beam or 1, service.limits.beam, "More is rarely better.")
        count = partial(_look_costs, service, translator, {"beam": asked.beam}, [asked.text])
        [cost] = await service.costs(count, REMEDY)
        run = partial(
            looks, translator, asked.beam, asked.walk,
            off=asked.off, temperature=asked.temperature, hard=asked.hard,
        )  # fmt: skip
        found = await service.answers(request, [Job(object(), asked.text, cost, run)])
        return json_answer(model=encode(name), scenes=found[0])

    @app.post("/score", **endpoint(service, task, schemas.ScoreAnswer))
    async def score(asked: schemas.ScoreRequest, request: Request) -> Response:
        """How probable the model finds given translations."""
        name, translator = service.find(asked.model, task)
        service.check_texts(asked.source)
        service.check_texts(asked.target)
        if len(asked.source) != len(asked.target):
            counts = f"{len(asked.source)} source(s) were given with {len(asked.target)} target(s)"
            raise Refusal(422, f"{counts}; they go in pairs.")
        run, key = partial(scores, translator), ("score", name)
        count = partial(translator.score_cost, asked.source, asked.target)
        costs = await service.costs(count, "Send fewer or shorter pairs at a time.")
        pairs = zip(asked.source, asked.target, strict=True)
        jobs = [Job(key, pair, cost, run) for pair, cost in zip(pairs, costs, strict=True)]
        found = await service.answers(request, jobs)
        return json_answer(model=encode(name), scores=json_list(found))


def _check_looks(service: Service, texts: Sequence[str]) -> None:
    """The length of all together, if every attention weight is asked for."""
    most, remedy = service.limits.attention_characters, "Look at fewer or shorter texts."
    service.check("characters to look at", sum(map(len, texts)), most, remedy)


def _costs(
    service: Service, translator: Translator, options: Mapping[str, Any], attention: bool, texts: list[str]
) -> list[int]:
    """Of each text the tokens that are computed; with attention, to translate and to look."""
    costs = translator.cost(texts, **options)
    if not attention:
        return costs
    looked = _look_costs(service, translator, options, texts)
    return [cost + look for cost, look in zip(costs, looked, strict=True)]


def _look_costs(service: Service, translator: Translator, options: Mapping[str, Any], texts: list[str]) -> list[int]:
    """Of each text the tokens that are computed to look at it, unless there would be too much to see: it is translated, and
    then read and written once more, as for warnings."""
    numbers = sum(translator.look_size(text, **options) for text in texts)
    service.check("numbers to look at", numbers, service.limits.attention_numbers, REMEDY)
    return translator.cost(texts, **{**options, "warnings": True})


def translations(translator: Translator, options: Mapping[str, Any], attention: bool, texts: list[str]) -> list[bytes]:
    """Of texts that share a model and its options."""
    found = [each.to_dict() for each in translator.translate(texts, **options)]
    if attention:
        for text, each in zip(texts, found, strict=True):
            seen = translator.attentions(text, **options) if each["parts"] else ()
            each["attention"] = scenes_of(seen, walk=False)
    return [encode(each) for each in found]


def looks(translator: Translator, beam: int | None, walk: bool, texts: list[str], **changes: Any) -> list[bytes]:
    """Of each text the scenes of its parts, by a model that is changed meanwhile."""
    with translator.changed(**changes):
        return [encode(scenes_of(translator.attentions(text, beam=beam), walk=walk)) for text in texts]


def scores(translator: Translator, pairs: list[tuple[str, str]]) -> list[bytes]:
    """Of sources with their translations."""
    found = translator.score([source for source, _ in pairs], [target for _, target in pairs])
    return [encode({**vars(each), "perplexity": each.perplexity}) for each in found]


def live_page(service: Service, folders: Sequence[Path]) -> str:
    """Where one looks inside a translator, with the first movie that there is."""
    movies = map(load_movie, folders)
    movie = next((each for each in movies if each is not None), None)
    return render([], movie, about(service))


def about(service: Service) -> dict[str, Any]:
    """What the live page should know of the server behind it."""
    translators: dict[str, Translator] = service.of(SETTINGS.name)
    first = next(iter(translators.values()))
    return {
        "models": [
            {
                "name": name,
                "title": translator.recipe.name,
                "languages": translator.facts()["languages"],
                "attentions": translator.model.attention_names(),
                "heads": translator.model.heads,
                "beam": translator.recipe.decoding.beam,
            }
            for name, translator in translators.items()
        ],
        "most_characters": service.limits.attention_characters,
        "most_beam": service.limits.beam,
        "examples": EXAMPLES.get(first.source_language, []),
    }
