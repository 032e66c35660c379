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

from regard import Translator, __version__
from regard.serve import answers
from regard.serve.gate import CLIENT_LEFT, Gate
from regard.serve.limits import DEFAULTS, Limits, Refusal
from regard.serve.metrics import CONTENT_TYPE, Metrics
from regard.serve.mistakes import HANDLERS
from regard.serve.schemas import (
    AttentionAnswer,
    AttentionRequest,
    Health,
    Problem,
    ScoreAnswer,
    ScoreRequest,
    TranslateAnswer,
    TranslateRequest,
)
from regard.serve.worker import Job, Worker
from regard.view.page import render

PATHS = ("/", "/translate", "/attention", "/score", "/health", "/metrics", "/docs", "/openapi.json")
PROBLEMS: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "No such model"},
    413: {"model": Problem, "description": "Body too long"},
    422: {"model": Problem, "description": "A mistake in the request, or more than the server accepts"},
    429: {"model": Problem, "description": "Too busy; `Retry-After` says when to come again"},
}


class Desk:
    """What every endpoint shares: the models by name, the limits, the worker, the metrics."""

    def __init__(self, translators: Mapping[str, Translator], limits: Limits, threads: int | None) -> None:
        self.translators, self.limits = translators, limits
        self.metrics = Metrics(PATHS, lambda: self.worker.waiting)
        self.worker = Worker(limits, threads, self.metrics.batches.observe)

    def find(self, name: str | None) -> tuple[str, Translator]:
        """The model of that name, or the first."""
        if name is None:
            return next(iter(self.translators.items()))
        if name not in self.translators:
            there_are = ", ".join(self.translators)
            raise Refusal(404, f"there is no model {name[:100]!r}; there are: {there_are}.")
        return name, self.translators[name]

    def check(self, what: str, given: int, most: int, remedy: str) -> None:
        if given > most:
            raise Refusal(422, f"{what}: {given:,} were given, and at most {most:,} are accepted. {remedy}")

    def check_texts(self, texts: Sequence[str], attention: bool = False) -> None:
        limits = self.limits
        self.check("texts in one request", len(texts), limits.texts, "Send them in several requests.")
        for text in texts:
            self.check("characters in one text", len(text), limits.characters, "Send it in parts.")
        if attention:
            characters = sum(map(len, texts))
            self.check(
                "characters to look at", characters, limits.attention_characters, "Look at fewer or shorter texts."
            )

    async def answers(self, request: Request, jobs: Sequence[Job]) -> list[Any]:
        """What the worker makes of the jobs; they are forgotten when the client leaves or the time is over."""
        request.state.texts = len(jobs)  # for the log
        self.worker.put(jobs)
        answered = asyncio.ensure_future(_all(jobs))
        left = asyncio.ensure_future(request.receive())  # after the body, nothing but the client's leaving can come
        seconds = self.limits.answer_seconds
        try:
            both: set[asyncio.Future[Any]] = {answered, left}
            await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if answered.done():
                return answered.result()
            if left.done():
                raise Refusal(CLIENT_LEFT, "the client left")
            remedy = "Send fewer or shorter texts, with a smaller beam, or come again later."
            raise Refusal(429, f"no answer within {seconds:g} s. {remedy}", {"Retry-After": str(self.worker.patience)})
        finally:
            left.cancel()
            answered.cancel()
            self.worker.drop(jobs)


async def _all(jobs: Sequence[Job]) -> list[Any]:
    return await asyncio.gather(*(asyncio.wrap_future(job.future) for job in jobs))


def create_app(
    translators: Mapping[str, Translator],
    limits: Limits = DEFAULTS,
    hosts: Collection[str] | None = None,
    threads: int | None = None,
    movie: Mapping[str, Any] | None = None,
) -> FastAPI:
    """The whole server as an ASGI app; `hosts` are the names that it answers to, None: any. `movie`: for the page."""
    desk = Desk(translators, limits, threads)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        desk.worker.start()
        yield
        await asyncio.to_thread(desk.worker.close)

    app = FastAPI(
        title="regard", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan,
        description="Translate, look at the attention, score.", exception_handlers=HANDLERS,
    )  # fmt: skip
    app.add_middleware(Gate, limits=limits, hosts=hosts, metrics=desk.metrics)
    app.state.desk = desk
    _add_work(app, desk)
    _add_pages(app, desk, movie)
    return app


