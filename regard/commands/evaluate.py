"""`regard evaluate`: how good a model is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import regard
from regard.commands.app import (
    Beam,
    DataFolder,
    Device,
    EngineName,
    Int8,
    Json,
    Models,
    Protect,
    Shortlist,
    SourceFile,
    Split,
    TargetFile,
    TestFile,
    TestName,
    To,
    Truecase,
    Verbose,
    Worker,
    app,
    command_line,
    print_json,
)


@app.command(epilog="Example: `regard evaluate runs/multi30k-en-de --paper`")
def evaluate(
    models: Models,
    source: SourceFile = None,
    target: TargetFile = None,
    data: DataFolder = None,
    test: TestName = None,
    to: To = None,
    beam: Beam = None,
    paper: Annotated[bool, typer.Option("--paper", help="Also lower-cased, Moses-tokenised BLEU.")] = False,
    unlike: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0.01,
            max=1,
            help="Also score the sentences alone that share less of their 5-grams of characters with any training sentence, such as 0.5.",
        ),
    ] = None,
    split: Split = True,
    protect: Protect = None,
    truecase: Truecase = True,
    as_json: Json = False,
    output: Annotated[Path | None, typer.Option(metavar="DIR", help="Write the model's answers here.")] = None,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep scores, answers and all that proves them here.")
    ] = None,
    save: Annotated[bool, typer.Option("--save", help="Store the scores in the model file.")] = False,
    verbose: Verbose = False,
    engine: EngineName = "auto",
    int8: Int8 = False,
    shortlist: Shortlist = False,
    workers: Worker = 0,
    device: Device = "cpu",
    file: TestFile = None,
    stride: Annotated[
        int | None, typer.Option(min=1, help="Language model: tokens by which its context slides.")
    ] = None,
    cache: Annotated[
        int | None,
        typer.Option(
            metavar="TOKENS",
            min=0,
            help="Language model: also with a cache of so many tokens that were read, such as 2000.",
        ),
    ] = None,
) -> None:
    """How good a model is, on its recipe's test sets or on given files.

    Translation: BLEU, chrF and TER with their signatures (`--source` and `--target` give other text). Classification:
    accuracy, macro-F1, confusion and calibration. Language model: perplexity per word. Several models answer together, by the mean of
    their probabilities.
    """
    found = regard.evaluate(
        models, data=data, save=save, output=output, keep=keep, command=command_line(), on_result=None if as_json else tell, source=source, target=target,
        beam=beam, paper=paper, unlike=unlike, engine=engine, int8=int8, shortlist=shortlist, workers=workers, file=file, stride=stride, cache=cache,
        split=split, protect=protect, truecase=truecase, to=to, test=test, device=device,
    )  # fmt: skip
    if as_json:
        print_json(found.to_dict())


def tell(result: regard.Result) -> None:
    print("\n".join(result.lines()), flush=True)
