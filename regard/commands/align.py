"""`regard align`: which word came from which."""

from __future__ import annotations

import json
from typing import Annotated

import typer

import regard
from regard.commands.app import (
    DataFolder,
    Device,
    Json,
    ModelName,
    SourceFile,
    TargetFile,
    app,
    counted,
    say,
    standard_input,
)


@app.command(epilog="Example: `paste in.de in.en | regard align runs/x > in.align`")
def align(
    model: ModelName,
    source: SourceFile = None,
    target: TargetFile = None,
    data: DataFolder = None,
    layer: Annotated[int | None, typer.Option(min=1, help="Layer of the decoder, from 1. [best agreement]")] = None,
    head: Annotated[int | None, typer.Option(min=1, help="Head of that layer, from 1. [mean of all]")] = None,
    read: Annotated[
        bool | None,
        typer.Option("--read/--written", help="Look when a token is read, or written. [best agreement]"),
    ] = None,
    reverse: Annotated[
        str | None, typer.Option(metavar="MODEL", help="A model of the opposite direction, to join its alignments.")
    ] = None,
    as_json: Json = False,
    device: Device = "cpu",
) -> None:
    """Which word came from which: two files, or `source TAB target` lines, become one line of `i-j` pairs each."""
    pairs = standard_input() if source is None and target is None else None
    alignments = regard.align(
        model, pairs, source=source, target=target, data=data, layer=layer, head=head, read=read, reverse=reverse,
        device=device,
    )  # fmt: skip
    say("\n".join(f"regard: {line}" for line in alignments.choice.lines()))
    empty = 0
    for number, found in enumerate(counted(alignments, "Aligning"), start=1):
        print(json.dumps(found.to_dict()) if as_json else found)
        if found.trouble:
            empty += 1
            say(f"regard: line {number}: {found.trouble}")
    if empty:
        say(f"regard: {empty} pair(s) too long to align left an empty line")
