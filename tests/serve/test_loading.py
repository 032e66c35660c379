"""The port answers before the models are there, says so, and hands over to the app; what goes wrong is told."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from regard.errors import CheckpointError
from regard.serve.loading import LoadingApp


def small_app() -> FastAPI:
    app = FastAPI()

    @app.get("/health")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    return app


async def asked(app: LoadingApp, path: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        return await client.get(path)


async def alive(app: LoadingApp, ended: asyncio.Event) -> asyncio.Task[Any]:
    """The app after its start, whose end comes with the event."""
    begun = asyncio.Event()

    async def receive() -> dict[str, str]:
        if begun.is_set():
            await ended.wait()
        return {"type": "lifespan"}

    async def send(message: Any) -> None:
        begun.set()

    task = asyncio.create_task(app({"type": "lifespan"}, receive, send))
    await begun.wait()
    return task


def test_it_says_that_it_loads_and_then_answers() -> None:
    async def run() -> None:
        may_end, opened, ended = threading.Event(), asyncio.Event(), asyncio.Event()

        def make() -> FastAPI:
            assert may_end.wait(60)
            return small_app()

        app = LoadingApp(make, lambda error: opened.set())
        task = await alive(app, ended)
        for path in ("/health", "/translate"):
            answer = await asked(app, path)
            assert (answer.status_code, answer.json()["status"]) == (503, "loading")
            assert answer.headers["retry-after"] == "1"
        may_end.set()
        await asyncio.wait_for(opened.wait(), 60)
        assert (await asked(app, "/health")).json() == {"status": "ok"}
        ended.set()
        await task

    asyncio.run(run())


def test_what_goes_wrong_is_told() -> None:
    async def run() -> list[BaseException | None]:
        told: list[BaseException | None] = []
        heard, ended = asyncio.Event(), asyncio.Event()

        def make() -> FastAPI:
            raise CheckpointError("no such model")

        def hear(error: BaseException | None) -> None:
            told.append(error)
            heard.set()

        task = await alive(LoadingApp(make, hear), ended)
        await asyncio.wait_for(heard.wait(), 60)
        ended.set()
        await task
        return told

    [error] = asyncio.run(run())
    with pytest.raises(CheckpointError, match="no such model"):
        raise error or AssertionError


def test_a_stop_does_not_wait_for_the_models() -> None:
    async def run() -> None:
        ended = asyncio.Event()
        app = LoadingApp(lambda: (threading.Event().wait(600) and small_app()) or small_app(), lambda error: None)
        task = await alive(app, ended)
        ended.set()
        await asyncio.wait_for(task, 60)

    asyncio.run(run())