async def _only_json(request: Request) -> None:
    """A foreign page may send anything else without asking first."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        given = f"not {kind[:100]!r}" if kind else "but it was not named"
        raise Refusal(415, f"the body must be JSON and say so with Content-Type: application/json, {given}.")


def _add_work(app: FastAPI, desk: Desk) -> None:
    post = partial(app.post, dependencies=[Depends(_only_json)])

    @post("/translate", responses={200: {"model": TranslateAnswer}, **PROBLEMS})
    async def translate(asked: TranslateRequest, request: Request) -> Response:
        """Translate one or many texts. Requests that wait together are computed together; no answer depends on it."""
        name, translator = desk.find(asked.model)
        desk.check_texts(asked.text, asked.attention)
        desk.check("beam", asked.beam or 1, desk.limits.beam, "More is rarely better.")
        desk.check("nbest", asked.nbest, desk.limits.nbest, "Ask for fewer.")
        desk.check("characters in the prefix", len(asked.prefix), desk.limits.characters, "Shorten it.")
        options = asked.model_dump(exclude={"text", "model", "attention"})
        run = partial(answers.translations, translator, options, asked.attention)
        key = ("translate", name, asked.attention, *options.values())
        found = await desk.answers(request, [Job(key, text, len(text), run) for text in asked.text])
        desk.metrics.translated.inc(len(found))
        return _json(model=answers.encode(name), translations=_list(found))

    @post("/attention", responses={200: {"model": AttentionAnswer}, **PROBLEMS})
    async def attention(asked: AttentionRequest, request: Request) -> Response:
        """Translate one text, with heads switched off or the attention changed if asked for, and see all its weights."""
        name, translator = desk.find(asked.model)
        desk.check_texts([asked.text], attention=True)
        desk.check("beam", asked.beam or 1, desk.limits.beam, "More is rarely better.")
        run = partial(
            answers.looks, translator, asked.beam, asked.walk,
            off=asked.off, temperature=asked.temperature, hard=asked.hard,
        )  # fmt: skip
        found = await desk.answers(request, [Job(object(), asked.text, len(asked.text), run)])
        return _json(model=answers.encode(name), scenes=found[0])

    @post("/score", responses={200: {"model": ScoreAnswer}, **PROBLEMS})
    async def score(asked: ScoreRequest, request: Request) -> Response:
        """How probable the model finds given translations."""
        name, translator = desk.find(asked.model)
        desk.check_texts(asked.source)
        desk.check_texts(asked.target)
        if len(asked.source) != len(asked.target):
            counts = f"{len(asked.source)} source(s) were given with {len(asked.target)} target(s)"
            raise Refusal(422, f"{counts}; they go in pairs.")
        run, key = partial(answers.scores, translator), ("score", name)
        pairs = list(zip(asked.source, asked.target, strict=True))
        found = await desk.answers(request, [Job(key, pair, sum(map(len, pair)), run) for pair in pairs])
        return _json(model=answers.encode(name), scores=_list(found))


def _add_pages(app: FastAPI, desk: Desk, movie: Mapping[str, Any] | None) -> None:
    live = _page(render([], movie, answers.about(desk.translators, desk.limits.attention_characters, desk.limits.beam)))
    docs = _page((files("regard.serve") / "docs.html").read_text(encoding="utf-8"))

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return live

    @app.get("/docs", include_in_schema=False)
    async def documentation() -> Response:
        return docs

    @app.get("/health", responses={200: {"model": Health}})
    async def health() -> Response:
        """Is the server there, and which models has it?"""
        if not desk.worker.alive:
            raise Refusal(503, "the thread that computes has died; start the server again.")
        facts = {"status": "ok", "models": list(desk.translators), "version": __version__}
        return _json(**{name: answers.encode(value) for name, value in facts.items()})

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """What was counted since the start, in Prometheus' text format."""
        return Response(desk.metrics.text(), headers={"Content-Type": CONTENT_TYPE})


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
