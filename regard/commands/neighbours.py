"""`regard neighbours`: the nearest words of an embedding."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import regard
from regard.commands.app import Json, ModelName, app, command_line, note_files, print_json, say


@app.command(epilog="Example: `regard neighbours demo father --page words.html`")
def neighbours(
    model: ModelName,
    word: Annotated[list[str], typer.Argument(help="Words.")],
    count: Annotated[int, typer.Option(min=1, help="So many of each.")] = 10,
    side: Annotated[
        str | None, typer.Option(metavar="SIDE", help="Translation: the words of source or target. [target]")
    ] = None,
    words: Annotated[
        Path | None, typer.Option("--words", metavar="FILE", help="Look among the words of this text.")
    ] = None,
    page: Annotated[Path | None, typer.Option("--page", metavar="FILE", help="Write a map of the words.")] = None,
    as_json: Json = False,
) -> None:
    """Which words lie nearest to a word in a model's embedding, with their cosines.

    Words are compared with those of the training text that are one token; other text is named with --words. A word of several
    tokens is their mean.
    """
    note_files(word)
    found = regard.neighbours(model, word, count, side=side, words=words, page=page, command=command_line())
    if as_json:
        print_json(found.to_dict())
    else:
        for line in found.lines():
            print(line)
    if page is not None:
        say(f"wrote {page}")
