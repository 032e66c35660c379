"""How processes that were started together find each other, and find out whether they are about to do the same.

Only text passes between them, as JSON: nothing that comes from another machine is ever run.
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from regard.errors import ProcessError

LOOK_EVERY = 0.05  # seconds
SHOWN = 8  # differences in one message


class Store(Protocol):
    """What all of them can read and write, such as the store that torchrun keeps."""

    def set(self, key: str, value: str, /) -> None: ...

    def check(self, keys: list[str], /) -> bool: ...

    def multi_get(self, keys: list[str], /) -> list[bytes]: ...


def read(store: Store, *keys: str) -> list[str] | None:
    """What stands under the keys, if all are there; a store would wait for a key that is not."""
    return [value.decode() for value in store.multi_get(list(keys))] if store.check(list(keys)) else None


def meet(store: Store, rank: int, count: int, seconds: float) -> str:
    """Wait for all → a name of this meeting, the same in each process and never used before.

    torchrun's store outlives its processes: whoever is started again finds there what the dead have written, addresses
    among it (pytorch issue 135712), and torchrun's count of restarts differs between machines. So each process comes under
    a new name, and a meeting is called by the names of all who are there. It begins when every one of them has said that
    it knows all the others; no dead process can have said so of one that came later.
    """
    arrived, ready = ([f"{key}/{each}" for each in range(count)] for key in ("arrived", "ready"))
    store.set(arrived[rank], uuid.uuid4().hex)
    until, meeting = time.monotonic() + seconds, ""
    while True:
        if names := read(store, *arrived):
            now = hashlib.sha256(" ".join(names).encode()).hexdigest()
            if now != meeting:
                meeting = now
                store.set(ready[rank], meeting)
            if read(store, *ready) == [meeting] * count:
                return meeting
        if time.monotonic() > until:
            missing = [each for each, key in enumerate(ready) if each != rank and read(store, key) != [meeting]]
            raise ProcessError(
                f"{called(missing)} of {count} did not come within {minutes(seconds)}. Is the same command running on every "
                "machine, and can each of them reach the first?"
            )
        time.sleep(LOOK_EVERY)


def differences(told: Sequence[Mapping[str, Any]], hosts: Sequence[str]) -> str | None:
    """What the processes tell of themselves, compared → what differs, and where; None if nothing does.

    Each tells its `facts`, or the `error` that kept it from finding them.
    """
    failed: dict[str, list[int]] = {}
    for rank, each in enumerate(told):
        if each.get("error"):
            failed.setdefault(each["error"], []).append(rank)
    if failed:
        return "\n".join(f"{called(ranks, hosts)}: {error}" for error, ranks in failed.items())
    lines = []
    for name in dict.fromkeys(name for each in told for name in each["facts"]):
        values: dict[str, list[int]] = {}
        for rank, each in enumerate(told):
            values.setdefault(str(each["facts"].get(name, "nothing")), []).append(rank)
        if len(values) > 1:
            lines.append(
                f"{name}: " + "; ".join(f"{value} ({called(ranks, hosts)})" for value, ranks in values.items())
            )
    if not lines:
        return None
    more = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    what_to_do = "Give all machines the same versions, recipe and data; then start again."
    title = "the processes are not about to train the same; nothing was trained"
    return "\n".join([title, *lines[:SHOWN], *more, what_to_do])


def called(ranks: Sequence[int], hosts: Sequence[str] = ()) -> str:
    """`processes 2, 3 on node-b`, by machine."""
    if not hosts:
        return f"process{'es' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
    return " and ".join(
        f"{called([rank for rank in ranks if hosts[rank] == host])} on {host}"
        for host in dict.fromkeys(hosts[rank] for rank in ranks)
    )


def minutes(seconds: float) -> str:
    """`10 minutes`; less than one, in seconds."""
    count, unit = (seconds, "second") if seconds < 60 else (seconds / 60, "minute")
    return f"{count:g} {unit}" + "s" * (count != 1)
