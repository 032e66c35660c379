"""`regard bench`: what texts on attention claim, measured on this machine, and what the paper's tables say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import regard
from regard.commands.app import Overrides, Verbs, app, command_line, print_json, say
from regard.errors import UsageError

bench = Verbs(
    help="Measure on this machine what texts on attention claim.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    epilog="Example: `regard bench scaling -o scaling.html`, or `regard bench layers -o layers.html`",
)
app.add_typer(bench, name="bench")

INTERRUPTED = 130  # as a shell counts Ctrl-C
STANDARD_OUTPUT = Path("-")

Numbers = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write all numbers; `-`: print them instead of tables.")
]
Page = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write a page with plots (.html).")]
Lengths = Annotated[str, typer.Option(metavar="N,N,…", help="Sequence lengths, n.")]
Seed = Annotated[int, typer.Option(help="Decides all that is drawn.")]


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
    as_json: Numbers = None,
    output: Page = None,
) -> None:
    """The paper's Table 1, measured: self-attention, recurrence, convolution and restricted self-attention over n and d.

    Time forward and with backward, memory, growth beside the theory, sequential operations, path length, and where
    self-attention is faster than the recurrent layer. Some minutes; Ctrl-C shows what was measured until then.
    """
    found = regard.bench(
        whole_numbers("--lengths", lengths), whole_numbers("--widths", widths), batch=batch, heads=heads, kernel=kernel,
        window=window, repeats=repeats, threads=threads, output=output, numbers=file_of(as_json), command=command_line(),
    )  # fmt: skip
    tell(found, as_json, output)
    if not found.complete:
        raise typer.Exit(INTERRUPTED)


@bench.command(epilog="Example: `regard bench scaling --widths 8,64,512 -o scaling.html`")
def scaling(
    widths: Annotated[str, typer.Option(metavar="D,D,…", help="Widths of a query, d_k.")] = "4,16,64,256,1024",
    length: Annotated[int, typer.Option(help="Queries and keys of a sequence.")] = 64,
    sequences: Annotated[int, typer.Option(help="Sequences that are drawn.")] = 32,
    seed: Seed = 1,
    as_json: Numbers = None,
    output: Page = None,
) -> None:
    """Unscaled dot products saturate softmax: variance of q·k, entropy of the weights, size of the gradient over d_k."""
    found = regard.bench_scaling(
        whole_numbers("--widths", widths), length=length, sequences=sequences, seed=seed, output=output,
        numbers=file_of(as_json), command=command_line(),
    )  # fmt: skip
    tell(found, as_json, output)


@bench.command(epilog="Example: `regard bench positions demo -o positions.html`")
def positions(
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="A run folder, a model file, or `demo`. [untrained layers]")
    ] = None,
    width: Annotated[int | None, typer.Option(help="Width of untrained layers, d. [64]")] = None,
    length: Annotated[int, typer.Option(help="Positions to tell apart.")] = 32,
    layers: Annotated[int | None, typer.Option(help="Untrained layers. [6]")] = None,
    heads: Annotated[int | None, typer.Option(help="Heads of untrained layers. [4]")] = None,
    sequences: Annotated[int, typer.Option(help="Sequences that are drawn.")] = 400,
    seed: Seed = 1,
    as_json: Numbers = None,
    output: Page = None,
) -> None:
    """The residual keeps positions: products of encodings over distance, and what a linear probe reads after each layer."""
    found = regard.bench_positions(
        model, width=width, length=length, layers=layers, heads=heads, sequences=sequences, seed=seed, output=output,
        numbers=file_of(as_json), command=command_line(),
    )  # fmt: skip
    tell(found, as_json, output)


@bench.command(epilog="Example: `regard bench gradients --lengths 10,30,100 --updates 0 -o gradients.html`")
def gradients(
    lengths: Lengths = "4,8,16,32,60",
    width: Annotated[int, typer.Option(help="Width of the models, d.")] = 32,
    updates: Annotated[int, typer.Option(help="Updates of training to copy; 0: untrained models only.")] = 200,
    sequences: Annotated[int, typer.Option(help="Sequences that are drawn.")] = 16,
    seed: Seed = 1,
    as_json: Numbers = None,
    output: Page = None,
) -> None:
    """Gradients vanish with distance: how much reaches the first word in rnn, rnn-attention, conv and transformer."""
    found = regard.bench_gradients(
        whole_numbers("--lengths", lengths), width=width, updates=updates, sequences=sequences, seed=seed, output=output,
        numbers=file_of(as_json), command=command_line(),
    )  # fmt: skip
    tell(found, as_json, output)


@bench.command(epilog="Example: `regard bench parameters recipes/translate/tiny.toml -o parameters.html`")
def parameters(
    recipe: Annotated[
        Path | None,
        typer.Argument(metavar="[RECIPE]", help="A TOML file, or `bundled:NAME`: its layers one by one, too."),
    ] = None,
    lengths: Lengths = "16,64,256,1024",
    width: Annotated[int, typer.Option(help="Layer width, d.")] = 64,
    heads: Annotated[int, typer.Option(help="Attention heads.")] = 4,
    kernel: Annotated[int, typer.Option(help="Positions that a convolution sees, k.")] = 3,
    tokens: Annotated[
        int | None, typer.Option(help="Tokens of the text that the recipe's FLOPs are counted for, about. [64]")
    ] = None,
    overrides: Overrides = [],  # noqa: B006
    as_json: Numbers = None,
    output: Page = None,
) -> None:
    """Attention has O(1) parameters in the length: parameters and FLOPs over n of MLP, recurrence, convolution, attention."""
    found = regard.bench_parameters(
        recipe, lengths=whole_numbers("--lengths", lengths), width=width, heads=heads, kernel=kernel, tokens=tokens,
        overrides=overrides, output=output, numbers=file_of(as_json), command=command_line(),
    )  # fmt: skip
    tell(found, as_json, output)


@bench.command(epilog="Example: `regard bench smoothing --smoothings 0,0.1 --noises 0,20,40 -o smoothing.html`")
def smoothing(
    smoothings: Annotated[str, typer.Option(metavar="E,E,…", help="Label smoothings, ε.")] = "0,0.1,0.3",
    noises: Annotated[str, typer.Option(metavar="P,P,…", help="Percent of labels that are wrong.")] = "0,10,30",
    classes: Annotated[int, typer.Option(help="Classes to tell apart.")] = 10,
    examples: Annotated[int, typer.Option(help="Examples to learn from.")] = 500,
    updates: Annotated[int, typer.Option(help="Updates of each network.")] = 400,
    seeds: Annotated[int, typer.Option(help="Networks of which the mean counts.")] = 3,
    seed: Seed = 1,
    as_json: Numbers = None,
    output: Page = None,
) -> None:
    """Label smoothing helps calibration: probabilities, calibration and accuracy with some percent of noisy labels."""
    found = regard.bench_smoothing(
        fractions("--smoothings", smoothings), noises=fractions("--noises", noises), classes=classes, examples=examples,
        updates=updates, seeds=seeds, seed=seed, output=output, numbers=file_of(as_json), command=command_line(),
    )  # fmt: skip
    tell(found, as_json, output)


@bench.command(epilog="Example: `regard bench context --lengths 2,8,32 -o context.html`")
def context(
    lengths: Lengths = "2,4,8,12,16,24",
    width: Annotated[int, typer.Option(help="Width of the models, and of the context vector.")] = 32,
    words: Annotated[int, typer.Option(help="Different words.")] = 16,
    updates: Annotated[int, typer.Option(help="Updates of training to copy.")] = 300,
    sequences: Annotated[int, typer.Option(help="Sequences that are drawn for each length.")] = 1_000,
    seed: Seed = 1,
    as_json: Numbers = None,
    output: Page = None,
) -> None:
    """A fixed context vector forgets: what it still knows of the first word over length, beside rnn-attention."""
    found = regard.bench_context(
        whole_numbers("--lengths", lengths), width=width, words=words, updates=updates, sequences=sequences, seed=seed,
        output=output, numbers=file_of(as_json), command=command_line(),
    )  # fmt: skip
    tell(found, as_json, output)


def file_of(as_json: Path | None) -> Path | None:
    return None if as_json == STANDARD_OUTPUT else as_json


def tell(found: regard.Bench | regard.Measured, as_json: Path | None, output: Path | None) -> None:
    """What was written, and what was found."""
    for path in (file_of(as_json), output):
        if path is not None and path.is_file():
            say(f"wrote {path}")
    if as_json == STANDARD_OUTPUT:
        print_json(found.to_dict())
    else:
        found.draw(Console())


def whole_numbers(option: str, given: str) -> tuple[int, ...]:
    """`16,32` → (16, 32)."""
    try:
        return tuple(int(number) for number in given.split(","))
    except ValueError:
        raise UsageError(
            f"{option} takes whole numbers with commas between them, such as 16,64,256; not {given!r}"
        ) from None


def fractions(option: str, given: str) -> tuple[float, ...]:
    """`0,0.1` → (0.0, 0.1)."""
    try:
        return tuple(float(number) for number in given.split(","))
    except ValueError:
        raise UsageError(f"{option} takes numbers with commas between them, such as 0,0.1,0.3; not {given!r}") from None
