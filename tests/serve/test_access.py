"""Who may ask, and how often."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.datastructures import Headers

from regard.errors import UsageError
from regard.serve.access import OPEN, REMEMBERED, Access, client_of, read_key
from regard.serve.app import create_app
from regard.serve.limits import DEFAULTS, Refusal
from regard.serve.server import Server
from regard.serve.start import check_proxies, serve
from regard.tasks.classification.classifier import Classifier
from tests.serve.conftest import PATIENCE, running
from tests.serve.test_refusals import refused

KEY = "a-key-of-sixteen-or-more"


@contextmanager
def client(model: Classifier, access: Access) -> Iterator[httpx.Client]:
    with (
        running({"moods": model}, access=access) as server,
        httpx.Client(base_url=server.url, timeout=PATIENCE) as made,
    ):
        yield made


@pytest.fixture(scope="module")
def locked(tiny_classifier: Classifier) -> Iterator[httpx.Client]:
    with client(tiny_classifier, Access(KEY)) as made:
        yield made


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": f"Bearer {KEY}"}, 200),
        ({"Authorization": f"bearer  {KEY}"}, 200),
        ({"X-API-Key": KEY}, 200),
        ({"Authorization": f"Basic {KEY}"}, 401),
        ({"Authorization": KEY}, 401),
        ({"Authorization": f"Bearer {KEY}x"}, 401),
        ({"Authorization": f"Bearer {KEY[:-1]}"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"X-API-Key": ""}, 401),
        ({"X-API-Key": "\xff" * 20}, 401),
        ({"Authorization": "Bearer wrong", "X-API-Key": KEY}, 200),
    ],
)
def test_a_key_opens_what_computes(locked: httpx.Client, headers: dict[str, str], status: int) -> None:
    sent = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
    answer = locked.post("/classify", json={"text": "a"}, headers=sent)
    assert locked.get("/metrics", headers=sent).status_code == status
    assert answer.status_code == status
    if status == 401:
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "Authorization: Bearer KEY" in refused(answer, 401)
        assert KEY not in answer.text


def test_pages_and_health_are_open_and_nothing_else(locked: httpx.Client) -> None:
    assert {locked.get(path).status_code for path in OPEN} == {200}
    for path in ("/classify", "/health/", "/x//health", "/nope", "/%2e/health", "/HEALTH"):
        assert locked.get(path).status_code == 401, path
    api = locked.get("/openapi.json").json()
    assert "401" in api["paths"]["/classify"]["post"]["responses"]
    assert "401" not in api["paths"]["/health"]["get"]["responses"]


def test_no_status_that_a_path_answers_is_left_out_of_its_documentation(tiny_classifier: Classifier) -> None:
    with client(tiny_classifier, Access()) as asking:
        paths = asking.get("/openapi.json").json()["paths"]
    wanted = {"200", "400", "404", "408", "413", "415", "421", "422", "429", "500", "503"}
    assert set(paths["/classify"]["post"]["responses"]) == wanted
    assert set(paths["/metrics"]["get"]["responses"]) == wanted - {"404", "415", "422"}


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def ask(access: Access, address: str = "10.0.0.1", path: str = "/classify") -> str:
    """→ after how many seconds to come again; nothing if all is well."""
    try:
        access.check({"type": "http", "path": path, "client": (address, 5)}, Headers({}))
    except Refusal as refusal:
        return refusal.headers["Retry-After"]
    return ""


def test_a_client_may_ask_so_often_and_no_other_suffers() -> None:
    clock = Clock()
    access = Access(rate=3, now=clock)
    assert [ask(access) for _ in range(4)] == ["", "", "", "20"]
    assert ask(access, "10.0.0.2") == ""
    clock.seconds = 19
    assert ask(access) == "1"
    clock.seconds = 20
    assert [ask(access), ask(access)] == ["", "20"]
    clock.seconds = 10_000
    assert [ask(access) for _ in range(4)] == ["", "", "", "20"]  # no more than a minute's worth is saved up


def test_what_is_remembered_of_clients_is_bounded() -> None:
    access = Access(rate=1, now=Clock())
    for number in range(REMEMBERED + 50):
        assert ask(access, f"client-{number}") == ""
    assert len(access._clients) == REMEMBERED
    assert ask(access, f"client-{REMEMBERED + 49}") == "60"


def test_whose_address_it_is() -> None:
    def named(address: str) -> str:
        return client_of({"type": "http", "client": (address, 1)})

    assert named("2001:db8::1") == named("2001:db8::ffff:2") != named("2001:db8:0:1::1")
    assert named("::ffff:10.0.0.1") == named("10.0.0.1") != named("10.0.0.2")
    assert client_of({"type": "http"}) == client_of({"type": "http", "client": None}) == "unknown"


def test_a_forwarded_address_is_believed_only_of_a_proxy(tiny_classifier: Classifier) -> None:
    async def asked_twice(proxies: list[str]) -> int:
        server = Server(create_app({"moods": tiny_classifier}, access=Access(rate=1)), DEFAULTS, proxies)
        server.config.load()
        transport = httpx.ASGITransport(server.config.loaded_app, client=("127.0.0.1", 5))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as asking:
            await asking.get("/docs", headers={"X-Forwarded-For": "10.0.0.1"})
            return (await asking.get("/docs", headers={"X-Forwarded-For": "10.0.0.2"})).status_code

    assert asyncio.run(asked_twice([])) == 429
    assert asyncio.run(asked_twice(["127.0.0.1"])) == 200
    assert asyncio.run(asked_twice(["10.9.9.9"])) == 429


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty. Make one with"),
        (b"\n\n", "is empty"),
        (b"two words here and more", "holds more than one line"),
        (b"first-key-of-many\nsecond-key-of-many\n", "holds more than one line"),
        ("열쇠열쇠열쇠열쇠열쇠열쇠열쇠열쇠".encode(), "holds more than one line of letters"),
        (b"\x00" * 20, "holds more than one line"),
        (b"\xff\xfe" * 20, "holds more than one line"),
        (b"short", "should have 16 to 1,000 characters"),
        (b"x" * 1_001, "should have 16 to 1,000"),
        (b"x" * 10_000_000, "should have 16 to 1,000"),
    ],
)
def test_odd_key_files(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "key"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=said) as error:
        read_key(file)
    assert len(str(error.value)) < 400  # nothing of the file's content


def test_key_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "key"
    file.write_text(f"{KEY}\r\n")
    file.chmod(0o600)
    assert read_key(file) == KEY
    assert not caplog.records
    file.chmod(0o644)
    assert read_key(file) == KEY
    assert "chmod 600" in caplog.text
    with pytest.raises(UsageError, match="no regular file"):
        read_key(tmp_path)
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_key(tmp_path / "none")
    with pytest.raises(UsageError, match="cannot be read"):
        serve(["demo"], key_file=tmp_path / "none")


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
def test_rates_must_make_sense(rate: float) -> None:
    with pytest.raises(UsageError, match="rate must be above 0 and finite"):
        serve(["demo"], rate=rate)


def test_proxies_are_addresses() -> None:
    check_proxies(["127.0.0.1", "10.0.0.0/8", "::1"])
    for wrong in ("*", "proxy.example", ""):
        with pytest.raises(UsageError, match="a proxy is told by its address"):
            check_proxies([wrong])


@pytest.mark.parametrize(
    ("options", "said", "unsaid"),
    [
        ({}, ["without a key", "without a rate"], ["in clear"]),
        ({"rate": 5}, ["without a key"], ["without a rate"]),
        ({"key": True}, ["without a rate", "crosses the network in clear"], ["without a key"]),
        ({"key": True, "rate": 5}, ["in clear"], ["without a"]),
    ],
)
def test_beyond_loopback_what_is_missing_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any], said: list[str], unsaid: list[str],
) -> None:  # fmt: skip
    options = dict(options)
    if options.pop("key", False):
        (tmp_path / "key").write_text(KEY)
        (tmp_path / "key").chmod(0o600)
        options["key_file"] = tmp_path / "key"
    with caplog.at_level(logging.WARNING), pytest.raises(Exception, match=r"none\.safetensors"):
        serve([str(tmp_path / "none.safetensors")], "0.0.0.0", 0, **options)  # it warns before it loads
    assert all(each in caplog.text for each in said)
    assert not any(each in caplog.text for each in unsaid)
    caplog.clear()
    with pytest.raises(Exception, match=r"none\.safetensors"):
        serve([str(tmp_path / "none.safetensors")], "127.0.0.1", 0)
    assert "without" not in caplog.text


def test_a_client_that_asks_too_often_is_told_over_http(tiny_classifier: Classifier) -> None:
    with client(tiny_classifier, Access(rate=2)) as asking:
        statuses = [asking.get("/health").status_code for _ in range(3)]
        answer: httpx.Response = asking.get("/health")
    assert statuses == [200, 200, 429]
    assert "this client may make 2 requests a minute. Try again in " in refused(answer, 429)
