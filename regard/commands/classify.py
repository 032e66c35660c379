"""`regard classify`: texts in, labels out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

import regard
from regard.commands.app import Device, FirstModel, Json, app, counted, models_and_texts, say, standard_input
from regard.errors import UsageError


@app.command(
    epilog="Examples: `regard classify runs/x 'What a film!'`, `regard classify runs/x --file in.txt > out.tsv`"
)
def classify(
    model: FirstModel,
    text: Annotated[
        list[str] | None, typer.Argument(metavar="MODEL|TEXT", help="Texts; without any, lines of standard input.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Texts, one per line; plain, .gz or .xz.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every label with its probability, best first.")] = False,
    as_json: Json = False,
    device: Device = "cpu",
) -> None:
    """Label arguments, standard input or a file: one line in, one line out, as label TAB probability.

    Arguments are models as long as they name one, then texts: of several models, the mean of their probabilities counts.
    """
    models, text = models_and_texts(model, text)
    if text and file is not None:
        raise UsageError("give texts or --file FILE, not both")
    classifier = regard.load(models, device, task="text-classification")
    typed = not text and file is None and sys.stdin.isatty()
    texts: Iterable[str] = text or (regard.read_lines(file) if file is not None else standard_input())
    answers = classifier.stream(texts, look_ahead=1) if typed else classifier.stream(texts)
    cut = windowed = 0
    for answer in counted(answers, "Classifying", len(text) if text else None):
        cut += answer.cut
        windowed += answer.windows > 1
        line = json.dumps(answer.to_dict(), ensure_ascii=False) if as_json else in_a_line(answer, every)
        print(line, flush=typed)
    if told := classifier.about_long(cut, windowed):
        say(f"regard: {told}")


def in_a_line(answer: regard.Classification, every: bool) -> str:
    """Label and probability, or of every label; an empty text has neither, but a line."""
    pairs = list(answer.probabilities.items()) if every else list(answer.probabilities.items())[:1]
    return "\t".join(f"{label}\t{probability:.4f}" for label, probability in pairs) or "\t"
