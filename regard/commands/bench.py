"""`regard bench layers`: what the paper's tables say, measured on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import regard
from regard.commands.app import app, command_line, say
from regard.errors import UsageError

bench = typer.Typer(
    help="Measure on this machine what the paper says of layers.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    epilog="Example: `regard bench layers -o layers.html`",
)
app.add_typer(bench, name="bench")

INTERRUPTED = 130  # as a shell counts Ctrl-C


@bench.command(epilog="Example: `regard bench layers --lengths 32,128,512 --widths 128,256,512 -o layers.html`")
def layers(
    lengths: Annotated[
        str, typer.Option(metavar="N,N,…", help="Sequence lengths, the paper's n.")
    ] = "16,32,64,128,256,512,1024,2048",
    widths: Annotated[str, typer.Option(metavar="D,D,…", help="Layer widths, the paper's d.")] = "64,128,256,512,1024",
    batch: Annotated[int, typer.Option(help="Sequences at a time.")] = 2,
    heads: Annotated[int, typer.Option(help="Attention heads.")] = 4,
    kernel: Annotated[int, typer.Option(help="Positions that a convolution sees, the paper's k.")] = 3,
    window: Annotated[int, typer.Option(help="Positions that restricted attention sees, the paper's r.")] = 32,
    repeats: Annotated[int, typer.Option(help="Samples, of which the median counts.")] = 5,
    threads: Annotated[int | None, typer.Option(help="Threads to compute with. [torch's choice]")] = None,
    as_json: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write all numbers.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write a page with plots (.html).")
    ] = None,
) -> None:
    """The paper's Table 1, measured: self-attention, recurrence, convolution and restricted self-attention over n and d.

    Time forward and with backward, memory, growth beside the theory, sequential operations, path length, and where
    self-attention is faster than the recurrent layer. Some minutes; Ctrl-C shows what was measured until then.
    """
    found = regard.bench(
        whole_numbers("--lengths", lengths), whole_numbers("--widths", widths), batch=batch, heads=heads, kernel=kernel,
        window=window, repeats=repeats, threads=threads, output=output, numbers=as_json, command=command_line(),
    )  # fmt: skip
    for path in (as_json, output):
        if path is not None and path.is_file():
            say(f"wrote {path}")
    found.draw(Console())
    if not found.complete:
        raise typer.Exit(INTERRUPTED)


def whole_numbers(option: str, given: str) -> tuple[int, ...]:
    """`16,32` → (16, 32)."""
    try:
        return tuple(int(number) for number in given.split(","))
    except ValueError:
        raise UsageError(
            f"{option} takes whole numbers with commas between them, such as 16,64,256; not {given!r}"
        ) from None
