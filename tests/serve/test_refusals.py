"""What the server does not accept, and how it says so."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h11
import httpx
import pytest
from starlette.responses import Response

from regard.serve.connection import CHUNKS, HEAD_BYTES, Conversation
from regard.serve.limits import DEFAULTS, Limits
from regard.serve.start import LOOPBACK_NAMES
from regard.tasks.translation.translator import Translator
from tests.serve.conftest import PATIENCE, SENTENCES, Running, running, until

SMALL = Limits(
    characters=50, attention_characters=20, texts=3, beam=4, nbest=3, body_bytes=1_000, body_seconds=1.0,
)  # fmt: skip
JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server(tiny_translator: Translator) -> Iterator[Running]:
    with running({"tiny": tiny_translator}, SMALL, LOOPBACK_NAMES) as made:
        yield made


def test_the_documented_limits_are_those_in_force() -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "serve.md").read_text(encoding="utf-8")
    rows = {
        "tokens that a request computes": DEFAULTS.cost,
        "numbers in the answer to a request for attention": DEFAULTS.attention_numbers,
        "characters of one text": DEFAULTS.characters,
        "characters of all texts of a request for attention": DEFAULTS.attention_characters,
        "characters of one text to classify or to embed": DEFAULTS.classified_characters,
        "texts in one request": DEFAULTS.texts,
        "pictures in one request, sent or asked for": DEFAULTS.pictures,
        "pixels that a picture claims to have": DEFAULTS.picture_pixels,
        "new tokens to write": DEFAULTS.new_tokens,
        "beam, n-best": max(DEFAULTS.beam, DEFAULTS.nbest),
        "bytes of a body": DEFAULTS.body_bytes,
        "seconds to send a body": DEFAULTS.body_seconds,
        "texts waiting, of all requests together": DEFAULTS.waiting,
        "seconds until the answer, waiting included": DEFAULTS.answer_seconds,
    }
    for name, value in rows.items():
        assert f"| {name} | {value:,.0f} |" in page


def refused(response: httpx.Response, status: int) -> str:
    assert response.status_code == status, response.text
    [(name, detail)] = response.json().items()
    assert name == "detail"
    assert isinstance(detail, str)
    return detail


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/translate", {"text": "a" * 51}, "characters in one text: 51 were given, and at most 50 are accepted."),
        ("/translate", {"text": ["a", "b" * 51]}, "characters in one text: 51"),
        ("/translate", {"text": ["a"] * 4}, "texts in one request: 4 were given, and at most 3"),
        ("/translate", {"text": "a", "beam": 5}, "beam: 5 were given, and at most 4"),
        ("/translate", {"text": "a", "nbest": 4}, "nbest: 4 were given, and at most 3"),
        ("/translate", {"text": "a", "prefix": "a" * 51}, "characters in the prefix: 51"),
        ("/translate", {"text": ["a" * 11] * 2, "attention": True}, "characters to look at: 22"),
        ("/attention", {"text": "a" * 21}, "characters to look at: 21 were given, and at most 20"),
        ("/attention", {"text": "a", "beam": 5}, "beam: 5"),
        ("/score", {"source": ["a"] * 4, "target": ["a"] * 4}, "texts in one request: 4"),
        ("/score", {"source": "a", "target": "a" * 51}, "characters in one text: 51"),
    ],
)
def test_limits(server: Running, path: str, body: dict[str, Any], said: str) -> None:
    assert said in refused(server.post(path, **body), 422)


@pytest.mark.parametrize(
    ("path", "body", "said"),
    [
        ("/translate", {}, "text is missing."),
        ("/translate", {"text": 3}, "text should be a text or a list of texts, not 3."),
        ("/translate", {"text": []}, "text should be at least one text, not []."),
        ("/translate", {"text": ["a", 3]}, "text.1 should be a valid string, not 3."),
        ("/translate", {"text": "a", "bean": 3}, "There is no field 'bean'. Did you mean 'beam'? There are text, model,"),
        ("/translate", {"text": "a", "": 3}, "There is no field ''. There are text,"),
        ("/translate", {"text": "a", "beam": 0}, "beam should be greater than or equal to 1, not 0."),
        ("/translate", {"text": "a", "beam": "2"}, "beam should be a valid integer, not '2'."),
        ("/translate", {"text": "a", "beam": True}, "beam should be a valid integer, not True."),
        ("/translate", {"text": "a", "nbest": 3, "beam": 2}, "nbest = 3 needs a beam of at least as many, not 2"),
        ("/translate", {"text": "a", "length_penalty": "papr"}, "length_penalty should be 'paper', 'mean' or 'none'"),
        ("/translate", {"text": "안녕 \ud83d"}, "text holds \\ud83d as character 4, half of a surrogate pair: send both"),
        ("/translate", {"text": ["a", "\ud800"]}, "text.1 holds \\ud800 as character 1,"),
        ("/translate", {"text": "a", "prefix": "\udfff"}, "prefix holds \\udfff"),
        ("/translate", {"text": "a", "beam": "안녕" * 40}, f"beam should be a valid integer, not '{'안녕' * 29}안…."),
        ("/translate", {"text": "a", **dict.fromkeys("abcdefghi", 1)}, "And 4 more mistakes."),
        ("/translate", {"text": [0] * 200}, "text.0 should be a valid string, not 0."),
        ("/attention", {"text": ["a"]}, "text should be a valid string"),
        ("/attention", {"text": "a", "off": {"decoder.0.cros_attention": [1]}}, "Did you mean 'decoder.0.cross_attention'?"),
        ("/attention", {"text": "a", "off": {"decoder.0.cross_attention": [4]}}, "its heads are 0 to 3"),
        ("/attention", {"text": "a", "off": {"\ud800": [1]}}, "A name in off holds \\ud800 as character 1, half of a"),
        ("/attention", {"text": "a", "\ud800": 1}, "A name in the body holds \\ud800 as character 1, half of a surrogate pair"),
        ("/translate", {"text": "a", "model": "x\udc00"}, "model holds \\udc00 as character 2, half of a surrogate pair"),
        ("/translate", {"text": "a", "length_penalty": "\ud800"}, "length_penalty holds \\ud800"),
        ("/translate", {"text": [["\ud800"]]}, "text.0.0 holds \\ud800"),
        ("/translate", "\ud800", "The body holds \\ud800 as character 1"),
        ("/score", {"source": ["a", "b"], "target": "a"}, "2 source(s) were given with 1 target(s); they go in pairs."),
    ],
)  # fmt: skip
def test_mistakes_are_sentences(server: Running, path: str, body: Any, said: str) -> None:
    assert said in refused(httpx.post(server.url + path, content=json.dumps(body), headers=JSON), 422)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"text": ', 400, "The body is not JSON: Expecting value, at character 9."),
        (b'{"text": "\xff"}', 400, "The body is not UTF-8: byte 11 (0xff) cannot be read. Encode it as UTF-8."),
        (b"\xef\xbb\xbf{}", 400, "The body begins with a byte order mark; leave it out."),
        (b"[" * 900, 400, "The body is not JSON"),
        (b'{"text": "a", "beam": 1, "beam": 2}', 400, "The body names 'beam' twice; say each field once."),
        (b'{"text": "a", "seed": ' + b"9" * 900 + b"}", 422, "seed should be"),
        (b'{"text": "a", "alpha": NaN}', 400, "The body is not JSON: NaN is no JSON number."),
        (b'{"text": "a", "alpha": 1e999}', 422, "alpha should be"),
        (b"", 422, "The body is missing."),
        (b"[]", 422, 'The body must be a JSON object such as {"text": "…"}, not [].'),
        (b'"text"', 422, 'The body must be a JSON object such as {"text": "…"}, not \'text\'.'),
        (b'{"text": "a", "model": "a/../b"}', 404, "there is no model 'a/../b'; there are: tiny."),
        ('{"text": "a", "model": "안녕"}'.encode(), 404, "there is no model '안녕'; there are: tiny."),
    ],
)
def test_odd_bodies(server: Running, body: bytes, status: int, said: str) -> None:
    assert said in refused(httpx.post(f"{server.url}/translate", content=body, headers=JSON), status)


def test_bodies_that_are_too_long(server: Running) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(50):
            yield b" " * 100

    for content in (b" " * 1_001, b" " * 3_000_000, parts()):  # the last in chunks, whose sum nobody says beforehand
        said = refused(httpx.post(f"{server.url}/translate", content=content, headers=JSON), 413)
        assert "longer than 1,000 bytes" in said
    exact = json.dumps({"text": "a"}).encode().ljust(1_000)
    assert httpx.post(f"{server.url}/translate", content=exact, headers=JSON).status_code == 200


def head(path: str, *lines: str) -> bytes:
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", *lines, "", ""]).encode()


def read_all(connection: socket.socket) -> bytes:
    received = b""
    try:
        while chunk := connection.recv(65_536):
            received += chunk
    except ConnectionResetError:
        pass
    return received


def test_a_huge_body_is_refused_before_it_is_sent(server: Running) -> None:
    for line in ("Content-Length: 100000000000", "Content-Length: 2000\r\nExpect: 100-continue"):
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
            connection.sendall(head("/translate", "Content-Type: application/json", line))
            assert read_all(connection).startswith(b"HTTP/1.1 413 ")


def test_a_body_in_endless_small_chunks_is_cut_off(server: Running) -> None:
    started, chunk = head("/translate", "Transfer-Encoding: chunked"), b"1\r\n \r\n"

    def read(chunks: int) -> None:
        conversation = Conversation(h11.SERVER, HEAD_BYTES)
        conversation.receive_data(started + chunk * chunks)
        while conversation.next_event() is not h11.NEED_DATA:
            pass

    read(CHUNKS)
    with pytest.raises(h11.RemoteProtocolError, match="too many chunks"):
        read(CHUNKS + 1)
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as connection:
        connection.sendall(started + chunk * 900 + b"0\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 415 ")  # it is read, and no JSON by name


def test_slow_clients_are_told_and_hold_up_nobody(server: Running) -> None:
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as slow:
        slow.sendall(head("/translate", "Content-Type: application/json", "Content-Length: 100") + b'{"te')
        assert server.post("/translate", text="a").status_code == 200
        answer = read_all(slow)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"did not arrive within 1 s" in answer


@pytest.mark.parametrize("before", [b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_a_head_that_never_ends_ends_the_connection(server: Running, before: bytes) -> None:
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as slow:
        if before:
            slow.sendall(before)
            received = b""
            while not received.endswith(b"}"):
                received += slow.recv(65_536)
        slow.sendall(b"GET /hea")
        assert read_all(slow) == b""


def test_a_reader_that_stands_still_is_dropped(tiny_translator: Translator) -> None:
    with running({"tiny": tiny_translator}, SMALL) as server:
        app: Any = server.server.config.app

        @app.get("/big")
        async def big() -> Response:
            return Response(bytes(30_000_000))

        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as still:
            still.sendall(b"GET /big HTTP/1.1\r\nHost: localhost\r\n\r\n")
            until(lambda: server.server.server_state.connections)
            until(lambda: not server.server.server_state.connections)
            assert server.post("/translate", text="a").status_code == 200
        assert len(httpx.get(f"{server.url}/big").content) == 30_000_000  # who reads gets all of it


def test_only_its_own_names(server: Running) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.:80", "[::2]:80"):
        said = refused(httpx.get(f"{server.url}/health", headers={"Host": host}), 421)
        assert "goes by 127.0.0.1, [::1], localhost" in said
        assert "A proxy in front of it should pass one of these as the Host header" in said
    for host in ("localhost", "LOCALHOST:1", "127.0.0.1:9", "[::1]", "[::1]:8080"):
        assert httpx.get(f"{server.url}/health", headers={"Host": host}).status_code == 200


def test_only_json(server: Running) -> None:
    body = json.dumps({"text": SENTENCES[0]})
    for kind in ({}, {"Content-Type": "text/plain"}):  # what a foreign page may send without asking
        assert "application/json" in refused(httpx.post(f"{server.url}/translate", content=body, headers=kind), 415)
    kind = {"Content-Type": "application/json; charset=utf-8"}
    response = httpx.post(f"{server.url}/translate", content=body, headers=kind)
    assert response.status_code == 200
    assert not any(name.startswith("access-control") for name in response.headers)


def test_other_paths_and_methods(server: Running) -> None:
    assert "There is nothing at /nope" in refused(httpx.get(f"{server.url}/nope"), 404)
    said = refused(httpx.get(f"{server.url}/translate"), 405)
    assert said == "/translate does not take GET; use POST."
    for options in ({}, {"json": {}}, {"data": {"a": "b"}}):
        said = refused(httpx.post(f"{server.url}/health", **options), 405)  # type: ignore[arg-type]
        assert said == "/health does not take POST; use GET."


def test_documented_statuses_are_those_that_are_answered() -> None:
    root = Path(__file__).parent.parent.parent
    page = (root / "docs" / "serve.md").read_text(encoding="utf-8")
    files = [*(root / "regard" / "serve").glob("*.py"), *(root / "regard" / "tasks").glob("*/routes.py")]
    code = "".join(file.read_text(encoding="utf-8") for file in files)
    answered = set(re.findall(r"Refusal\(\s*(\d{3})\b", code)) | set(
        re.findall(r"^ +(\d{3}): f?\"", code, re.MULTILINE)
    )
    assert {"400", "404", "405", "408", "413", "415", "421", "422", "429", "500", "503"} <= answered
    assert answered | {"499"} == set(re.findall(r"^\| (\d{3}) \|", page, re.MULTILINE))
