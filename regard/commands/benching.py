"""`regard bench layers`: what the paper's tables say, measured on this machine."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from regard.commands.app import app, errors
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
    from regard.experiments.bench.page import INSTEAD, write_layers
    from regard.files import replacing
    from regard.view.document import check_name

    if output is not None:
        check_name(output, INSTEAD)
    for path in (as_json, output):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)  # now: after minutes of measuring it is too late to fail
    numbers = whole_numbers("--lengths", lengths), whole_numbers("--widths", widths)

    import torch

    from regard.experiments.bench.growth import draw, report
    from regard.experiments.bench.layers import Settings, measure

    count = torch.get_num_threads() if threads is None else threads
    found = measure(Settings(*numbers, batch, heads, kernel, window, repeats, count))
    try:
        draw(found, Console())
    finally:  # also when nobody reads the tables to their end
        if as_json is not None:
            with replacing(as_json) as temporary:
                temporary.write_text(json.dumps(report(found), indent=1), encoding="utf-8")
            errors.print(f"wrote {as_json}", highlight=False)
        if output is not None and found.cells:
            write_layers(output, report(found), shlex.join(["regard", *sys.argv[1:]]))
            errors.print(f"wrote {output}", highlight=False)
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
