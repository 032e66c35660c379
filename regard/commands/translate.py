"""`regard translate`: sentences in, translations out."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

import regard
from regard.commands.app import (
    Beam,
    Device,
    EngineName,
    Int8,
    Json,
    ModelName,
    Protect,
    Shortlist,
    Split,
    To,
    Verbose,
    Worker,
    app,
    counted,
    note_files,
    say,
    standard_input,
)


@app.command(epilog="Examples: `regard translate demo 'Ich habe Hunger.'`, `regard translate runs/x < in.de > out.en`")
def translate(
    model: ModelName,
    text: Annotated[list[str] | None, typer.Argument(help="Texts; without any, lines of standard input.")] = None,
    to: To = None,
    beam: Beam = None,
    nbest: Annotated[int, typer.Option(min=1, help="Outputs per line, best first, as rank, score, text.")] = 1,
    sample: Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")] = False,
    temperature: Annotated[float, typer.Option(help="Sampling: below 1 is safer, above 1 wilder.")] = 1.0,
    top_k: Annotated[int, typer.Option(min=0, help="Sampling: only the k most probable tokens.")] = 0,
    top_p: Annotated[float, typer.Option(help="Sampling: only the most probable tokens up to this sum.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Sampling: the same seed gives the same output.")] = 0,
    prefix: Annotated[str, typer.Option(help="Text that every output begins with; an empty line stays empty.")] = "",
    no_repeat_ngram: Annotated[
        int | None, typer.Option(min=0, help="Never write a run of this many tokens twice.")
    ] = None,
    length_penalty: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a score: paper, mean or none. [recipe's]")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Strength of the paper's length penalty. [recipe's]")] = None,
    max_ratio: Annotated[float | None, typer.Option(help="Longest output as a multiple of the source …")] = None,
    max_extra: Annotated[int | None, typer.Option(help="… plus this many tokens.")] = None,
    split: Split = True,
    protect: Protect = None,
    warnings: Annotated[
        bool, typer.Option("--warnings/--no-warnings", help="Say what speaks against an output; without, it is faster.")
    ] = True,
    as_json: Json = False,
    verbose: Verbose = False,
    engine: EngineName = "auto",
    int8: Int8 = False,
    shortlist: Shortlist = False,
    workers: Worker = 0,
    device: Device = "cpu",
) -> None:
    """Translate arguments or standard input: one line in, one line out."""
    note_files(text or ())
    translator = regard.load(
        model, device, task="translation", engine=engine, int8=int8, shortlist=shortlist, workers=workers, to=to
    )
    options: dict[str, Any] = dict(
        beam=beam, nbest=nbest, sample=sample, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed,
        prefix=prefix, no_repeat_ngram=no_repeat_ngram, length_penalty=length_penalty, alpha=alpha,
        max_ratio=max_ratio, max_extra=max_extra, split=split, protect=protect, warnings=warnings,
        scores=as_json or nbest > 1,
    )  # fmt: skip
    if not text and sys.stdin.isatty():
        options["look_ahead"] = 1
    cut, doubted = 0, Doubted()
    answers = translator.stream(text or standard_input(), **options)
    for translation in counted(answers, "Translating", len(text) if text else None):
        cut += translation.finish_reason == "length"
        doubted.count(translation)
        write(translation, nbest, as_json)
    if cut:
        say(f"regard: {cut} output(s) reached the length limit; see --max-ratio")
    for line in doubted.lines():
        say(f"regard: {line}")


class Doubted:
    """What speaks against outputs, counted, with the first few lines of each kind."""

    SHOWN = 3

    def __init__(self) -> None:
        self.lines_of: dict[str, list[str]] = {}
        self.number = 0

    def count(self, translation: regard.Translation) -> None:
        self.number += 1
        first = {each.reason: each.text for each in reversed(translation.warnings or ())}
        for reason, text in first.items():
            self.lines_of.setdefault(reason, []).append(f"{self.number} ({text[:40]})")

    def lines(self) -> list[str]:
        """For people."""
        return [
            f"{len(found)} of {self.number} output(s) {reason}: line {', '.join(found[: self.SHOWN])}"
            + (" …; --json tells all" if len(found) > self.SHOWN else "")
            for reason, found in self.lines_of.items()
        ]


def write(translation: regard.Translation, nbest: int, as_json: bool) -> None:
    """One line, or one for each of the n best."""
    if as_json:
        print(json.dumps(translation.to_dict(), ensure_ascii=False), flush=True)
    elif nbest > 1:
        for rank, each in enumerate(translation.alternatives, start=1):
            print(f"{rank}\t{each.score:.4f}\t{each.text}")
    else:
        print(translation.text, flush=True)
