"""Who may ask, and how often: an API key, and a rate for each client. Both are for servers that strangers can reach."""

from __future__ import annotations

import hmac
import ipaddress
import logging
import math
import re
import stat
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import Headers
from starlette.types import Scope

from regard.errors import UsageError
from regard.serve.limits import Refusal

log = logging.getLogger(__name__)

OPEN = frozenset({"/", "/docs", "/openapi.json", "/health"})
"""What needs no key: pages that ask for it, and whether the server is there. They name the models, and compute nothing."""
REMEMBERED = 10_000
"""Clients of whom the server knows when they came; the longest silent are forgotten first."""
SHORTEST, LONGEST = 16, 1_000
"""Characters of a key. A shorter one could be guessed, and a longer one is not meant as one."""
MADE = "Make one with: python -c 'import secrets; print(secrets.token_urlsafe(32))'"


def read_key(path: str | Path) -> str:
    """The key of a file that holds nothing else."""
    path = Path(path)
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise UsageError(f"the key file {path} is no regular file")
        text = path.read_bytes()[: 2 * LONGEST].decode("utf-8", "replace").strip("\r\n")
    except OSError as error:
        raise UsageError(f"the key file {path} cannot be read: {error.strerror}") from None
    if re.fullmatch(r"[!-~]+", text) is None:
        what = (
            "is empty" if not text.strip() else "holds more than one line of letters, digits and marks without spaces"
        )
        raise UsageError(f"the key file {path} {what}. {MADE}")
    if not SHORTEST <= len(text) <= LONGEST:
        raise UsageError(f"the key in {path} should have {SHORTEST} to {LONGEST:,} characters. {MADE}")
    if about.st_mode & (stat.S_IRGRP | stat.S_IROTH):
        log.warning("others on this machine can read the key file %s; `chmod 600` makes it yours alone", path)
    return text


@dataclass
class _Allowance:
    requests: float
    """That the client may still make at once."""
    when: float


class Access:
    """`key` must come with every request but those for what is `OPEN`; None: no key. `rate` is how many requests a client
    may make in a minute, at once or spread out; None: any number. `now` is a clock, in seconds."""

    def __init__(
        self, key: str | None = None, rate: float | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        if rate is not None and not (math.isfinite(rate) and rate > 0):
            raise UsageError(f"the rate must be above 0 and finite, not {rate}; it is in requests a minute")
        self.key, self.rate, self._now = key, rate, now
        self._clients: OrderedDict[str, _Allowance] = OrderedDict()

    def check(self, scope: Scope, headers: Headers) -> None:
        """Refuse who comes too often (401 too: else a key could be guessed fast), then who has not the key."""
        if self.rate is not None:
            self._count(client_of(scope), self.rate)
        if self.key is not None and scope["path"] not in OPEN and not _fits(headers, self.key):
            raise Refusal(
                401,
                "this server wants a key: send it as `Authorization: Bearer KEY` or as `X-API-Key: KEY`.",
                {"WWW-Authenticate": "Bearer"},
            )

    def _count(self, client: str, rate: float) -> None:
        now, most = self._now(), max(1.0, rate)
        known = self._clients.pop(client, None) or _Allowance(most, now)
        known.requests = min(most, known.requests + (now - known.when) * rate / 60)
        known.when = now
        self._clients[client] = known  # the last to be forgotten
        while len(self._clients) > REMEMBERED:
            self._clients.popitem(last=False)
        if known.requests < 1:
            wait = math.ceil(round((1 - known.requests) * 60 / rate, 3))  # a rounding error is no second
            raise Refusal(
                429,
                f"this client may make {rate:g} requests a minute. Try again in {wait} s.",
                {"Retry-After": str(wait)},
            )
        known.requests -= 1


def client_of(scope: Scope) -> str:
    """Its address; of IPv6 the network, since everyone there has billions of addresses."""
    address = (scope.get("client") or ("unknown", 0))[0]
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return str(address)
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped or ipaddress.ip_network((int(found), 64), strict=False))
    return str(found)


def _fits(headers: Headers, key: str) -> bool:
    """Whether one of the two headers holds the key; how long that takes tells nothing of it."""
    kind, _, bearer = headers.get("authorization", "").partition(" ")
    given = (bearer.strip() if kind.lower() == "bearer" else "", headers.get("x-api-key", "").strip())
    same = [hmac.compare_digest(each.encode("utf-8", "replace"), key.encode()) for each in given]  # both, always
    return any(same)
