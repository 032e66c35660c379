"""`regard translate`: sentences in, translations out."""

from __future__ import annotations

import json
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

import regard
from regard.commands.app import (
    Beam,
    Device,
    EngineName,
    FirstModel,
    Int8,
    Json,
    Protect,
    Shortlist,
    Split,
    To,
    Truecase,
    Verbose,
    Worker,
    app,
    counted,
    models_and_texts,
    say,
    standard_input,
)
from regard.config.stored import find_model
from regard.errors import UsageError
from regard.files import GrowingFile


@app.command(
    epilog="Examples: `regard translate demo 'Ich habe Hunger.'`, `regard translate runs/x < in.de > out.en`, `regard translate runs/a runs/b 'Hallo.'`"
)
def translate(
    model: FirstModel,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL|TEXT", help="Texts; without any, lines of standard input."),
    ] = None,
    input_file: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="Texts, one per line; plain, .gz or .xz.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write here; what was interrupted goes on where it stopped. With --input."),
    ] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="Write source TAB translation: text to train on.")] = False,
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
    truecase: Truecase = True,
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
    """Translate arguments, standard input or a file: one line in, one line out.

    Arguments are models as long as they name one, then texts: several models write one translation, by the mean of their
    probabilities.
    """
    models, text = models_and_texts(model, text)
    check_files(text, input_file, output, nbest, as_json)
    translator = regard.load(
        models, device, task="translation", engine=engine, int8=int8, shortlist=shortlist, workers=workers, to=to
    )
    options: dict[str, Any] = dict(
        beam=beam, nbest=nbest, sample=sample, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed,
        prefix=prefix, no_repeat_ngram=no_repeat_ngram, length_penalty=length_penalty, alpha=alpha,
        max_ratio=max_ratio, max_extra=max_extra, split=split, protect=protect, truecase=truecase, warnings=warnings,
        scores=as_json or nbest > 1,
    )  # fmt: skip
    if not text and input_file is None and sys.stdin.isatty():
        options["look_ahead"] = 1
    shape = partial(shaped, nbest=nbest, as_json=as_json, pairs=pairs)
    if output is None or input_file is None:
        texts = text or (standard_input() if input_file is None else regard.read_lines(input_file))
        answer(translator, texts, options, lambda *found: print(shape(*found), flush=True), len(text) or None)
        return
    made_by = {
        "model": list(map(stamp, models)), "text": stamp(input_file), "options": {**options, "to": to}, "form": [as_json, pairs],
    }  # fmt: skip
    with GrowingFile(output, made_by) as file:
        if file.lines:
            say(f"regard: {file.part} has {file.lines:,} line(s) already; going on behind them")
        texts = islice(regard.read_lines(input_file), file.lines, None)
        answer(translator, texts, options, lambda *found: file.add(shape(*found)))
        file.finish()


def check_files(text: list[str], input_file: Path | None, output: Path | None, nbest: int, as_json: bool) -> None:
    """Refuse files that contradict each other."""
    if text and input_file is not None:
        raise UsageError("give texts or --input FILE, not both")
    if output is not None and input_file is None:
        raise UsageError(
            "--output goes with --input FILE: only what a file holds, line by line, can be resumed; or write `> FILE`"
        )
    if output is not None and nbest > 1 and not as_json:
        raise UsageError("several outputs per line cannot be resumed; add --json, which is one line for each")


def stamp(name: str | Path) -> list[Any]:
    """Of a model or a file, what tells that it is still the same."""
    path = find_model(name) if isinstance(name, str) else name
    try:
        return [str(name), path.stat().st_size, path.stat().st_mtime_ns]
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None


def answer(
    translator: regard.Translator,
    texts: Iterable[str],
    options: dict[str, Any],
    write: Callable[[str, regard.Translation], None],
    total: int | None = None,
) -> None:
    """Each text with its translation, and at the end what is to be said of them."""
    cut, doubted, waiting = 0, Doubted(), deque[str]()

    def read() -> Iterator[str]:
        for text in texts:
            waiting.append(text)
            yield text

    for translation in counted(translator.stream(read(), **options), "Translating", total):
        cut += translation.finish_reason == "length"
        doubted.count(translation)
        write(waiting.popleft(), translation)
    if cut:
        say(f"regard: {cut} output(s) reached the length limit; see --max-ratio")
    for line in doubted.lines():
        say(f"regard: {line}")


class Doubted:
    """What speaks against outputs, counted, with the first few lines of each kind."""

    SHOWN = 3

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.first: dict[str, list[str]] = {}
        self.number = 0

    def count(self, translation: regard.Translation) -> None:
        self.number += 1
        first = {each.reason: each.text for each in reversed(translation.warnings or ())}
        for reason, text in first.items():
            self.counts[reason] += 1
            shown = self.first.setdefault(reason, [])
            if len(shown) < self.SHOWN:
                shown.append(f"{self.number} ({text[:40]})")

    def lines(self) -> list[str]:
        """For people."""
        return [
            f"{count} of {self.number} output(s) {reason}: line {', '.join(self.first[reason])}"
            + (" …; --json tells all" if count > self.SHOWN else "")
            for reason, count in self.counts.items()
        ]


def shaped(text: str, translation: regard.Translation, *, nbest: int, as_json: bool, pairs: bool) -> str:
    """One line, or one for each of the n best."""
    if as_json:
        return json.dumps(translation.to_dict() | ({"source": text} if pairs else {}), ensure_ascii=False)
    if nbest > 1:
        alternatives = enumerate(translation.alternatives, start=1)
        return "\n".join(f"{rank}\t{each.score:.4f}\t{each.text}" for rank, each in alternatives)
    return "\t".join(" ".join(side.split()) for side in (text, translation.text)) if pairs else translation.text
