"""What load does `regard serve` hold? Clients on this machine, each asking for one sentence after the other.

Starts the server as a process of its own, lets 32 clients with keep-alive connections ask for a minute, and prints
requests per second, latencies, the server's CPU time per request (which also a busy machine tells well), errors, batch sizes, and the
server's memory as time goes by (Linux only).

    python benchmarks/serve_load.py [--route translate] [--seconds 60] [--clients 32] [--threads 1] [--json measured.json]

`translate` asks the bundled demo; `classify` and `generate` (32 tokens, greedy) untrained models of benchmarks/served.py, or a `--model` of yours.
With `--json`, what was measured is added to that file under its route and number of clients; what stands there is not measured again.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from regard.checkpoint import find_model
from regard.config import ParallelText
from regard.config.recipes import load as load_recipe
from regard.data.corpus import read_pairs

MEGA = 2**20
READY = 120  # seconds that the server may take to load its model


@dataclass
class Seen:
    """What the clients saw."""

    seconds: list[float] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)


def sentences() -> list[str]:
    """The source side of the bundled test set, which the demo has not been trained on."""
    recipe = load_recipe(find_model("demo").parent / "quickstart.toml")
    data: ParallelText = recipe.data
    files = next(iter(data.test.values()))
    return [source for source, _ in read_pairs(files, data, "test")]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@contextmanager
def serving(model: str, port: int, threads: int | None) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "regard", "serve", model, "--port", str(port)]
    command += ["--threads", str(threads)] if threads else []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        if not (line := process.stdout.readline()):
            sys.exit("the server did not start")
        print(line, end="")
        yield process
        process.send_signal(signal.SIGTERM)
        print(f"exit code after SIGTERM: {process.wait(READY)}")
    finally:
        process.kill()


async def ask(
    port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: bytes
) -> tuple[int, bytes]:
    """One request on an open connection, by hand: a client library would cost more than the server."""
    method = "POST" if body else "GET"
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    answer = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = re.search(r"content-length: (\d+)", answer)
    content = await reader.readexactly(int(length[1])) if length else b""
    return int(answer.split()[1]), content


ROUTES: dict[str, tuple[str, Callable[[str], dict[str, Any]]]] = {
    "translate": ("translations", lambda text: {"text": text}),
    "classify": ("classifications", lambda text: {"text": text}),
    "generate": ("generations", lambda text: {"prompt": text, "max_new_tokens": 32, "temperature": 0}),
}
"""By path, where the answer lies in what comes back, and what is asked of a sentence."""


async def client(port: int, route: str, texts: Iterator[str], end: float, seen: Seen) -> None:
    answer, request = ROUTES[route]
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while (began := time.perf_counter()) < end:
        try:
            status, content = await ask(port, reader, writer, f"/{route}", json.dumps(request(next(texts))).encode())
            if status != 200 or not json.loads(content)[answer]:
                seen.errors[str(status)] += 1
        except (OSError, asyncio.IncompleteReadError) as error:
            seen.errors[type(error).__name__] += 1
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        seen.seconds.append(time.perf_counter() - began)
    writer.close()


def processor(process: int) -> float:
    """Seconds of the CPU that it has used, with all its threads."""
    with open(f"/proc/{process}/stat") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> float:
    """Resident, in MB."""
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


async def load(
    process: int, port: int, route: str, clients: int, seconds: float, texts: list[str]
) -> tuple[Seen, list[float], str]:
    """What the clients saw, the memory at a tenth, half and all of the time, and the server's own counts."""
    seen, supply = Seen(), cycle(texts)
    began = time.perf_counter()
    asking = [asyncio.create_task(client(port, route, supply, began + seconds, seen)) for _ in range(clients)]
    used = []
    for share in (0.1, 0.5, 1.0):
        await asyncio.sleep(max(0.0, began + share * seconds - time.perf_counter()))
        used.append(memory(process))
    await asyncio.gather(*asking)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    _, counts = await ask(port, reader, writer, "/metrics", b"")
    writer.close()
    return seen, used, counts.decode()


