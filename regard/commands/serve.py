"""`regard serve`: a model on the network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import regard
from regard.commands.app import Device, app


@app.command(epilog="Example: `regard serve demo`, then open the address that it prints")
def serve(
    models: Annotated[
        list[str],
        typer.Argument(metavar="[NAME=]MODEL", help="Run folders, model files, or bundled ones such as `demo`."),
    ],
    host: Annotated[
        str, typer.Option(help="Address to listen on; beyond loopback, --key-file and --rate keep strangers off.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0: any free one.")] = 8080,
    threads: Annotated[int | None, typer.Option(min=1, help="Threads that compute. [cores, less one]")] = None,
    device: Device = "cpu",
    limit: Annotated[
        list[str],
        typer.Option(metavar="NAME=NUMBER", help="Another limit, such as characters=5000; see docs/serve.md."),
    ] = [],  # noqa: B006
    key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Ask for the API key that this file holds; others get 401.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Requests that one client may make in a minute. [any number]")
    ] = None,
    proxy: Annotated[
        list[str],
        typer.Option(
            metavar="ADDRESS", help="A proxy whose X-Forwarded-For is believed; else clients are told apart by address."
        ),
    ] = [],  # noqa: B006
    verbose: Annotated[bool, typer.Option("--verbose", help="Log every request, not only those refused.")] = False,
) -> None:
    """Translate, classify or write live in the browser, and answer programs by a JSON API."""
    regard.serve(
        models, host, port, limit, device=device, threads=threads, verbose=verbose, key_file=key_file, rate=rate,
        proxies=proxy,
    )  # fmt: skip
