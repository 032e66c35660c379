"""`regard embed`: texts in, vectors out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

import regard
from regard.commands.app import Device, Int8, ModelName, app, command_line, counted, note_files, say, standard_input
from regard.errors import UsageError
from regard.files import is_file


@app.command(
    epilog="Examples: `regard embed demo 'Guten Morgen!'`, `regard embed demo lines.txt -o vectors.npy --page map.html`"
)
def embed(
    model: ModelName,
    text: Annotated[
        list[str] | None,
        typer.Argument(help="Texts, or the name of one file; without any, lines of standard input."),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Texts, one per line; plain, .gz or .xz.")
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How states become one vector: mean, max, first, last. [the task's]"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write .npy or .jsonl instead of printing.")
    ] = None,
    page: Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Write a map of the texts.")] = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", metavar="FILE", help="Colours of the map: one label per line.")
    ] = None,
    int8: Int8 = False,
    device: Device = "cpu",
) -> None:
    """One vector for each text: lines of JSON, a NumPy file, or a map to look at.

    A text without tokens has zeros, so that lines stay aligned. One longer than the model reads at once is read in windows.
    """
    if text and file is not None:
        raise UsageError("give texts or `file`, not both")
    if text and len(text) == 1 and is_file(text[0]):
        file, text = Path(text[0]), None
    note_files(text or ())
    typed = not text and file is None and sys.stdin.isatty()
    texts: Iterable[str] = text or (regard.read_lines(file) if file is not None else standard_input())
    found = regard.embed(
        model, texts, pool=pool, output=output, page=page, command=command_line(), int8=int8, device=device,
        labels=None if labels is None else regard.read_lines(labels), look_ahead=1 if typed else 2_048,
    )  # fmt: skip
    if output is None and page is None:
        for each in counted(found, "Embedding", len(text) if text else None):
            print(json.dumps(each.to_dict(), ensure_ascii=False, separators=(",", ":")), flush=typed)
        return
    if output is not None:
        say(f"wrote {output}: {found.count:,} × {found.width:,}, {found.pool}")
    if page is not None:
        say(f"wrote {page}")
