"""The endpoints: each checks its limits, makes jobs for the worker, and waits for their answers."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.resources import files
from typing import Any

from fastapi import Depends, FastAPI, Request
from starlette.responses import HTMLResponse, Response

from regard import Classifier, TextGenerator, Translator, __version__
from regard.serve import answers, schemas
from regard.serve.counters import CONTENT_TYPE
from regard.serve.desk import AtWork, Desk
from regard.serve.gate import Gate
from regard.serve.limits import DEFAULTS, Limits, Refusal
from regard.serve.mistakes import HANDLERS
from regard.serve.stream import Stream
from regard.serve.worker import Job
from regard.tasks.translation.page import render
from regard.view.document import asset, document

PROBLEMS: dict[int | str, dict[str, Any]] = {
    404: {"model": schemas.Problem, "description": "No such model"},
    413: {"model": schemas.Problem, "description": "Body too long"},
    422: {"model": schemas.Problem, "description": "A mistake in the request, or more than the server accepts"},
    429: {"model": schemas.Problem, "description": "Too busy; `Retry-After` says when to come again"},
}
ASK_SCRIPTS = ("dom", "ask")
ASK = """<main>
  <header id="header"></header>
  <div id="answer" aria-live="polite"></div>
  <footer><p class="muted" id="programs"></p></footer>
</main>
<noscript><p>This page asks with JavaScript; docs/serve.md says how a program asks.</p></noscript>"""
MOST = 200
"""Pieces that are written if it is not said how many."""
PIECE = 4
"""Characters of a piece, about: what is yet to be written counts as much as what is to be read."""


def create_app(
    models: Mapping[str, AtWork],
    limits: Limits = DEFAULTS,
    hosts: Collection[str] | None = None,
    threads: int | None = None,
    movie: Mapping[str, Any] | None = None,
) -> FastAPI:
    """The whole server as an ASGI app; `hosts` are the names that it answers to, None: any. `movie`: for the page."""
    desk = Desk(models, limits, threads)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        desk.worker.start()
        yield
        await asyncio.to_thread(desk.worker.close)

    app = FastAPI(
        title="regard", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan,
        description="What the models of this server can do.", exception_handlers=HANDLERS,
    )  # fmt: skip
    app.add_middleware(Gate, limits=limits, hosts=hosts, metrics=desk.metrics)
    app.state.desk = desk
    _add_translating(app, desk)
    _add_classifying(app, desk)
    _add_generating(app, desk)
    _add_pages(app, desk, movie)
    return app


async def _only_json(request: Request) -> None:
    """A foreign page may send anything else without asking first."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        given = f"not {kind[:100]!r}" if kind else "but it was not named"
        raise Refusal(415, f"the body must be JSON and say so with Content-Type: application/json, {given}.")


def _endpoint(desk: Desk, kind: type[AtWork], answer: type[schemas.Answered], **more: Any) -> dict[str, Any]:
    """How an endpoint for models of one kind is made. Without such a model it only says so, and is not documented."""
    return {
        "dependencies": [Depends(_only_json)],
        "include_in_schema": bool(desk.of(kind)),
        "responses": {200: {"model": answer, **more}, **PROBLEMS},
    }


def _add_translating(app: FastAPI, desk: Desk) -> None:
    @app.post("/translate", **_endpoint(desk, Translator, schemas.TranslateAnswer))
    async def translate(asked: schemas.TranslateRequest, request: Request) -> Response:
        """Translate one or many texts. Requests that wait together are computed together; no answer depends on it."""
        name, translator = desk.find(asked.model, Translator)
        desk.check_texts(asked.text)
        if asked.attention:
            desk.check_looks(asked.text)
        desk.check("beam", asked.beam or 1, desk.limits.beam, "More is rarely better.")
        desk.check("nbest", asked.nbest, desk.limits.nbest, "Ask for fewer.")
        desk.check("characters in the prefix", len(asked.prefix), desk.limits.characters, "Shorten it.")
        options = asked.model_dump(exclude={"text", "model", "attention"})
        run = partial(answers.translations, translator, options, asked.attention)
        key = ("translate", name, asked.attention, *options.values())
        found = await desk.answers(request, [Job(key, text, len(text), run) for text in asked.text])
        desk.metrics.texts["translated"].inc(len(found))
        return _json(model=answers.encode(name), translations=_list(found))

    @app.post("/attention", **_endpoint(desk, Translator, schemas.AttentionAnswer))
    async def attention(asked: schemas.AttentionRequest, request: Request) -> Response:
        """Translate one text, with heads switched off or the attention changed if asked for, and see all its weights."""
        name, translator = desk.find(asked.model, Translator)
        desk.check_texts([asked.text])
        desk.check_looks([asked.text])
        desk.check("beam", asked.beam or 1, desk.limits.beam, "More is rarely better.")
        run = partial(
            answers.looks, translator, asked.beam, asked.walk,
            off=asked.off, temperature=asked.temperature, hard=asked.hard,
        )  # fmt: skip
        found = await desk.answers(request, [Job(object(), asked.text, len(asked.text), run)])
        return _json(model=answers.encode(name), scenes=found[0])

    @app.post("/score", **_endpoint(desk, Translator, schemas.ScoreAnswer))
    async def score(asked: schemas.ScoreRequest, request: Request) -> Response:
        """How probable the model finds given translations."""
        name, translator = desk.find(asked.model, Translator)
        desk.check_texts(asked.source)
        desk.check_texts(asked.target)
        if len(asked.source) != len(asked.target):
            counts = f"{len(asked.source)} source(s) were given with {len(asked.target)} target(s)"
            raise Refusal(422, f"{counts}; they go in pairs.")
        run, key = partial(answers.scores, translator), ("score", name)
        pairs = list(zip(asked.source, asked.target, strict=True))
        found = await desk.answers(request, [Job(key, pair, sum(map(len, pair)), run) for pair in pairs])
        return _json(model=answers.encode(name), scores=_list(found))


