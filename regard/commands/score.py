"""`regard score`: how probable a model finds a text."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from rich.console import Console

import regard
from regard.commands.app import (
    Device,
    FirstModel,
    Json,
    SourceFile,
    TargetFile,
    To,
    app,
    models_and_texts,
    standard_input,
)


@app.command(epilog="Examples: `paste in.de in.en | regard score runs/x`, `regard score runs/language 'some text'`")
def score(
    model: FirstModel,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL|TEXT", help="Language model: texts, instead of standard input."),
    ] = None,
    source: SourceFile = None,
    target: TargetFile = None,
    to: To = None,
    as_json: Json = False,
    device: Device = "cpu",
) -> None:
    """How probable a model finds a text.

    Translation: `source TAB target` lines on standard input, or two files. Language model: arguments, or lines of standard
    input. Arguments are models as long as they name one, then texts: of several models, the mean of their probabilities counts.
    """
    models, text = models_and_texts(model, text)
    from_input = not text and source is None and target is None
    texts = standard_input() if from_input else text or None
    options = {"look_ahead": 1} if from_input and sys.stdin.isatty() else {}
    for found in regard.score(models, texts, source=source, target=target, to=to, device=device, **options):
        draw = getattr(found, "draw", None)
        if as_json:
            print(json.dumps(found.to_dict(), ensure_ascii=False), flush=True)
        elif draw is not None and len(text) == 1 and sys.stdout.isatty():
            draw(Console())
        else:
            print(found, flush=True)
