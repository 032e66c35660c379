"""`regard recognize`: pictures in, labels out."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

import regard
from regard.commands.app import Device, Json, ModelName, app, counted, say, standard_input
from regard.errors import visible


@app.command(epilog="Examples: `regard recognize runs/x boot.png`, `ls *.jpg | regard recognize runs/x --json`")
def recognize(
    model: ModelName,
    file: Annotated[
        list[Path] | None, typer.Argument(help="Pictures, or folders of them; without any, paths from standard input.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every label with its probability, best first.")] = False,
    as_json: Json = False,
    device: Device = "cpu",
) -> None:
    """Label pictures (PNG, JPEG or WebP): one picture in, one line out, as file TAB label TAB probability.

    What cannot be read gets a line without a label and is told on standard error; the exit code is then 1.
    """
    recognizer = regard.load(model, device, task="image-classification")
    typed = not file and sys.stdin.isatty()
    broken = 0
    answers = recognizer.recognize_files(named(file), look_ahead=1 if typed else None)
    for name, answer in counted(answers, "Recognizing"):
        if isinstance(answer, regard.RegardError):
            broken += 1
            say(f"regard: {answer}")
            print(
                json.dumps({"file": name, "error": str(answer)}, ensure_ascii=False)
                if as_json
                else f"{one_line(name)}\t\t",
                flush=typed,
            )
            continue
        told = {"file": name, **answer.to_dict()}
        print(json.dumps(told, ensure_ascii=False) if as_json else in_a_line(name, answer, every), flush=typed)
    if broken:
        raise typer.Exit(1)


def named(files: list[Path] | None) -> Iterator[Path]:
    if files:
        return iter(files)
    if sys.stdin.isatty():
        return (Path(line) for line in standard_input() if line.strip())
    # Names of files are bytes, which need be no text.
    return (Path(os.fsdecode(line.rstrip(b"\r\n"))) for line in sys.stdin.buffer if line.strip())


def one_line(name: str) -> str:
    """A file may be called anything; its answer stays one line of three columns, and says nothing to the terminal."""
    return visible(name).replace("\t", "\\t").replace("\n", "\\n")


def in_a_line(name: str, answer: regard.Recognition, every: bool) -> str:
    pairs = list(answer.probabilities.items()) if every else list(answer.probabilities.items())[:1]
    return "\t".join([one_line(name), *(f"{label}\t{probability:.4f}" for label, probability in pairs)])
