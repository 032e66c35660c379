"""The app: the endpoints of every task, the pages, and what is asked of the server itself."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI
from starlette.responses import HTMLResponse, Response

from regard import __version__
from regard.errors import UsageError
from regard.serve import schemas
from regard.serve.access import Access
from regard.serve.attention_route import add_attention, glass_boxes, live_page
from regard.serve.body import JSONRoute
from regard.serve.counters import CONTENT_TYPE
from regard.serve.embed_route import add_embed
from regard.serve.endpoint import ANYWHERE, LOCKED, encode, json_answer, problems
from regard.serve.exception_handlers import HANDLERS
from regard.serve.guard import RequestGuard
from regard.serve.limits import DEFAULTS, Limits, Refusal
from regard.serve.service import Served, Service, task_of
from regard.tasks.registry import all_tasks
from regard.view.document import asset, document

ASK_SCRIPTS = ("data", "dom", "key", "picture", "ask_pictures", "ask")
ASK = """<main>
  <header id="header"></header>
  <div id="answer" aria-live="polite"></div>
  <footer><p class="muted" id="programs"></p></footer>
</main>
<noscript><p>This page asks with JavaScript; docs/serve.md says how a program asks.</p></noscript>"""


def create_app(
    models: Mapping[str, Served],
    limits: Limits = DEFAULTS,
    hosts: Collection[str] | None = None,
    threads: int | None = None,
    folders: Sequence[Path] = (),
    access: Access | None = None,
) -> FastAPI:
    """The whole server as an ASGI app; `hosts` are the names that it answers to, None: any.

    `access` says who may ask, and how often; left out, all may. `folders` are those that the models come from; a task's
    page may find more there.
    """
    for name, model in models.items():
        if (task := task_of(model)).serve is None:
            raise UsageError(f"the model {name!r} cannot be served: its task, {task.name!r}, has no path of its own")
    access = access or Access()
    service = Service(models, limits, threads, access)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.batcher.start()
        yield
        await asyncio.to_thread(service.batcher.close)

    app = FastAPI(
        title="regard", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan, redirect_slashes=False,
        description="What the models of this server can do.", exception_handlers=HANDLERS,
    )  # fmt: skip
    app.router.route_class = JSONRoute
    app.add_middleware(RequestGuard, limits=limits, hosts=hosts, access=access, metrics=service.metrics)
    app.state.service = service
    for task in all_tasks():  # also those without a model here: their paths then say so
        if task.serve is not None:
            task.serve(app, service)
    add_embed(app, service)
    add_attention(app, service)
    _add_pages(app, service, folders)
    _add_state(app, service)
    service.metrics.paths = frozenset(getattr(route, "path", "") for route in app.routes)
    return app


def _add_pages(app: FastAPI, service: Service, folders: Sequence[Path]) -> None:
    docs = _page(_docs_page())
    text = _front_page(service, folders)
    front = docs if text is None else _page(text)

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return front

    if glass_boxes(service.models):
        inside = _page(live_page(service))

        @app.get("/look", include_in_schema=False)
        async def look() -> Response:
            return inside

    @app.get("/docs", include_in_schema=False)
    async def documentation() -> Response:
        return docs


def _add_state(app: FastAPI, service: Service) -> None:
    @app.get("/health", responses={200: {"model": schemas.Health}, **problems(ANYWHERE)})
    async def health() -> Response:
        """Is the server there, which models has it, and where does each answer?"""
        if not service.batcher.alive:
            raise Refusal(503, "the thread that computes has died; start the server again.")
        tasks = {name: model.recipe.task for name, model in service.models.items()}
        engines = {name: getattr(model, "decoded_by", "native") for name, model in service.models.items()}
        written = {name: model.targets for name, model in service.models.items() if hasattr(model, "targets")}
        facts = {
            "status": "ok", "models": list(service.models), "tasks": tasks, "engines": engines, "languages": written,
            "version": __version__,
        }  # fmt: skip
        return json_answer(**{name: encode(value) for name, value in facts.items()})

    locked = problems(ANYWHERE, LOCKED if service.access.key else {})

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}, **locked})
    async def metrics() -> Response:
        """What was counted since the start, in Prometheus' text format."""
        return Response(service.metrics.text(), headers={"Content-Type": CONTENT_TYPE})


def _docs_page() -> str:
    """What openapi.json says, with a form for each path."""
    page, script = ((files("regard.serve") / name).read_text(encoding="utf-8") for name in ("docs.html", "docs.js"))
    return page.replace("/*SCRIPT*/", f"{asset('dom.js')}\n{asset('key.js')}\n{script}", 1)


def _front_page(service: Service, folders: Sequence[Path]) -> str | None:
    """The first page of its own that a task of these models has, else the one that asks them, if they can be asked."""
    for task in all_tasks():
        if task.front_page is not None and service.of(task.name):
            return task.front_page(service, folders)
    return _ask_page(service)


def _ask_page(service: Service) -> str | None:
    """A box to type in and the answer, for models whose tasks say how."""
    asked = [
        {"name": name, "title": model.recipe.name, **task.ask(model, service.limits)}
        for name, model in service.models.items()
        if (task := task_of(model)).ask is not None
    ]
    content = {"models": asked, "look": bool(glass_boxes(service.models))}
    return document("regard", ASK, ["live", "picture", "ask"], ASK_SCRIPTS, content, asks=True) if asked else None


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
