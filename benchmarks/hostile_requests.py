"""What becomes of requests that mean no good? Raw bytes to a server with models of all tasks.

Each must be answered as HTTP says, with a sentence that says what is wrong, or be cut off if it never ends; and the server
must answer well afterwards. Prints a table *area · tried · clear · bad*, and what was bad.

    python benchmarks/hostile_requests.py [--worst]

`--worst` also looks for the dearest requests that the limits let through, and prints what each took.
"""

from __future__ import annotations

import argparse
import gzip
import json
import socket
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

PATIENCE = 90.0  # seconds until a request that is not answered counts as bad; the server's own limit is 60
SLOW = 2  # seconds that the server waits for a head or a body, here
LIMITS = ("--limit", f"body_seconds={SLOW}")
CLOSED = 0
"""The status of a connection that was closed without an answer, as one deserves that never sends a whole head."""
JSON = "Content-Type: application/json"
ASKED: dict[str, dict[str, Any]] = {
    "/translate": {"text": "Hallo!"},
    "/attention": {"text": "Hallo!"},
    "/score": {"source": "Hallo!", "target": "Hello!"},
    "/classify": {"text": "A lovely film."},
    "/generate": {"prompt": "The", "max_new_tokens": 3},
}
"""A right request for every path that computes."""
WRONG: tuple[Any, ...] = (None, {}, {"a": 1}, [[]], [None], -1, 0.5, 1e300, 10**30, "\ud800")
"""Values that few fields take."""
FIELDS = {
    "/translate": ("text", "model", "beam", "nbest", "length_penalty", "alpha", "no_repeat_ngram", "sample", "temperature",
                   "top_k", "top_p", "seed", "prefix", "attention"),
    "/attention": ("text", "model", "beam", "off", "temperature", "hard", "walk"),
    "/score": ("source", "target", "model"),
    "/classify": ("text", "model"),
    "/generate": ("prompt", "model", "max_new_tokens", "temperature", "top_k", "top_p", "seed", "stop", "no_repeat_ngram",
                  "stream"),
}  # fmt: skip


@dataclass(frozen=True)
class Hostile:
    """What is sent, in parts with a pause between them, and the statuses that are a clear answer."""

    area: str
    name: str
    sent: tuple[bytes, ...]
    wanted: tuple[int, ...]
    pause: float = 0.0
    leaves: bool = False
    """Whether the client closes its side after the last part."""


def head(path: str, *lines: str, method: str = "POST", host: str = "Host: localhost") -> bytes:
    return "\r\n".join([f"{method} {path} HTTP/1.1", host, "Connection: close", *lines, "", ""]).encode("latin-1")


def post(path: str, body: bytes, *lines: str) -> bytes:
    return head(path, f"Content-Length: {len(body)}", *(lines or (JSON,))) + body


def as_json(content: object) -> bytes:
    return json.dumps(content).encode()


def of_http() -> Iterator[Hostile]:
    lines = [
        b"", b"\x00" * 50, b"\xff\xfe\xfd", b"GET", b"GET /", b"GET / HTTP/9.9", b"GET / HTTP/1.1 extra", b"get / http/1.1",
        b"G@T / HTTP/1.1", b"GET  /  HTTP/1.1", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"PRI * HTTP/2.0",
        b"GET http://evil.example/ HTTP/1.1", b"CONNECT evil.example:443 HTTP/1.1", b"OPTIONS * HTTP/1.1", b"TRACE / HTTP/1.1",
        b"GET " + b"/" + b"a" * 100_000 + b" HTTP/1.1", b"A" * 200_000, b"GET / HTTP/1.0", b"GET / HTTP/1.1\nHost: localhost",
        b"DELETE /translate HTTP/1.1", b"PUT /translate HTTP/1.1", b"PATCH /score HTTP/1.1", b"HEAD /translate HTTP/1.1",
    ]  # fmt: skip
    for line in lines:
        ended = line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        yield Hostile("HTTP", repr(line[:40]), (ended,), (200, 400, 404, 405, 421, CLOSED))


