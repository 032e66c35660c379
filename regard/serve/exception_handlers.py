"""What is wrong with a request, as sentences instead of FastAPI's lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from regard.errors import RegardError, did_you_mean
from regard.serve.guard import refuse
from regard.serve.limits import Refusal
from regard.serve.schemas import Asked

TOLD = 5
"""Mistakes of one request that are named; the others are counted."""
SHOWN = 60
"""Characters of a wrong value."""


def describe(mistakes: Sequence[Mapping[str, Any]], asked: type[Asked]) -> str:
    """One sentence for each."""
    told = [_sentence(mistake, asked) for mistake in mistakes[:TOLD]]
    if len(mistakes) > TOLD:
        told.append(f"And {len(mistakes) - TOLD} more mistakes.")
    return " ".join(told)


def _sentence(mistake: Mapping[str, Any], asked: type[Asked]) -> str:
    kind, place, fields = mistake["type"], mistake["loc"], asked.model_fields
    name = ".".join(map(str, place[1:]))
    if kind == "json_invalid":
        return f"The body is not JSON: {mistake['ctx']['error']}, at character {place[-1]}."
    if kind == "missing":
        return f"{name} is missing." if place[1:] else "The body is missing."
    if not place[1:]:
        example = ", ".join(f'"{field}": "…"' for field, about in fields.items() if about.is_required())
        return f"The body must be a JSON object such as {{{example}}}, not {_shown(mistake['input'])}."
    if kind == "extra_forbidden" and name in asked.renamed:
        return f"{name} is now called {asked.renamed[name]}."
    if kind == "extra_forbidden":
        return f"There is no field {name[:60]!r}.{did_you_mean(name[:60], list(fields))} There are {', '.join(fields)}."
    wanted = mistake["msg"].removeprefix("Value error, ").removeprefix("Input ")
    return f"{name[:100]} {wanted}, not {_shown(mistake['input'])}."


def _shown(value: object) -> str:
    """As Python would write it, which escapes all that no answer could carry."""
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


def _asked_by(request: Request) -> type[Asked]:
    """What the body should have been: the endpoint says it."""
    route = request.scope.get("route")
    kinds = get_type_hints(route.endpoint).values() if route is not None else ()
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Asked)), Asked)


async def on_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    mistakes = error.errors()
    status = 400 if any(mistake["type"] == "json_invalid" for mistake in mistakes) else 422
    return refuse(Refusal(status, describe(mistakes, _asked_by(request))))


async def on_regard_error(request: Request, error: Exception) -> JSONResponse:
    return refuse(Refusal(422, str(error)))


async def on_refusal(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refusal)
    return refuse(error)


async def on_http_error(request: Request, error: Exception) -> JSONResponse:
    """Of the framework itself: no such path, wrong method, a body that cannot be read as text."""
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, Refusal):  # FastAPI takes whatever happens while a body is read for its own
        return refuse(error.__cause__)
    path = ascii(request.url.path)[1:-1][:100]
    detail = {
        400: "The body cannot be read.",
        404: f"There is nothing at {path}; /docs lists what there is.",
        405: f"{path} does not take {request.method}; use {(error.headers or {}).get('Allow', 'another method')}.",
    }.get(error.status_code, error.detail)
    return refuse(Refusal(error.status_code, detail, error.headers or {}))


HANDLERS: dict[int | type[Exception], Any] = {
    RequestValidationError: on_invalid, RegardError: on_regard_error, Refusal: on_refusal, HTTPException: on_http_error,
}  # fmt: skip
