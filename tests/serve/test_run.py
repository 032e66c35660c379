"""The command from start to stop."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from regard.errors import CheckpointError, UsageError
from regard.serve.limits import DEFAULTS, read_limits
from regard.serve.start import name_models, serve
from regard.tasks.translation.translator import Translator
from tests.serve.conftest import PATIENCE, SENTENCES, running, until

# Says when a translation begins, and waits for a line before it goes on. Deaf to SIGINT at birth, as a script's jobs are.
PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
from regard.serve.start import serve
from regard.tasks.translation.translator import Translator

plain = Translator.translate

def held(self, texts, **options):
    print("begun", flush=True)
    sys.stdin.readline()
    return plain(self, texts, **options)

Translator.translate = held
serve([sys.argv[1]], sys.argv[2], 0)
"""


@contextmanager
def started(model: Path, host: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its address."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(model), host],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    with process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            found = re.search(r"(?<=^serving tiny at )http://\S+", line)
            assert found, line
            yield process, found[0]
        finally:
            if process.poll() is None:
                process.kill()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_finishes_what_was_begun(tiny_file: Path, number: signal.Signals) -> None:
    with started(tiny_file, "127.0.0.1") as (process, url), ThreadPoolExecutor(1) as pool:
        assert process.stdout is not None
        assert process.stdin is not None
        begun = pool.submit(httpx.post, f"{url}translate", json={"text": SENTENCES[0]}, timeout=PATIENCE)
        assert process.stdout.readline() == "begun\n"
        process.send_signal(number)
        port = int(url.rstrip("/").rpartition(":")[2])

        def refused() -> bool:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
            except ConnectionError:
                return True
            return False

        until(refused)
        assert process.poll() is None
        assert not begun.done()
        process.stdin.write("\n")
        process.stdin.flush()
        assert begun.result(PATIENCE).status_code == 200
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        logged = [line.split(" ", 2)[2] for line in process.stderr.read().splitlines()]  # after the day and the time
        assert logged == [
            f"INFO starting: loading {tiny_file}", "INFO stopping: finishing 1 request", "INFO ended",
        ]  # fmt: skip


@pytest.mark.slow
def test_an_answer_s_body_does_not_wait_for_its_head_s_acknowledgement(tiny_translator: Translator) -> None:
    with running({"tiny": tiny_translator}) as server, httpx.Client(base_url=server.url) as client:
        assert client.get("/health").status_code == 200
        [connection] = server.server.server_state.connections
        wire = connection.transport.get_extra_info("socket")
        assert wire.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_other_addresses_come_with_a_warning(tiny_file: Path) -> None:
    with started(tiny_file, "0.0.0.0") as (process, url):
        local = url.replace("0.0.0.0", "127.0.0.1")
        assert httpx.get(f"{local}health", headers={"Host": "any.example"}, timeout=PATIENCE).status_code == 200
        process.terminate()
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert "there is no authentication" in process.stderr.read()


def test_a_port_in_use_is_said_before_models_are_loaded() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"cannot listen on 127.0.0.1, port {port}: Address already in use"):
            serve(["no-such-model"], port=port)


@pytest.mark.parametrize(("host", "port"), [("no.such.host.invalid", 0), ("127.0.0.1", 70_000)])
def test_an_address_that_cannot_be(host: str, port: int) -> None:
    with pytest.raises(UsageError, match=f"cannot listen on {host}, port {port}: .*`port`"):
        serve(["no-such-model"], host, port)


def test_a_model_that_is_not_there() -> None:
    with pytest.raises(CheckpointError, match="no model at no-such-model"):
        serve(["no-such-model"], port=0)
    with pytest.raises(UsageError, match="at least one model"):
        serve([], port=0)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastapi", None)
    for name in [name for name in sys.modules if name.startswith("regard.serve.") and name != "regard.serve.start"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(UsageError, match=r"serving needs fastapi: pip install -e '.\[serve\]'"):
        serve(["demo"], port=0)


def test_models_have_short_names_of_their_own(tiny_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "deep=er"  # a name that is there is no NAME=MODEL
    run.mkdir()
    model = run / "model.safetensors"
    model.write_bytes(tiny_file.read_bytes())
    given = [str(tiny_file), str(run), str(model), str(run), f"deep={run}", f"깊다={model}", "demo"]
    found = name_models(given)
    assert list(found) == ["tiny", "deep=er", "deep=er-2", "deep=er-3", "deep", "깊다", "demo"]
    assert list(found.values())[:-1] == [tiny_file, *[model] * 5]
    with pytest.raises(UsageError, match=r"two models would be called 'tiny'; give .* another name"):
        name_models([str(tiny_file), f"tiny={tiny_file}"])
    with pytest.raises(CheckpointError, match="no model at nowhere"):
        name_models(["tiny=nowhere"])


def test_limits_are_read_from_the_command_line() -> None:
    assert read_limits([]) == DEFAULTS
    assert read_limits(["characters=5_000", "answer_seconds=2.5"]) == replace(
        DEFAULTS, characters=5_000, answer_seconds=2.5
    )
    for given, message in (
        ("charakters=1", "Did you mean 'characters'"), ("texts=many", "must be a whole number, not 'many'"),
        ("tokens=5", "the limit tokens is now called new_tokens"), ("beam=0", "must be above 0"), ("beam", "must be a whole number, not ''"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=message):
            read_limits([given])