def batch_sizes(counts: str) -> str:
    """The histogram of texts computed together, as `≤ 8: 120`."""
    found = re.findall(r'regard_batch_texts_bucket\{le="([^"]+)"\} (\S+)', counts)
    sums = [(edge, float(value)) for edge, value in found]
    sizes = [(edge, value - before) for (edge, value), (_, before) in zip(sums, [("", 0.0), *sums], strict=False)]
    total, batches = (float(re.search(rf"regard_batch_texts_{name} (\S+)", counts)[1]) for name in ("sum", "count"))  # type: ignore[index]
    shares = ", ".join(f"≤ {float(edge):.0f}: {value:,.0f}" for edge, value in sizes if value)
    return f"{batches:,.0f} batches of {total / batches:.1f} texts on average ({shares})"


def model_of(route: str, folder: str) -> str:
    """What is served unless somebody names a model."""
    if route == "translate":
        return "demo"
    from served import write_models

    named = {"classify": "moods", "generate": "prose"}[route]
    return next(each for each in write_models(Path(folder)) if each.startswith(named))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--route", choices=ROUTES, default="translate")
    parser.add_argument("--model", help="[demo, or an untrained one]")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--words", type=int, help="ask only for sentences of so many [all]")
    parser.add_argument("--without-scores", action="store_true", help="of /translate: ask for the text alone")
    parser.add_argument("--threads", type=int, help="the server's threads of torch")
    parser.add_argument("--json", type=Path, help="file that keeps what was measured")
    given = parser.parse_args()
    kept: dict[str, Any] = json.loads(given.json.read_text()) if given.json and given.json.is_file() else {}
    name = f"{given.route}, {given.clients} clients"
    name += f", {given.words} words" * bool(given.words) + ", without scores" * given.without_scores
    if name in kept:
        sys.exit(f"{given.json} has {name} already: {kept[name]}")
    texts = [text for text in sentences() if given.words in (None, len(text.split()))]
    if given.without_scores:
        ROUTES["translate"] = ("translations", lambda text: {"text": text, "scores": False})
    print(f"Python {platform.python_version()}, torch {version('torch')}, uvicorn {version('uvicorn')}, "
          f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before; {len(texts):,} sentences")  # fmt: skip
    port = free_port()
    with (
        TemporaryDirectory() as folder,
        serving(given.model or model_of(given.route, folder), port, given.threads) as process,
    ):
        asyncio.run(load(process.pid, port, given.route, 2, 1.0, texts))  # the first requests allocate
        began, spent = time.perf_counter(), processor(process.pid)
        seen, used, counts = asyncio.run(load(process.pid, port, given.route, given.clients, given.seconds, texts))
        took, spent = time.perf_counter() - began, processor(process.pid) - spent
    p50, p95, p99 = np.percentile(seen.seconds, [50, 95, 99]) * 1000
    print(
        f"{given.clients} clients, {took:.1f} s: {len(seen.seconds):,} requests, {len(seen.seconds) / took:,.1f} per second"
    )
    print(
        f"latency: p50 {p50:,.0f} ms, p95 {p95:,.0f} ms, p99 {p99:,.0f} ms, longest {max(seen.seconds) * 1000:,.0f} ms"
    )
    print(f"the server's CPU: {1000 * spent / len(seen.seconds):.2f} ms per request")
    print(f"errors: {dict(seen.errors) or 'none'}")
    print(batch_sizes(counts))
    print(f"memory at 10 %, 50 %, 100 % of the time: {', '.join(f'{each:,.1f}' for each in used)} MB")
    if given.json:
        figures = {
            "per_second": len(seen.seconds) / took,
            "p50": p50,
            "p95": p95,
            "p99": p99,
            "cpu_ms": 1000 * spent / len(seen.seconds),
            "errors": dict(seen.errors),
        }
        given.json.write_text(
            json.dumps({**kept, name: {**figures, "memory": used}}, indent=1) + "\n", encoding="utf-8"
        )
    sys.exit(1 if seen.errors else 0)


if __name__ == "__main__":
    main()
