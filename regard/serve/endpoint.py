"""What the endpoints of every task share: how one is declared, and how its answer is put together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Depends, Request
from starlette.responses import Response

from regard.serve import schemas
from regard.serve.limits import Refusal
from regard.serve.service import Service

# What any path may answer, whatever it is asked, and what only those answer that compute.
ANYWHERE = {
    400: "The request is not HTTP, or its body is not JSON",
    408: "The body came too slowly",
    413: "Body too long",
    421: "The server does not go by this `Host`",
    429: "Too busy, or this client comes too often; `Retry-After` says when to come again",
    500: "Our mistake; the log says more",
    503: "The server stops, or cannot compute any more",
}
COMPUTING = {
    404: "No such model",
    415: "`Content-Type` is not `application/json`",
    422: "A mistake in the request, or more than the server accepts",
}
LOCKED = {401: "The server wants a key, and it was not sent"}


def problems(*told: Mapping[int, str]) -> dict[int | str, dict[str, Any]]:
    """Refusals as OpenAPI lists them."""
    statuses = sorted({status: text for each in told for status, text in each.items()}.items())
    return {status: {"model": schemas.Problem, "description": text} for status, text in statuses}


def endpoint(service: Service, task: str, answer: type[schemas.Answered], **more: Any) -> dict[str, Any]:
    """How an endpoint for models of one task is declared: `@app.post(path, **endpoint(…))`.

    Without such a model it only says so, and is not documented.
    """
    return {
        "dependencies": [Depends(_only_json)],
        "include_in_schema": bool(service.of(task)),
        "responses": {
            200: {"model": answer, **more},
            **problems(ANYWHERE, COMPUTING, LOCKED if service.access.key else {}),
        },
    }


async def _only_json(request: Request) -> None:
    """A foreign page may send anything else without asking first."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        given = f"not {kind[:100]!r}" if kind else "but it was not named"
        raise Refusal(415, f"the body must be JSON and say so with Content-Type: application/json, {given}.")


def encode(content: object) -> bytes:
    """JSON. In the batcher's thread, because megabytes of it would keep everybody else waiting."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def json_list(parts: Sequence[bytes]) -> bytes:
    """One list from parts that are JSON already."""
    return b"[%s]" % b",".join(parts)


def json_answer(**parts: bytes) -> Response:
    """One object from parts that are JSON already."""
    inside = b",".join(b'"%s":%s' % (name.encode(), content) for name, content in parts.items())
    return Response(b"{%s}" % inside, media_type="application/json")