def _add_classifying(app: FastAPI, desk: Desk) -> None:
    @app.post("/classify", **_endpoint(desk, Classifier, schemas.ClassifyAnswer))
    async def classify(asked: schemas.ClassifyRequest, request: Request) -> Response:
        """Label one or many texts. Requests that wait together are computed together; no answer depends on it."""
        name, classifier = desk.find(asked.model, Classifier)
        desk.check_texts(asked.text, desk.limits.classified_characters)
        run, key = partial(answers.classifications, classifier), ("classify", name)
        found = await desk.answers(request, [Job(key, text, len(text), run) for text in asked.text])
        desk.metrics.texts["classified"].inc(len(found))
        return _json(model=answers.encode(name), classifications=_list(found))


def _add_generating(app: FastAPI, desk: Desk) -> None:
    @app.post("/generate", **_endpoint(desk, TextGenerator, schemas.GenerateAnswer, content={"text/event-stream": {}}))
    async def generate(asked: schemas.GenerateRequest, request: Request) -> Response:
        """Go on with one or many prompts. With `stream`, what is written comes as server-sent events: `text`, `text`, …
        and at last `done` with the whole answer, or `error` with what went wrong."""
        name, writer = desk.find(asked.model, TextGenerator)
        desk.check_texts(asked.prompt)
        most = asked.most or min(MOST, desk.limits.pieces)
        desk.check("most (pieces to write)", most, desk.limits.pieces, "Go on from there with another request.")
        desk.check("stop strings", len(asked.stop), desk.limits.texts, "Give fewer.")
        desk.check("characters in the stop strings", sum(map(len, asked.stop)), desk.limits.characters, "Shorten them.")
        options = {**asked.model_dump(exclude={"prompt", "model", "stream"}), "most": most, "stop": tuple(asked.stop)}
        written = PIECE * most
        if asked.stream:
            if len(asked.prompt) > 1:
                raise Refusal(422, f"only one prompt can be streamed, and {len(asked.prompt)} were given.")
            tell = partial(answers.generation_told, writer, options, name)
            [prompt] = asked.prompt
            return Stream(desk, request, lambda told: Job(object(), prompt, len(prompt) + written, partial(tell, told)))
        run, key = partial(answers.generations, writer, options), ("generate", name, *options.values())
        found = await desk.answers(request, [Job(key, each, len(each) + written, run) for each in asked.prompt])
        desk.metrics.texts["generated"].inc(len(found))
        return _json(model=answers.encode(name), generations=_list(found))


def _add_pages(app: FastAPI, desk: Desk, movie: Mapping[str, Any] | None) -> None:
    live = _page(_live_page(desk, movie) if desk.of(Translator) else _ask_page(desk))
    docs = _page(_docs_page())

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return live

    @app.get("/docs", include_in_schema=False)
    async def documentation() -> Response:
        return docs

    @app.get("/health", responses={200: {"model": schemas.Health}})
    async def health() -> Response:
        """Is the server there, which models has it, and where does each answer?"""
        if not desk.worker.alive:
            raise Refusal(503, "the thread that computes has died; start the server again.")
        tasks = {name: model.recipe.task for name, model in desk.models.items()}
        facts = {"status": "ok", "models": list(desk.models), "tasks": tasks, "version": __version__}
        return _json(**{name: answers.encode(value) for name, value in facts.items()})

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """What was counted since the start, in Prometheus' text format."""
        return Response(desk.metrics.text(), headers={"Content-Type": CONTENT_TYPE})


def _docs_page() -> str:
    """What openapi.json says, with a form for each path."""
    page, script = ((files("regard.serve") / name).read_text(encoding="utf-8") for name in ("docs.html", "docs.js"))
    return page.replace("/*SCRIPT*/", f"{asset('dom.js')}\n{script}", 1)


def _live_page(desk: Desk, movie: Mapping[str, Any] | None) -> str:
    """Where one looks inside a translator."""
    limits = desk.limits
    return render([], movie, answers.about(desk.of(Translator), limits.attention_characters, limits.beam))


def _ask_page(desk: Desk) -> str:
    """Where one asks models of other tasks."""
    data = answers.asked_of(desk.models, desk.limits)
    return document("regard", ASK, ["live", "ask"], ASK_SCRIPTS, data, asks=True)


def _json(**parts: bytes) -> Response:
    """One object from parts that are JSON already."""
    inside = b",".join(b'"%s":%s' % (name.encode(), content) for name, content in parts.items())
    return Response(b"{%s}" % inside, media_type="application/json")


def _list(parts: Sequence[bytes]) -> bytes:
    return b"[%s]" % b",".join(parts)


def _page(text: str) -> HTMLResponse:
    """A page that may run the scripts it was written with, may talk to this server, and nothing else."""
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    rules = [
        "default-src 'none'", "script-src " + " ".join(f"'sha256-{digest}'" for digest in digests),
        "style-src 'unsafe-inline'", "img-src data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
        "frame-ancestors 'none'",
    ]  # fmt: skip
    headers = {
        "Content-Security-Policy": "; ".join(rules),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
    return HTMLResponse(text, headers=headers)
