"""`regard heads`: what each attention head is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
from regard.errors import UsageError


@app.command(epilog="Example: `regard heads runs/x --sentences 500 -o heads.html`")
def heads(
    model: ModelName,
    source: SourceFile = None,
    target: TargetFile = None,
    file: TestFile = None,
    data: DataFolder = None,
    test: Annotated[str | None, typer.Option("--test", metavar="NAME", help="This test set. [the first]")] = None,
    sentences: Annotated[
        int | None,
        typer.Option(min=1, help="Examples to try without each head, or texts of the corpus. [200, or 1,000]"),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Instead: what each head attends to in these texts, one per line, by position and word.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="A page (.html), or without --corpus a picture (.png, .svg, .pdf)."
        ),
    ] = None,
    as_json: Json = False,
    device: Device = "cpu",
) -> None:
    """What is each attention head worth? The change of BLEU, accuracy or perplexity when it alone is off. With --corpus, what does it do?"""
    found: regard.HeadImportance | regard.HeadPatterns
    made: dict[str, Any] = {"output": output, "command": command_line(), "device": device}
    if corpus is not None:
        given = {"--source": source, "--target": target, "--file": file, "--data": data, "--test": test}
        if unused := [name for name, value in given.items() if value is not None]:
            raise UsageError(f"{', '.join(unused)} and --corpus exclude each other: the corpus is all that is read")
        found = regard.head_patterns(model, corpus, sentences=sentences or 1_000, **made)
    else:
        found = regard.heads(
            model, source=source, target=target, file=file, data=data, test=test, sentences=sentences or 200, **made
        )
    if as_json:
        print_json(found.to_dict())
    else:
        found.draw(Console())
    if output is not None:
        say(f"wrote {output}")
