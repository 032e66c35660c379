"""`regard translate` and `score`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.commands.app import (
    Beam,
    EngineName,
    Int8,
    Json,
    ModelName,
    Shortlist,
    SourceFile,
    TargetFile,
    Worker,
    app,
    errors,
    load_for_many,
    standard_input,
)
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard.tasks.translation.results import PairScore, Translation
    from regard.tasks.translation.translator import Translator


@app.command(epilog="Examples: `regard translate demo 'Ich habe Hunger.'`, `regard translate runs/x < in.de > out.en`")
def translate(
    model: ModelName,
    text: Annotated[list[str] | None, typer.Argument(help="Texts; without any, lines of standard input.")] = None,
    beam: Beam = None,
    nbest: Annotated[int, typer.Option(min=1, help="Outputs per line, best first, as rank, score, text.")] = 1,
    sample: Annotated[bool, typer.Option("--sample", help="Draw at random instead of searching.")] = False,
    temperature: Annotated[float, typer.Option(help="Sampling: below 1 is safer, above 1 wilder.")] = 1.0,
    top_k: Annotated[int, typer.Option(min=0, help="Sampling: only the k most probable pieces.")] = 0,
    top_p: Annotated[float, typer.Option(help="Sampling: only the most probable pieces up to this sum.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Sampling: the same seed gives the same output.")] = 0,
    prefix: Annotated[str, typer.Option(help="Text that every output begins with; an empty line stays empty.")] = "",
    no_repeat_ngram: Annotated[
        int | None, typer.Option(min=0, help="Never write a run of this many pieces twice.")
    ] = None,
    length_penalty: Annotated[
        str | None, typer.Option(metavar="NAME", help="Of a score: paper, mean or none. [recipe's]")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Strength of the paper's length penalty. [recipe's]")] = None,
    max_ratio: Annotated[float | None, typer.Option(help="Longest output as a multiple of the source …")] = None,
    max_extra: Annotated[int | None, typer.Option(help="… plus this many pieces.")] = None,
    as_json: Json = False,
    engine: EngineName = "native",
    int8: Int8 = False,
    shortlist: Shortlist = False,
    workers: Worker = 0,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
) -> None:
    """Translate arguments or standard input: one line in, one line out."""
    translator = load_for_many(model, engine, int8, shortlist, workers, device)
    options: dict[str, Any] = dict(
        beam=beam, nbest=nbest, sample=sample, temperature=temperature, top_k=top_k, top_p=top_p, seed=seed,
        prefix=prefix, no_repeat_ngram=no_repeat_ngram, length_penalty=length_penalty, alpha=alpha,
        max_ratio=max_ratio, max_extra=max_extra,
    )  # fmt: skip
    counts = {"split": 0, "length": 0}
    if not text and sys.stdin.isatty():
        options["look_ahead"] = 1
    from regard.data.progress import progress

    with progress(show=sys.stderr.isatty() and not sys.stdout.isatty()) as bar:
        line = bar.add_task("Translating", total=len(text) if text else None)
        for translation in translator.stream(text or standard_input(), **options):
            counts["split"] += translation.parts > 1
            counts["length"] += translation.finish_reason == "length"
            write_translation(translation, nbest, as_json)
            bar.advance(line)
    if counts["split"]:
        errors.print(
            f"regard: {counts['split']} text(s) longer than the {translator.longest} pieces this model was trained for "
            "were translated in parts, split at sentence ends where there are any",
            highlight=False,
        )
    if counts["length"]:
        errors.print(f"regard: {counts['length']} output(s) reached the length limit; see --max-ratio", highlight=False)


def write_translation(translation: Translation, nbest: int, as_json: bool) -> None:
    if as_json:
        print(json.dumps(translation.to_dict(), ensure_ascii=False), flush=True)
    elif nbest > 1:
        for rank, each in enumerate(translation.alternatives, start=1):
            print(f"{rank}\t{each.score:.4f}\t{each.text}")
    else:
        print(translation.text, flush=True)


@app.command(epilog="Examples: `paste in.de in.en | regard score runs/x`, `regard score runs/language 'some text'`")
def score(
    model: ModelName,
    text: Annotated[list[str] | None, typer.Argument(help="Language model: texts, instead of standard input.")] = None,
    source: SourceFile = None,
    target: TargetFile = None,
    as_json: Json = False,
) -> None:
    """How probable a model finds a text.

    Translation: `source TAB target` lines on standard input, or two files. Language model: arguments, or lines of standard
    input.
    """
    import regard
    from regard.checkpoint import task_of
    from regard.data.corpus import decode_pairs
    from regard.tasks.texts import LOOK_AHEAD
    from regard.tasks.translation.evaluation import file_test_set

    if task_of(model) == "text-generation":
        from regard.commands.generating import score_text

        if source or target:
            raise UsageError("--source and --target are of translation; give the text itself, or on standard input")
        score_text(model, text, as_json)
        return
    if task_of(model) == "text-classification":
        raise UsageError(f"{model} is a classifier: regard classify --all tells how probable each label is")
    if text:
        raise UsageError("a translation is scored with its source: `source TAB target` lines, or --source and --target")

    translator = regard.load(model, task="translation")
    if source is not None and target is not None:
        given = file_test_set(source, target)
        pairs: Iterator[tuple[str, str]] = zip(given.sources, given.references, strict=True)
        place = f"{source} and {target}"
    elif source is None and target is None:
        pairs, place = decode_pairs(standard_input(), "standard input"), "standard input"
    else:
        raise UsageError("--source and --target go together")
    typed = source is None and sys.stdin.isatty()
    for found in stream_scores(translator, pairs, place, 1 if typed else LOOK_AHEAD):
        if as_json:
            print(json.dumps({**vars(found), "perplexity": found.perplexity}, ensure_ascii=False), flush=True)
        else:
            print(f"{found.log_probability:.4f}", flush=True)


def stream_scores(
    translator: Translator, pairs: Iterable[tuple[str, str]], place: str, look_ahead: int
) -> Iterator[PairScore]:
    """So many pairs at a time are computed together; one that cannot be is named by its line."""
    from regard.tasks.texts import in_blocks

    before = 0
    for block in in_blocks(pairs, look_ahead):
        try:
            found = translator.score([source for source, _ in block], [target for _, target in block])
        except UsageError:  # of one of them: those before it are answered first
            for number, pair in enumerate(block, start=before + 1):
                try:
                    yield translator.score(*pair)
                except UsageError as error:
                    raise UsageError(f"{place}, line {number}: {error}") from None
        else:
            yield from found
        before += len(block)
