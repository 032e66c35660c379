"""What answers while the models are being loaded: the port is open at once, and says so, until the app is there."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Receive, Scope, Send

if TYPE_CHECKING:  # it brings torch
    from fastapi import FastAPI

RETRY = 1  # seconds


class LoadingApp:
    """An ASGI app that another takes the place of, once `make` has made it in a thread of its own."""

    def __init__(self, make: Callable[[], FastAPI], on_end: Callable[[BaseException | None], None]) -> None:
        """`on_end` is told when the other is there, or why it never will be."""
        self.make, self.on_end = make, on_end
        self.app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self.app is not None:
            await self.app(scope, receive, send)
        else:
            await refuse(send)

    async def _live(self, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as stack:
            await receive()  # the start
            opening = asyncio.create_task(self._open(stack))
            await send({"type": "lifespan.startup.complete"})
            await receive()  # the end
            opening.cancel()
        await send({"type": "lifespan.shutdown.complete"})

    async def _open(self, stack: AsyncExitStack) -> None:
        try:
            app = await in_thread(self.make)
            await stack.enter_async_context(app.router.lifespan_context(app))
        except Exception as error:
            self.on_end(error)
        else:
            self.app = app
            self.on_end(None)


async def refuse(send: Send) -> None:
    """That there is nobody yet to answer."""
    told = {"status": "loading", "detail": "the models are being loaded; come again in a second."}
    body = json.dumps(told).encode()
    headers = [(b"content-type", b"application/json"), (b"retry-after", b"%d" % RETRY)]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def in_thread(work: Callable[[], Any]) -> Any:
    """As asyncio.to_thread, but whoever stops the server meanwhile need not wait for it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(set_it: Callable[[Any], None], value: Any) -> None:
        if not done.cancelled():
            set_it(value)

    def run() -> None:
        try:
            found = work()
        except BaseException as error:
            told, value = done.set_exception, error
        else:
            told, value = done.set_result, found
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, told, value)

    threading.Thread(target=run, name="regard-loading", daemon=True).start()
    return await done
