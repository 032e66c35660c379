"""Does `regard serve` hold for ten minutes? Clients that mix all paths of all tasks, wrong requests, and leaving early.

Starts a server with models of all tasks as a process of its own, lets 32 clients ask, and prints requests, statuses, latencies of
those answered, and the server's memory as time goes by; after the warm-up, a fifth of the time, it should stay flat. Exit code 1
if anything was answered with 500 or more, or the memory grew by more than 5 %. Linux only.

    python benchmarks/soak.py [--minutes 10] [--clients 32] [--threads 1] [--json soak.json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from served import MEGA, Served, quantile, serving

FLAT = 1.05
WARM_UP = 0.2  # of the time
WORDS = [
    "ich",
    "du",
    "er",
    "sie",
    "es",
    "haben",
    "sein",
    "gehen",
    "sehen",
    "Haus",
    "Buch",
    "Hund",
    "Stadt",
    "klein",
    "groß",
    "heute",
    "morgen",
    "nicht",
    "und",
    "oder",
    "mit",
    "für",
]


@dataclass
class Seen:
    """What all clients saw together."""

    statuses: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    memory: list[tuple[float, float]] = field(default_factory=list)


def sentence(chance: random.Random, most: int = 12) -> str:
    """Words from a list, and now and then one that nobody has seen before."""
    words = chance.choices(WORDS, k=chance.randint(1, most))
    if chance.random() < 0.2:
        words.append(f"{chance.getrandbits(40):x}")
    return " ".join(words) + "."


def question(chance: random.Random) -> tuple[str, bytes]:
    """A path and a body; one in ten is wrong."""
    path = chance.choice(
        ["/translate"] * 4 + ["/score", "/attention", "/classify", "/classify", "/generate", "/generate"]
    )
    many = [sentence(chance) for _ in range(chance.choice([1, 1, 1, 4, 16]))]
    body: dict[str, Any] = {
        "/translate": {"text": many, "beam": chance.choice([1, 2, 5])},
        "/score": {"source": many, "target": many},
        "/attention": {"text": sentence(chance), "walk": chance.random() < 0.2, "beam": chance.choice([1, 5])},
        "/classify": {"text": [text * chance.choice([1, 30]) for text in many]},
        "/generate": {
            "prompt": sentence(chance),
            "max_new_tokens": chance.choice([5, 40]),
            "stream": chance.random() < 0.5,
        },
    }[path]
    wrong = chance.random()
    if wrong < 0.03:
        return path, json.dumps(body).encode()[:-3]
    if wrong < 0.06:
        return path, json.dumps({**body, "bogus": 1}).encode()
    if wrong < 0.08:
        return path, json.dumps({**body, next(iter(body)): ["a" * 900] * 64}).encode()
    if wrong < 0.1:
        return path, b"\xff\x00" * chance.randint(1, 1_000)
    return path, json.dumps(body).encode()


async def client(port: int, end: float, seen: Seen, chance: random.Random) -> None:
    while time.monotonic() < end:
        path, body = question(chance)
        began = time.monotonic()
        try:
            status = await ask(port, path, body, chance.uniform(0, 0.3) if chance.random() < 0.08 else None)
        except (OSError, asyncio.IncompleteReadError) as error:
            status = type(error).__name__
        seen.statuses[f"{path} {status}"] += 1
        if status == "200":
            seen.seconds[path].append(time.monotonic() - began)


async def ask(port: int, path: str, body: bytes, leaves: float | None) -> str:
    """The status; the connection is closed after so many seconds if `leaves` says so."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        if leaves is not None:
            await asyncio.sleep(leaves)
            return "left"
        status = (await reader.readuntil(b"\r\n")).split()[1].decode()
        while await reader.read(MEGA):
            pass
        return status
    finally:
        writer.close()


async def watch(server: Served, began: float, end: float, seen: Seen) -> None:
    while time.monotonic() < end:
        seen.memory.append((time.monotonic() - began, server.memory()))
        await asyncio.sleep(1)


async def soak(server: Served, seconds: float, clients: int) -> Seen:
    seen, began = Seen(), time.monotonic()
    end = began + seconds
    asking = [client(server.port, end, seen, random.Random(number)) for number in range(clients)]
    await asyncio.gather(watch(server, began, end, seen), *asking)
    return seen


def summary(seen: Seen, seconds: float, start: float, rest: float) -> dict[str, Any]:
    latencies = [each for of_path in seen.seconds.values() for each in of_path]
    warm = [memory for when, memory in seen.memory if when >= WARM_UP * seconds]
    third = max(1, len(warm) // 3)
    statuses: Counter[str] = Counter()
    for name, count in seen.statuses.items():
        statuses[name.split()[1]] += count
    return {
        "requests": seen.statuses.total(),
        "per second": round(seen.statuses.total() / seconds, 1),
        "statuses": dict(statuses.most_common()),
        "by path": dict(sorted(seen.statuses.items())),
        "p50 seconds": round(quantile(latencies, 0.5), 3),
        "p95 seconds": round(quantile(latencies, 0.95), 3),
        "p95 seconds by path": {path: round(quantile(times, 0.95), 3) for path, times in sorted(seen.seconds.items())},
        "MB at the start": round(start),
        "MB every tenth": [round(seen.memory[len(seen.memory) * tenth // 10][1]) for tenth in range(10)],
        "MB, first third after the warm-up": round(sum(warm[:third]) / third, 1),
        "MB, last third": round(sum(warm[-third:]) / third, 1),
        "MB when quiet again": round(rest),
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=10)
    arguments.add_argument("--clients", type=int, default=32)
    arguments.add_argument("--threads", type=int, default=1)
    arguments.add_argument("--json", type=Path, help="write the figures there, too")
    given = arguments.parse_args()
    with serving(threads=given.threads) as server:
        start = server.memory()
        print(f"{start:.0f} MB; {given.clients} clients ask for {given.minutes:g} minutes", file=sys.stderr, flush=True)
        seen = asyncio.run(soak(server, 60 * given.minutes, given.clients))
        time.sleep(3)
        found = summary(seen, 60 * given.minutes, start, server.memory())
    print(json.dumps(found, indent=2))
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n")
    failed = sum(count for status, count in found["statuses"].items() if status >= "500" and status.isdigit())
    grown = found["MB, last third"] / found["MB, first third after the warm-up"]
    print(f"{failed} failed; memory × {grown:.3f} from the first third after the warm-up to the last")
    sys.exit(failed > 0 or grown > FLAT)


if __name__ == "__main__":
    main()