def of_headers() -> Iterator[Hostile]:
    body = as_json(ASKED["/translate"])
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml",
                 "", "json", "application/json5", "text/json", "application/jsonx", "\xff", "a" * 5_000):  # fmt: skip
        yield Hostile(
            "headers", f"type {kind[:30]!r}", (post("/translate", body, f"Content-Type: {kind}"),), (415, 400)
        )
    yield Hostile("headers", "no type", (head("/translate", f"Content-Length: {len(body)}") + body,), (415,))
    wrong = ("-1", "+5", "abc", "0x10", "1e3", "99999999999999999999999", "5, 6", " ", "1" * 500)
    for length in wrong:
        sent = head("/translate", JSON, f"Content-Length: {length}") + body
        yield Hostile("headers", f"length {length[:20]!r}", (sent,), (400, 413, 422, 408, CLOSED))
    several = {
        "two lengths": ["Content-Length: 5", "Content-Length: 6"],
        "length and chunks": [f"Content-Length: {len(body)}", "Transfer-Encoding: chunked"],
        "unknown coding": ["Transfer-Encoding: gzip, chunked"],
        "coding twice": ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        "folded": ["X-A: 1", " folded", f"Content-Length: {len(body)}"],
        "no colon": ["nothing here", f"Content-Length: {len(body)}"],
        "space before colon": [f"Content-Length : {len(body)}"],
        "control in value": ["X-A: \x01\x02", f"Content-Length: {len(body)}"],
        "zero in name": ["X\x00A: 1", f"Content-Length: {len(body)}"],
        "expects magic": ["Expect: magic", f"Content-Length: {len(body)}"],
        "upgrade": ["Upgrade: websocket", "Connection: Upgrade", f"Content-Length: {len(body)}"],
        "h2c": ["Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA", f"Content-Length: {len(body)}"],
    }
    for name, lines in several.items():
        # A wrong coding leaves a body that nobody may read: 200 would be as wrong as silence, except where HTTP allows it.
        yield Hostile(
            "headers",
            name,
            (head("/translate", JSON, *lines) + body,),
            (200, 400, 408, 411, 413, 415, 422, 501, CLOSED),
        )
    yield Hostile(
        "headers", "huge value", (head("/health", "X-A: " + "a" * 500_000, method="GET"),), (400, 431, CLOSED)
    )
    many = [f"X-{number}: {number}" for number in range(20_000)]
    yield Hostile("headers", "many", (head("/health", *many, method="GET"),), (400, 431, CLOSED))


