"""`regard view`: see through a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import regard
from regard.commands.app import (
    Beam,
    Device,
    EngineName,
    Int8,
    Protect,
    Shortlist,
    Split,
    To,
    Truecase,
    app,
    command_line,
    report,
)
from regard.errors import UsageError

LARGE = 20  # megabytes: worth a word


@app.command(
    epilog="Examples: `regard view demo 'Ich habe Hunger.' -o attention.html`, `regard view runs/x -o movie.html`, "
    "`regard view demo --live -o demo.html`, "
    "`regard view --playground -o playground.html`"
)
def view(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL", help="A run folder, a model file, or a bundled one such as `demo`.", show_default=False
        ),
    ] = None,
    text: Annotated[str | None, typer.Argument(help="What to look at. [a sentence of the run's movie]")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write a page.")] = None,
    to: To = None,
    beam: Beam = None,
    engine: EngineName = "auto",
    int8: Int8 = False,
    shortlist: Shortlist = False,
    split: Split = True,
    protect: Protect = None,
    truecase: Truecase = True,
    device: Device = "cpu",
    live: Annotated[
        bool, typer.Option("--live", help="A page with the model inside, which runs in the browser: type any text.")
    ] = False,
    playground: Annotated[
        bool, typer.Option("--playground", help="No model: a page to try attention on vectors that you type.")
    ] = False,
) -> None:
    """See through a model: one self-contained HTML page, or in the terminal.

    Of a translation: every attention weight of the very text that `translate` writes with the same options, and of a run
    that filmed them (`training.probes`) how they formed. Of a classifier: which words decided. Of a language model: what it
    looked back at, and what else might have come.
    """
    if playground:
        write_playground(model, output)
        return
    if model is None:
        raise UsageError("name a model, such as demo or runs/NAME; --playground needs none")
    seen = regard.view(
        model, text, output=output, command=command_line(), beam=beam, engine=engine, int8=int8, shortlist=shortlist,
        split=split, protect=protect, truecase=truecase, to=to, device=device, live=live,
    )  # fmt: skip
    if output is None:
        seen.draw(Console())
        return
    tell(output)


def write_playground(model: str | None, output: Path | None) -> None:
    """The page that needs no model."""
    if model is not None:
        raise UsageError(f"--playground needs no model, but {model!r} was given")
    if output is None:
        raise UsageError("the playground is a page: name its file with -o, such as -o playground.html")
    regard.playground(output)
    tell(output)


def tell(output: Path) -> None:
    """That a page was written, and its size if it is large."""
    size = output.stat().st_size / 1e6
    report(f"wrote {output}" if size < LARGE else f"wrote {output} ({size:.0f} MB)")
