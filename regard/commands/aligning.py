"""`regard align` and `heads`: what the attention says about words, and what each head is worth."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from regard.commands.app import DataFolder, Json, ModelName, SourceFile, TargetFile, app, errors, standard_input
from regard.commands.evaluating import with_data_folder, with_test_sets
from regard.errors import RegardError, UsageError

if TYPE_CHECKING:
    from regard import Translator


@app.command(epilog="Example: `paste in.de in.en | regard align runs/x > in.align`")
def align(
    model: ModelName,
    source: SourceFile = None,
    target: TargetFile = None,
    data: DataFolder = None,
    layer: Annotated[int | None, typer.Option(min=1, help="Layer of the decoder, from 1. [best agreement]")] = None,
    head: Annotated[int | None, typer.Option(min=1, help="Head of that layer, from 1. [mean of all]")] = None,
    read: Annotated[
        bool | None,
        typer.Option("--read/--written", help="Look when a piece is read, or written. [best agreement]"),
    ] = None,
    reverse: Annotated[
        str | None, typer.Option(metavar="MODEL", help="A model of the opposite direction, to join its alignments.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Which word came from which: two files, or `source TAB target` lines, become one line of `i-j` pairs each."""
    from itertools import chain

    import regard
    from regard.data.progress import progress
    from regard.tasks.texts import LOOK_AHEAD, in_blocks
    from regard.tasks.translation.alignment.align import stream
    from regard.tasks.translation.alignment.choice import choose, looks_of

    translator, opposite = (
        regard.load(model, task="translation"),
        regard.load(reverse, task="translation") if reverse else None,
    )
    blocks = in_blocks(given_pairs(source, target), LOOK_AHEAD)
    first = next(blocks, [])
    looks = looks_of(translator, None if layer is None else layer - 1, None if head is None else head - 1, read)
    settled = len(looks) == 1 and opposite is None
    sample = first if settled else validation_or(first, translator, model, data)
    choice = choose(translator, looks, sample, opposite, show=True)
    errors.print("\n".join(f"regard: {line}" for line in choice.lines()), highlight=False, soft_wrap=True)
    empty = 0
    with progress(show=sys.stderr.isatty() and not sys.stdout.isatty()) as bar:
        task = bar.add_task("Aligning", total=None)
        pairs = chain(first, chain.from_iterable(blocks))
        for number, found in enumerate(stream(translator, pairs, choice, opposite), start=1):
            print(json.dumps(found.to_dict()) if as_json else found)
            bar.advance(task)
            if found.trouble:
                empty += 1
                errors.print(f"regard: line {number}: {found.trouble}", highlight=False, markup=False, soft_wrap=True)
    if empty:
        errors.print(f"regard: {empty} pair(s) too long to align left an empty line", highlight=False)


def given_pairs(source: Path | None, target: Path | None) -> Iterator[tuple[str, str]]:
    """The pairs of two files, or of standard input, where an empty line is an empty pair."""
    from regard.config import ParallelText
    from regard.data.corpus import decode_pairs, read_pairs

    if (source is None) != (target is None):
        raise UsageError("--source and --target go together")
    if source is not None and target is not None:
        return read_pairs((str(source.resolve()), str(target.resolve())), ParallelText(), "input")
    return decode_pairs((line if line.strip() else "\t" for line in standard_input()), "standard input")


def validation_or(
    given: list[tuple[str, str]], translator: Translator, model: str, data: Path | None
) -> list[tuple[str, str]]:
    """The validation pairs of a model's recipe, or the given ones where those are not at hand."""
    from regard.tasks.translation.alignment.choice import validation_pairs

    try:
        return validation_pairs(with_data_folder(translator.recipe, model, data).data)
    except RegardError:
        errors.print("regard: the model's validation text is not at hand; choosing on the input", highlight=False)
        return given


@app.command(epilog="Example: `regard heads runs/x --sentences 500 -o heads.html`")
def heads(
    model: ModelName,
    source: SourceFile = None,
    target: TargetFile = None,
    data: DataFolder = None,
    only: Annotated[str | None, typer.Option("--test", metavar="NAME", help="This test set. [the first]")] = None,
    sentences: Annotated[int, typer.Option(min=1, help="Sentences to translate without each head.")] = 200,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="A page (.html) or picture (.png, .svg, .pdf)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """What is each attention head worth? The change of BLEU when it alone is switched off."""
    from regard.tasks.translation.evaluation import choose
    from regard.tasks.translation.heads import head_importance
    from regard.tasks.translation.heads_page import check_name, draw_heads, write_heads

    if output is not None:
        check_name(output)
    translator, sets = with_test_sets(model, source, target, data)
    found = head_importance(translator, choose(sets, only)[0], sentences=sentences)
    if as_json:
        print(json.dumps(found.to_dict(), ensure_ascii=False, indent=1))
    else:
        draw_heads(found, Console())
    if output is not None:
        write_heads(output, found, shlex.join(["regard", *sys.argv[1:]]))
        errors.print(f"wrote {output}", highlight=False)
