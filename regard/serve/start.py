"""`regard serve`: load the models, open the port, answer until told to stop."""

from __future__ import annotations

import ipaddress
import logging
import signal
import socket
import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import regard
from regard.config.stored import MODEL, find_model
from regard.errors import UsageError, install
from regard.notes import is_quiet
from regard.serve.limits import DEFAULTS, Limits, read_limits

if TYPE_CHECKING:
    from fastapi import FastAPI  # what an extra installs, and what needs it

    from regard.serve.access import Access
    from regard.serve.service import Served

log = logging.getLogger(__name__)

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


def serve(
    models: Sequence[str],
    host: str = "127.0.0.1",
    port: int = 8080,
    limits: Limits | Sequence[str] = DEFAULTS,
    device: str = "cpu",
    threads: int | None = None,
    verbose: bool = False,
    key_file: str | Path | None = None,
    rate: float | None = None,
    proxies: Sequence[str] = (),
) -> None:
    """Serve these models until SIGTERM or Ctrl-C, then finish what was begun.

    `limits` are an object, or some that differ from the usual ones, such as `characters=5000`. `threads` are torch's;
    left out, as many as there are cores (or OMP_NUM_THREADS says), less one. The log on stderr has a line for each
    request that was refused or failed, and with `verbose` for every other too.

    For servers that strangers can reach: `key_file` holds a key that must come with every request that computes, and a client may make
    `rate` requests a minute. A client is told by its address; what `X-Forwarded-For` says is believed only of `proxies`, by theirs.
    """
    try:
        import fastapi  # noqa: F401  # the app itself is imported when it is made: it brings torch
        import prometheus_client  # noqa: F401

        from regard.serve.access import Access, read_key
        from regard.serve.loading import LoadingApp
        from regard.serve.server import Server
    except ModuleNotFoundError as error:
        raise UsageError(f"serving needs {error.name}: {install('serve')}") from None
    limits = limits if isinstance(limits, Limits) else read_limits(limits)
    if not models:
        raise UsageError("name at least one model to serve")
    check_proxies(proxies)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("regard.serve").setLevel(
        logging.DEBUG if verbose else logging.WARNING if is_quiet() else logging.INFO
    )
    access = Access(None if key_file is None else read_key(key_file), rate)
    with _ending_well(), _listen(host, port) as listening:
        address = listening.getsockname()
        loopback = ipaddress.ip_address(address[0]).is_loopback
        if not loopback:
            _warn(address[0], key_file is not None, rate is not None)
        name = f"[{address[0]}]" if ":" in address[0] else address[0]
        log.info("starting: loading %s", ", ".join(models))
        files = name_models(models)
        loading = LoadingApp(
            lambda: load_app(files, device, limits, {*LOOPBACK_NAMES, name} if loopback else None, threads, access),
            lambda error: opened(error),
        )
        server, failed = Server(loading, limits, proxies), list[BaseException]()

        def opened(error: BaseException | None) -> None:
            if error is None:
                place = f"http://{name}:{address[1]}/"
                print(f"serving {', '.join(files)} at {place} (its API: /docs). Ctrl-C ends.", flush=True)
            else:
                failed.append(error)
                server.should_exit = True

        server.run(sockets=[listening])
        if failed:
            raise failed[0]


def load_app(
    files: Mapping[str, Path],
    device: str,
    limits: Limits,
    hosts: Collection[str] | None,
    threads: int | None,
    access: Access,
) -> FastAPI:
    """The app with its models; beside the loop, which says meanwhile that they are being loaded."""
    from regard.serve.app import create_app

    loaded: dict[str, Served] = {each: regard.load(file, device) for each, file in files.items()}
    for model in loaded.values():
        getattr(model, "model", None)  # all of it is read now: the file may change while it is served
    return create_app(loaded, limits, hosts, threads, [file.parent for file in files.values()], access)


def name_models(models: Sequence[str]) -> dict[str, Path]:
    """Their files by short names: as given by NAME=MODEL, else a run folder's or a file's name."""
    files: dict[str, Path] = {}
    for model in models:
        given, _, path = model.partition("=") if "=" in model and not Path(model).exists() else ("", "", model)
        file = find_model(path)
        name = stem = given or (file.resolve().parent.name if file.name == MODEL else file.stem)
        number = 1
        while name in files:
            if given:
                raise UsageError(f"two models would be called {given!r}; give {path} another name")
            number += 1
            name = f"{stem}-{number}"
        files[name] = file
    return files


def check_proxies(proxies: Sequence[str]) -> None:
    """Addresses or networks: of anything else, nobody would ever be believed."""
    for proxy in proxies:
        try:
            ipaddress.ip_network(proxy, strict=False)
        except ValueError:
            raise UsageError(f"a proxy is told by its address, such as 127.0.0.1, not by {proxy!r}") from None


def _warn(address: str, key: bool, rate: bool) -> None:
    """What is dangerous beyond this machine."""
    if not key:
        log.warning(
            "listening on %s without a key: there is no authentication, so everyone who reaches this address may use the "
            "models; `key_file` asks for a key",
            address,
        )
    if not rate:
        log.warning("listening on %s without a rate: one client can keep all others waiting; `rate` limits it", address)
    if key:
        log.warning("the key crosses the network in clear: put a proxy with a certificate in front")


def _listen(host: str, port: int) -> socket.socket:
    """The open port; before the models are loaded, so that nobody waits for them only to hear that it is taken."""
    try:
        if not 0 <= port <= 65_535:  # the resolver would take it modulo 65,536
            raise OverflowError("ports are 0 to 65535")
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=1024)
    except (OSError, OverflowError) as error:
        reason, _, _ = (getattr(error, "strerror", None) or str(error)).partition(" (while")  # binding to what we name
        raise UsageError(
            f"cannot listen on {host}, port {port}: {reason}. Choose another with `host` or `port`"
        ) from None


@contextmanager
def _ending_well() -> Iterator[None]:
    """Being told to stop is no failure: exit code 0, also after uvicorn, which raises the signal again when it is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        sys.exit(0)

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
