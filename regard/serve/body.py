"""The JSON of a request's body. Python's reader is more lenient than JSON: what two readers would understand differently,
or what no answer could repeat, is refused."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from regard.errors import visible
from regard.serve.limits import Refusal

DIGITS = 4_000  # of a number: Python itself refuses to read 4,300, because that takes the square of their number
NAMES = 1_000  # of one object: each that no request knows is a mistake to be told
HALF = re.compile("[\ud800-\udfff]")
SHOWN = 60  # characters of a name


def read_json(body: bytes) -> Any:
    """What a body says; a `json.JSONDecodeError` or a `Refusal` if that is not clear."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        place = f"byte {error.start + 1} ({body[error.start]:#04x})"
        raise Refusal(400, f"The body is not UTF-8: {place} cannot be read. Encode it as UTF-8.") from None
    if text.startswith("\ufeff"):
        raise Refusal(400, "The body begins with a byte order mark; leave it out.")
    try:
        content = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer)
    except RecursionError:
        raise Refusal(400, "The body is nested too deeply; no request needs more than a few levels.") from None
    _check_halves(content)
    return content


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > NAMES:
        raise Refusal(400, f"The body holds an object of {len(pairs):,} names; at most {NAMES:,} can be read.")
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise Refusal(400, f"The body names {_shown(name)} twice; say each field once.")
        made[name] = value
    return made


def _constant(name: str) -> Any:
    raise Refusal(400, f"The body is not JSON: {name} is no JSON number.")


def _integer(digits: str) -> int:
    if len(digits) > DIGITS:
        raise Refusal(400, f"The body holds a number of {len(digits):,} digits; at most {DIGITS:,} can be read.")
    return int(digits)


def _check_halves(content: Any) -> None:
    """JSON can spell half of a surrogate pair, which no UTF-8 could carry back."""
    left: list[tuple[str, Any]] = [("", content)]
    while left:
        place, value = left.pop()
        if isinstance(value, str):
            _check_half(place or "The body", value)
        elif isinstance(value, dict):
            for name in value:
                _check_half(f"A name in {place or 'the body'}", name)
            left += [(_inside(place, name), inner) for name, inner in reversed(value.items())]
        elif isinstance(value, list):
            left += [(_inside(place, str(number)), value[number]) for number in reversed(range(len(value)))]


def _inside(place: str, name: str) -> str:
    """Never long: a body of one long name and many values would fill the memory."""
    return f"{place}.{name[:SHOWN]}".lstrip(".")[:SHOWN]


def _check_half(place: str, text: str) -> None:
    if found := HALF.search(text):
        raise Refusal(
            422,
            f"{visible(place)} holds {ascii(found[0])[1:-1]} as character {found.start() + 1}, half of a surrogate "
            "pair: send both halves, or the character itself.",
        )


def _shown(name: str) -> str:
    return ascii(name) if len(name) <= SHOWN else f"{name[:SHOWN]!a}…"


class _JSONRequest(Request):
    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = read_json(await self.body())
        return self._json


class JSONRoute(APIRoute):
    """A path whose body is read by `read_json`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            return await handle(_JSONRequest(request.scope, request.receive))

        return handle_json
