"""`regard view`: see through a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import regard
from regard.commands.app import Beam, EngineName, Int8, ModelName, Protect, Shortlist, Split, app, command_line

LARGE = 20  # megabytes: worth a word


@app.command(
    epilog="Examples: `regard view demo 'Ich habe Hunger.' -o attention.html`, `regard view runs/x -o movie.html`"
)
def view(
    model: ModelName,
    text: Annotated[str | None, typer.Argument(help="What to look at. [a sentence of the run's movie]")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write a page.")] = None,
    beam: Beam = None,
    engine: EngineName = "auto",
    int8: Int8 = False,
    shortlist: Shortlist = False,
    split: Split = True,
    protect: Protect = None,
) -> None:
    """See through a model: one self-contained HTML page, or in the terminal.

    Of a translation: every attention weight of the very text that `translate` writes with the same options, and of a run
    that filmed them (`training.probes`) how they formed. Of a classifier: which words decided. Of a language model: what it
    looked back at, and what else might have come.
    """
    seen = regard.view(
        model, text, output=output, command=command_line(), beam=beam, engine=engine, int8=int8, shortlist=shortlist,
        split=split, protect=protect,
    )  # fmt: skip
    if output is None:
        seen.draw(Console())
        return
    size = output.stat().st_size / 1e6
    print(f"wrote {output}" if size < LARGE else f"wrote {output} ({size:.0f} MB)")
