"""An answer on its way to one client while it is still being made, as server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from time import monotonic
from typing import Any

from fastapi import Request
from prometheus_client import Counter
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from regard.errors import RegardError
from regard.serve.batcher import Job
from regard.serve.endpoint import encode
from regard.serve.guard import CLIENT_LEFT
from regard.serve.limits import Refusal
from regard.serve.service import Service


class Stream(Response):
    """Events of one kind as the answer is made, then `done` with the whole of it, or `error` with what went wrong.

    It begins with the first event: what is refused before that is refused with a status, like any request.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        service: Service,
        request: Request,
        counted: Counter,
        make_job: Callable[[Callable[[Any], None]], Job],
        *,
        kind: str = "text",
        count: int = 1,
    ) -> None:
        """`make_job` is given what to call with each new part, such as a stretch of text, which becomes an event
        `{kind: part}`; `counted` counts what was answered: `count`."""
        super().__init__(headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})  # the latter is for nginx
        del self.headers["content-length"]
        self.service, self.request, self.counted, self.job = service, request, counted, make_job(self.write)
        self.kind, self.count = kind, count
        self.loop = asyncio.get_running_loop()
        self.parts: asyncio.Queue[bytes | None] = asyncio.Queue()  # never long: what a job may write is limited
        self.unread = False

    def write(self, part: Any) -> None:
        """Called in the batcher's thread, which has better things to do once nobody reads."""
        if self.unread:
            raise Refusal(CLIENT_LEFT, "the client left")
        self.loop.call_soon_threadsafe(self.parts.put_nowait, _event(self.kind, encode({self.kind: part})))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False
        async with aclosing(self.events()) as events:
            async for event in events:
                if not begun:
                    await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                begun = True
                await send({"type": "http.response.body", "body": event, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def events(self) -> AsyncGenerator[bytes, None]:
        request, begun = self.request, False
        request.state.texts = 1  # for the log
        self.service.batcher.put([self.job])
        end = monotonic() + self.service.limits.answer_seconds
        answer = asyncio.wrap_future(self.job.future)
        answer.add_done_callback(self._end)
        try:
            while (part := await self.service.wait(request, self.parts.get(), end - monotonic())) is not None:
                yield part
                begun = True
            done = _event("done", answer.result())
            self.counted.inc(self.count)
            yield done
        except (Refusal, RegardError) as error:
            request.state.left = isinstance(error, Refusal) and error.status == CLIENT_LEFT
            if not begun:
                raise
            yield _event("error", encode({"detail": error.detail if isinstance(error, Refusal) else str(error)}))
        finally:
            self.unread = True
            answer.cancel()
            self.service.batcher.drop([self.job])

    def _end(self, answer: asyncio.Future[Any]) -> None:
        if not answer.cancelled():
            answer.exception()  # has now been asked for, also if the client has left
        self.parts.put_nowait(None)


def _event(kind: str, data: bytes) -> bytes:
    """JSON has no line breaks of its own, so that one line of data is enough."""
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), data)
