"""`regard export`: a model for other engines, and the proof that it writes the same there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import regard
from regard.commands.app import Beam, DataFolder, Json, ModelName, SourceFile, TestFile, app, print_json, say


@app.command(epilog="Example: `regard export runs/x --to ctranslate2`")
def export(
    model: ModelName,
    to: Annotated[str, typer.Option("--to", metavar="ENGINE", help="ctranslate2 (translators) or onnx.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Folder to write. [beside the model]")
    ] = None,
    int8: Annotated[bool, typer.Option("--int8", help="CTranslate2: matrices in 8 bits.")] = False,
    source: SourceFile = None,
    file: TestFile = None,
    data: DataFolder = None,
    samples: Annotated[int, typer.Option(min=0, help="Texts to compare with the original; 0: none.")] = 1_000,
    beam: Beam = None,
    as_json: Json = False,
) -> None:
    """Write a model for another engine, then let both work on the same texts and report whether they agree."""
    found = regard.export(
        model, to, output=output, int8=int8, source=source, file=file, data=data, samples=samples, beam=beam
    )
    if found.agreement is None:
        return
    if as_json:
        print_json(found.to_dict())
    else:
        print("\n".join(found.lines()))
    if not found.trusted:
        say(f"regard: too few texts agree; do not use {found.folder} before you know why")
