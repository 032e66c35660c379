"""`regard heads`: what each attention head is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import regard
from regard.commands.app import (
    DataFolder,
    Device,
    Json,
    ModelName,
    SourceFile,
    TargetFile,
    TestFile,
    app,
    command_line,
    print_json,
    say,
)


@app.command(epilog="Example: `regard heads runs/x --sentences 500 -o heads.html`")
def heads(
    model: ModelName,
    source: SourceFile = None,
    target: TargetFile = None,
    file: TestFile = None,
    data: DataFolder = None,
    test: Annotated[str | None, typer.Option("--test", metavar="NAME", help="This test set. [the first]")] = None,
    sentences: Annotated[int, typer.Option(min=1, help="Examples to try without each head.")] = 200,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="A page (.html) or picture (.png, .svg, .pdf)."),
    ] = None,
    as_json: Json = False,
    device: Device = "cpu",
) -> None:
    """What is each attention head worth? The change of BLEU, accuracy or perplexity when it alone is off."""
    found = regard.heads(
        model, source=source, target=target, file=file, data=data, test=test, sentences=sentences, output=output,
        command=command_line(), device=device,
    )  # fmt: skip
    if as_json:
        print_json(found.to_dict())
    else:
        found.draw(Console())
    if output is not None:
        say(f"wrote {output}")
