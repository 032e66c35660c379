"""What stands between the network and the endpoints: the right host, key and rate, a body of bounded size in bounded time,
a number and a line in the log for every request, and an answer whatever happens."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection
from uuid import uuid4

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from regard.serve.access import Access
from regard.serve.counters import Metrics
from regard.serve.limits import Limits, Refusal

log = logging.getLogger(__name__)

CLIENT_LEFT = 499
DISCARDED = 16_000_000
"""Bytes of a body that is too long which are still read, so that the client comes to read why it was refused."""


def refuse(refusal: Refusal) -> JSONResponse:
    return JSONResponse({"detail": refusal.detail}, refusal.status, dict(refusal.headers))


class RequestGuard:
    """An ASGI middleware. `hosts` are the names that the server goes by; None: any."""

    def __init__(
        self, app: ASGIApp, limits: Limits, hosts: Collection[str] | None, access: Access, metrics: Metrics
    ) -> None:
        self.app, self.limits, self.hosts, self.access, self.metrics = app, limits, hosts, access, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, number, status = time.perf_counter(), uuid4().hex[:12], 0

        async def numbered(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", number.encode())]
            await send(message)

        try:
            await self._admit(scope, receive, numbered)
        except asyncio.CancelledError:  # by a server that has waited long enough for this request to finish
            if status:
                raise
            await refuse(Refusal(503, "the server stops, and there was no time left to finish this."))(
                scope, receive, numbered
            )
        except Exception:
            log.exception("request %s (%s %r) failed", number, scope["method"], scope["path"])
            if status:
                raise  # half an answer is out; only closing the connection can tell
            detail = f"something went wrong here, not with your request; the log says more about request {number}."
            await refuse(Refusal(500, detail))(scope, receive, numbered)
        finally:
            seconds = time.perf_counter() - began
            left = not status or scope.get("state", {}).get("left", False)  # before the answer, or in the midst of it
            self.metrics.request(scope["path"], CLIENT_LEFT if left else status, seconds)
            _note(scope, CLIENT_LEFT if left else status, seconds, number)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        try:
            self._check_host(headers)
            self.access.check(scope, headers)
            body = await self._read(receive, headers)
        except Refusal as refusal:
            await refuse(refusal)(scope, receive, send)
            return
        if body is None:
            return
        if scope["method"] == "HEAD":  # is a GET whose answer's body uvicorn leaves out
            scope = {**scope, "method": "GET"}
        await self.app(scope, _again(body, receive), send)

    def _check_host(self, headers: Headers) -> None:
        host = headers.get("host", "").lower()
        name = host[: host.find("]") + 1] if host.startswith("[") else host.partition(":")[0]
        if self.hosts is not None and name not in self.hosts:
            raise Refusal(
                421,
                f"this server goes by {', '.join(sorted(self.hosts))}, not by {host[:100]!r}. A proxy in front of it "
                "should pass one of these as the Host header; else listen on another address with --host, where everyone "
                "may use it.",
                {"Connection": "close"},
            )

    async def _read(self, receive: Receive, headers: Headers) -> bytes | None:
        """The whole body, or None if the client left meanwhile."""
        most = self.limits.body_bytes
        too_long = Refusal(
            413,
            f"the body is longer than {most:,} bytes. Send fewer texts or smaller pictures at a time.",
            {"Connection": "close"},
        )
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > most and ("expect" in headers or int(declared) > DISCARDED):
            raise too_long
        try:
            body = await asyncio.wait_for(_collect(receive, most), self.limits.body_seconds)
        except asyncio.TimeoutError:
            raise Refusal(
                408, f"the body did not arrive within {self.limits.body_seconds:g} s. Send it faster, or in parts.",
                {"Connection": "close"},
            ) from None  # fmt: skip
        if body is not None and len(body) > most:
            raise too_long
        return body


def _note(scope: Scope, status: int, seconds: float, number: str) -> None:
    """One line of the log. It never quotes a text, and nothing that a client sends can break it."""
    level = logging.DEBUG if status < 400 else logging.INFO if status < 500 else logging.WARNING
    what = ascii(f"{scope['method']} {scope['path']}")[1:-1][:100]
    texts = scope.get("state", {}).get("texts", 0)
    log.log(level, "%s %d in %.0f ms, texts %d, request %s", what, status, seconds * 1000, texts, number)


async def _collect(receive: Receive, most: int) -> bytes | None:
    """The body, or one byte more than `most` of it; None if the client left."""
    body, size = bytearray(), 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk = message.get("body", b"")
        size += len(chunk)
        body += chunk[: most + 1 - len(body)]
        if not message.get("more_body", False) or size > DISCARDED:
            return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Gives the body that was read, then whatever comes after it: only the client's leaving."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