def of_bodies() -> Iterator[Hostile]:
    deep = 100_000
    bodies: dict[str, bytes] = {
        "nothing": b"", "space": b" ", "null": b"null", "true": b"true", "number": b"3", "text": b'"text"', "list": b"[]",
        "cut": b'{"text": "a"', "two": b'{"text": "a"}{"text": "b"}', "comment": b'{"text": "a" /* */}',
        "single quotes": b"{'text': 'a'}", "trailing comma": b'{"text": "a",}', "bare": b"text", "tab": b'{"text": "a\tb"}',
        "zero byte": b'{"text": "a\x00b"}', "not UTF-8": b'{"text": "\xff\xfe"}', "overlong": b'{"text": "\xc0\xaf"}',
        "half in UTF-8": b'{"text": "\xed\xa0\x80"}', "latin-1": '{"text": "Grüße"}'.encode("latin-1"),
        "UTF-16": '{"text": "a"}'.encode("utf-16"), "UTF-32": '{"text": "a"}'.encode("utf-32"),
        "mark": b'\xef\xbb\xbf{"text": "a"}', "deep lists": b"[" * deep + b"]" * deep, "deep text": b'{"text":' + b"[" * deep + b"]" * deep + b"}",
        "deep objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "open lists": b"[" * deep, "same name": b'{"text": "a", "text": "b"}',
        "same name within": b'{"text": "a", "off": {"x": [1], "x": [2]}}', "NaN": b'{"text": "a", "alpha": NaN}',
        "infinity": b'{"text": "a", "alpha": -Infinity}', "1e999": b'{"text": "a", "alpha": 1e999}',
        "many digits": b'{"text": "a", "seed": ' + b"9" * 100_000 + b"}", "minus zero": b'{"text": "a", "beam": -0}',
        "half": b'{"text": "\\ud800"}', "half in a list": b'{"text": ["a", "\\udfff"]}', "half as name": b'{"text": "a", "\\ud800": 1}',
        "halves wrong way": b'{"text": "\\ude00\\ud83d"}', "half as model": b'{"text": "a", "model": "\\ud800"}',
        "short escape": b'{"text": "\\u12"}', "bad escape": b'{"text": "\\x41"}', "many names": as_json({str(number): number for number in range(50_000)}),
        "long name": as_json({"a" * 500_000: 1}), "long name, many values": as_json({"a" * 300_000: [1] * 100_000}), "proto": as_json({"text": "a", "__proto__": {"x": 1}, "constructor": 1}),
        "many texts": as_json({"text": ["a"] * 100_000}), "empty list": as_json({"text": []}), "mixed": as_json({"text": ["a", 1, None, {}]}),
        "gzip": gzip.compress(as_json({"text": "a"})),
    }  # fmt: skip
    for name, body in bodies.items():
        yield Hostile("bodies", name, (post("/translate", body),), (400, 413, 422))
    packed = gzip.compress(b" " * 5_000_000)
    for coding in ("gzip", "deflate", "br"):
        sent = post("/translate", packed, JSON, f"Content-Encoding: {coding}")
        yield Hostile("bodies", f"bomb, {coding}", (sent,), (400, 413, 415, 422))
    yield Hostile("bodies", "too long", (post("/translate", b" " * 1_000_001),), (413,))
    yield Hostile("bodies", "far too long", (head("/translate", JSON, "Content-Length: 10000000000"),), (413,))
    chunks = {
        "huge chunk": b"FFFFFFFFF\r\n", "negative chunk": b"-5\r\nhello\r\n", "no size": b"\r\n\r\n", "not hex": b"zz\r\n\r\n",
        "long extension": b"5;" + b"a" * 200_000 + b"\r\nhello\r\n0\r\n\r\n", "trailer": b"0\r\nX-A: 1\r\nContent-Length: 5\r\n\r\n",
        "bomb": b"".join([b"1\r\n \r\n"] * 200_000) + b"0\r\n\r\n",
    }  # fmt: skip
    for name, chunk in chunks.items():
        sent = head("/translate", JSON, "Transfer-Encoding: chunked") + chunk
        yield Hostile("bodies", name, (sent,), (400, 408, 413, 422, CLOSED))


def of_fields() -> Iterator[Hostile]:
    """Wrong values in every field of every path. Some are right for some fields; none may break anything."""
    for path, fields in FIELDS.items():
        for field in fields:
            for value in WRONG:
                body = as_json({**ASKED[path], field: value})
                yield Hostile("fields", f"{path} {field}={ascii(value)[:20]}", (post(path, body),), (200, 404, 422))
        yield Hostile("fields", f"{path} unknown", (post(path, as_json({**ASKED[path], "bogus": 1})),), (422,))
        for field in ASKED[path]:
            if field != "max_new_tokens":
                rest = {name: value for name, value in ASKED[path].items() if name != field}
                yield Hostile("fields", f"{path} without {field}", (post(path, as_json(rest)),), (422,))


def of_texts() -> Iterator[Hostile]:
    texts = {
        "controls": "".join(map(chr, range(32))), "right to left": "\u202eabc\u2066", "joiners": "\u200d" * 500,
        "combining": "a" + "\u0301" * 1_500, "private": "\ue000\uf8ff\U0010ffff" * 100, "emoji": "👨‍👩‍👧‍👦" * 40, "newlines": "\r\n\u2028\u0085" * 300,
        "spaces": " " * 1_999, "inner spaces": "a" + " " * 1_990 + "b", "script": "<script>alert(1)</script>" * 20,
        "format": "%s%n{0}{x.__class__}" * 50, "dashes": " - " * 600, "dots": ". " * 900, "one word": "a" * 2_000, "specials": "<s></s><pad><unk>▁▁" * 50,
        "bytes": "<0x00><0xFF>" * 100, "wide": "漢字" * 900, "nothing": "",
    }  # fmt: skip
    for name, text in texts.items():
        for path, field in (
            ("/translate", "text"),
            ("/classify", "text"),
            ("/generate", "prompt"),
            ("/attention", "text"),
        ):
            body = as_json(
                {**ASKED[path], field: text, **({"beam": 1} if path in ("/translate", "/attention") else {})}
            )
            yield Hostile("texts", f"{path} {name}", (post(path, body),), (200, 422, 429))


def of_limits() -> Iterator[Hostile]:
    asked: list[tuple[str, dict[str, Any]]] = [
        ("/translate", {"text": "a" * 2_001}), ("/translate", {"text": ["a"] * 65}), ("/translate", {"text": "a", "beam": 11}),
        ("/translate", {"text": "a", "nbest": 11, "beam": 11}), ("/translate", {"text": "a", "prefix": "b" * 2_001}),
        ("/translate", {"text": ["Ich habe Hunger."] * 64, "beam": 10, "prefix": "a b c d e " * 100}),
        ("/translate", {"text": "a", "sample": True, "nbest": 10**9}), ("/translate", {"text": ["😀" * 2_000] * 10, "beam": 1}),
        ("/translate", {"text": ["a" * 400] * 3, "attention": True}), ("/attention", {"text": "a" * 1_001}),
        ("/attention", {"text": "😀 " * 500, "walk": True, "beam": 10}), ("/attention", {"text": "a", "beam": 10**6}),
        ("/translate", {"text": "Hallo!", "attention": True, "beam": 10, "prefix": "a b c d e " * 100}),
        ("/score", {"source": ["a" * 2_001], "target": ["b"]}), ("/score", {"source": "a", "target": ["b"] * 2}),
        ("/score", {"source": "a", "target": "😀" * 2_000}), ("/classify", {"text": "a" * 20_001}),
        ("/classify", {"text": ["a b " * 3_000] * 90}), ("/generate", {"prompt": "a", "max_new_tokens": 1_001}),
        ("/generate", {"prompt": ["a"] * 64, "max_new_tokens": 1_000}), ("/generate", {"prompt": ["a"] * 2, "stream": True}),
        ("/generate", {"prompt": "a", "stop": ["b"] * 65}), ("/generate", {"prompt": "a", "stop": "b" * 2_001}),
        ("/generate", {"prompt": "a", "max_new_tokens": 10**18}),
    ]  # fmt: skip
    for path, body in asked:
        yield Hostile("limits", f"{path} {str(body)[:40]}", (post(path, as_json(body)),), (422, 413))


def of_paths() -> Iterator[Hostile]:
    paths = ("/../../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/%00", "/translate%00", "/translate/", "/TRANSLATE",
             "/translate;a=b", "/translate?text=a", "/translate#x", "/./translate", "/docs/../translate", "/%ff%fe", "/" + "%41" * 3_000,
             "/static/app.js", "/.git/config", "/openapi.json/../metrics", "/health\\..\\x", "/?" + "a=b&" * 5_000, "*")  # fmt: skip
    for path in paths:
        yield Hostile("paths", path[:40], (head(path, method="GET"),), (200, 400, 404, 405))


def of_hosts() -> Iterator[Hostile]:
    for host in ("Host: evil.example", "Host: evil.example:8080", "Host: localhost.evil.example", "Host: ", "Host: 127.0.0.1.evil.example",
                 "Host: localhost@evil.example", "Host: [::2]", "Host: 0.0.0.0", "Host: \xff", "Host: " + "a" * 5_000, "X-Nothing: 1",
                 "Host: localhost\r\nHost: evil.example", "Host: evil.example\r\nX-Forwarded-Host: localhost"):  # fmt: skip
        yield Hostile("hosts", host[:40], (head("/health", method="GET", host=host),), (400, 421))


def of_origins() -> Iterator[Hostile]:
    body = as_json(ASKED["/classify"])
    for origin in ("https://evil.example", "null", "http://localhost:1", "file://"):
        sent = post("/classify", body, JSON, f"Origin: {origin}")
        yield Hostile("origins", f"post from {origin}", (sent,), (200,))
        asks = head("/classify", f"Origin: {origin}", "Access-Control-Request-Method: POST", method="OPTIONS")
        yield Hostile("origins", f"preflight from {origin}", (asks,), (405,))
        simple = post("/classify", body, "Content-Type: text/plain", f"Origin: {origin}")
        yield Hostile("origins", f"simple from {origin}", (simple,), (415,))


def of_slowness() -> Iterator[Hostile]:
    body = as_json(ASKED["/classify"])
    whole = post("/classify", body)
    pipelined = whole.replace(b"Connection: close\r\n", b"")
    yield Hostile("slowness", "head by bytes", tuple(bytes([each]) for each in whole[:30]), (CLOSED, 408), 0.2)
    yield Hostile("slowness", "body by bytes", (whole[:-20], *(bytes([each]) for each in whole[-20:])), (408,), 0.2)
    yield Hostile("slowness", "head never ends", (whole[:40],), (CLOSED, 408))
    yield Hostile("slowness", "body never ends", (whole[:-5],), (408,))
    yield Hostile("slowness", "nothing is sent", (b"",), (CLOSED,))
    yield Hostile(
        "slowness", "chunk never ends", (head("/classify", JSON, "Transfer-Encoding: chunked") + b"5\r\nab",), (408,)
    )
    yield Hostile("slowness", "pipelined", (pipelined * 20 + whole,), (200,))
    yield Hostile("slowness", "pipelined with rubbish", (pipelined + b"RUBBISH\r\n\r\n",), (200,))
    for path, asked in ASKED.items():
        yield Hostile("slowness", f"leaves {path}", (post(path, as_json(asked)),), (CLOSED,), leaves=True)


AREAS = (of_http, of_headers, of_bodies, of_fields, of_texts, of_limits, of_paths, of_hosts, of_origins, of_slowness)


def everything() -> list[Hostile]:
    return [each for area in AREAS for each in area()]


def answer_to(hostile: Hostile, port: int) -> tuple[int, bytes]:
    """The first answer's status, and all that came; no status if the connection was closed."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        try:
            for part in hostile.sent:
                connection.sendall(part)
                if hostile.pause:
                    time.sleep(hostile.pause)
        except (ConnectionResetError, BrokenPipeError):
            pass  # what it said before may still be there
        if hostile.leaves:
            return CLOSED, b""
        received = b""
        try:
            while chunk := connection.recv(65_536):
                received += chunk
        except ConnectionResetError:
            pass
    first = received.partition(b"\r\n")[0].split()
    return (int(first[1]) if len(first) > 1 and first[1].isdigit() else CLOSED), received


def complaint(hostile: Hostile, port: int) -> str:
    """What was wrong with the answer; nothing if it was clear."""
    try:
        status, received = answer_to(hostile, port)
    except TimeoutError:
        return f"no answer within {PATIENCE:g} s"
    if status not in hostile.wanted:
        return f"answered {status}, not {hostile.wanted}: {received[-200:]!r}"
    top, _, body = received.partition(b"\r\n\r\n")
    if b"traceback" in received.lower():
        return "shows a traceback"
    if b"access-control-allow" in top.lower():
        return "lets other origins read"
    if b"HEAD" in hostile.sent[0][:4]:
        return "a body after HEAD" if body else ""
    if status >= 400 and b"application/json" in top:
        try:
            detail = json.loads(body)["detail"]
        except (ValueError, KeyError, TypeError):
            return f"no detail: {body[:200]!r}"
        if not isinstance(detail, str) or not 5 < len(detail) < 2_000:
            return f"an odd detail: {str(detail)[:200]}"
    elif status >= 400 and not (status == 400 and b"Invalid HTTP request" in body):
        return f"no JSON: {received[:200]!r}"
    return ""


def healthy(port: int) -> bool:
    status, _ = answer_to(Hostile("", "", (post("/classify", as_json(ASKED["/classify"])),), (200,)), port)
    return status == 200


def try_all(hostile: Iterable[Hostile], port: int, together: int = 8) -> list[tuple[Hostile, str]]:
    """Each with what was wrong with its answer."""
    wanted = list(hostile)
    with ThreadPoolExecutor(together) as pool:
        return list(zip(wanted, pool.map(lambda each: complaint(each, port), wanted), strict=True))


def table(found: Iterable[tuple[Hostile, str]]) -> str:
    tried: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    for each, wrong in found:
        tried[each.area] += 1
        bad[each.area] += bool(wrong)
    rows = [(area, tried[area], tried[area] - bad[area], bad[area]) for area in tried]
    rows.append(("all", tried.total(), tried.total() - bad.total(), bad.total()))
    lines = ["| area | tried | clear | bad |", "|---|---|---|---|"]
    return "\n".join(lines + [f"| {area} | {one} | {two} | {three} |" for area, one, two, three in rows])


def dearest() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Requests as dear as the limits allow, of every kind."""
    yield (
        "long prefix, beam 10",
        "/translate",
        {"text": ["Ich habe Hunger."] * 7, "beam": 10, "prefix": "a b c d e " * 100},
    )
    yield "many texts, beam 10", "/translate", {"text": ["xq zv " * 12] * 48, "beam": 10}
    yield "long texts, greedy", "/translate", {"text": ["xq zv " * 330] * 4, "beam": 1}
    yield (
        "sampling, n-best 10",
        "/translate",
        {"text": ["xq zv " * 12] * 48, "sample": True, "nbest": 10, "temperature": 5.0},
    )
    yield (
        "no repeated n-gram",
        "/translate",
        {"text": "Hallo", "beam": 10, "prefix": "a b c d e " * 180, "no_repeat_ngram": 300},
    )
    yield "attention, walk", "/attention", {"text": "xq zv. " * 100, "walk": True, "beam": 5}
    yield "translate with attention", "/translate", {"text": ["xq zv, " * 20] * 6, "attention": True, "beam": 5}
    yield "score", "/score", {"source": ["a b c " * 80] * 64, "target": ["a b c " * 80] * 64}
    yield "classify", "/classify", {"text": ["a b c d " * 400] * 30}
    yield (
        "generate, lengths differ",
        "/generate",
        {"prompt": ["a " * each for each in range(1, 26)], "max_new_tokens": 1_000},
    )
    yield "generate, stop strings", "/generate", {"prompt": ["a"] * 25, "max_new_tokens": 1_000, "stop": "a" * 2_000}


def print_worst() -> None:
    from served import serving  # beside this file

    with serving(*LIMITS) as server:
        healthy(server.port)
        print(f"\nmemory at the start: {server.memory():.0f} MB\n")
        print(
            "| request | status | seconds | of a processor | answer, MB | memory after, MB | 2 s later |\n|---|---|---|---|---|---|---|"
        )
        for name, path, body in dearest():
            began, before = time.perf_counter(), server.seconds()
            asked = Hostile("", name, (post(path, as_json(body)),), (200,))
            with socket.create_connection(("127.0.0.1", server.port), 100) as connection:
                connection.sendall(asked.sent[0])
                received = b""
                while chunk := connection.recv(1 << 20):
                    received += chunk
            took = time.perf_counter() - began
            status = received.split(b" ", 2)[1].decode()
            after = server.memory()
            time.sleep(2)
            spent = server.seconds() - before
            size = len(received) / 1e6
            print(
                f"| {name} | {status} | {took:.1f} | {spent:.1f} | {size:.2f} | {after:.0f} | {server.memory():.0f} |",
                flush=True,
            )


def main() -> None:
    from served import serving  # beside this file

    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--worst", action="store_true", help="look for the dearest requests, too")
    given = arguments.parse_args()
    with serving(*LIMITS) as server:
        found = try_all(everything(), server.port)
        well = healthy(server.port)
    print(table(found))
    for each, wrong in found:
        if wrong:
            print(f"{each.area}, {each.name}: {wrong}")
    print("the server answers afterwards" if well else "THE SERVER DOES NOT ANSWER ANY MORE")
    if given.worst:
        print_worst()


if __name__ == "__main__":
    main()
