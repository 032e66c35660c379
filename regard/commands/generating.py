"""`regard generate`, and what `score`, `evaluate` and `view` do with a language model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.commands.app import Json, ModelName, app, errors, standard_input
from regard.commands.evaluating import with_data_folder
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard import TextGenerator
    from regard.tasks.language_model.evaluation import Perplexity
    from regard.tasks.language_model.results import Generation, TextScore

LOOK_AHEAD = 256  # lines of standard input that are gone on with, or scored, together


@app.command(epilog="Examples: `regard generate runs/x 'Once upon a time'`, `regard generate runs/x < prompts.txt`")
def generate(
    model: ModelName,
    prompt: Annotated[
        str | None, typer.Argument(help="How the text begins; without it, each line of standard input.")
    ] = None,
    max_new_tokens: Annotated[int, typer.Option(min=1, help="How long the added text may become.")] = 200,
    temperature: Annotated[
        float, typer.Option(help="Below 1 is safer, above 1 wilder; 0: the most probable token each time.")
    ] = 0.8,
    top_k: Annotated[int, typer.Option(min=0, help="Only the k most probable tokens; 0: all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Only the most probable tokens up to this sum.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same text.")] = 0,
    stop: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="End before this. Repeatable; \\n is the end of a line.")
    ] = None,
    no_repeat_ngram: Annotated[int, typer.Option(min=0, help="Never write a run of this many tokens twice.")] = 0,
    count: Annotated[int, typer.Option(min=1, help="Texts for each prompt, with seeds that follow each other.")] = 1,
    as_json: Json = False,
    most: Annotated[int | None, typer.Option(min=1, hidden=True, help="--max-new-tokens, as it was called.")] = None,
) -> None:
    """Go on with a text, token by token as it is written; without any prompt, begin one.

    Of standard input, each line is a prompt and becomes one line: line ends inside an answer become spaces.
    """
    import regard
    from regard.tasks.language_model.results import GenerationOptions

    writer = regard.load(model, task="text-generation")
    options: Any = dict(
        max_new_tokens=most or max_new_tokens, temperature=temperature, top_k=top_k, top_p=top_p,
        no_repeat_ngram=no_repeat_ngram,
        stop=[each.replace("\\n", "\n") for each in stop or ()],
    )  # fmt: skip
    GenerationOptions.of(options)  # which refuses what cannot be, before anything is written
    seeds = range(seed, seed + count)
    if prompt is None and not sys.stdin.isatty():
        write_lines(writer, standard_input(), seeds, as_json, options)
        return
    for number, each in enumerate(seeds):
        if as_json:
            write_json(writer.generate(prompt or "", seed=each, **options), each)
            continue
        if number:
            print("\n---")
        print(prompt or "", end="", flush=True)
        found = writer.generate(
            prompt or "", seed=each, on_text=lambda text: print(text, end="", flush=True), **options
        )
        print(flush=True)
        if not number:
            note_cut(writer, int(found.cut))


def write_lines(
    writer: TextGenerator, prompts: Iterable[str], seeds: range, as_json: bool, options: dict[str, Any]
) -> None:
    """One line out for each line in, or as many as there are seeds."""
    from regard.data.progress import progress
    from regard.tasks.texts import in_blocks

    prompts_read = cut = 0
    with progress(show=sys.stderr.isatty() and not sys.stdout.isatty()) as bar:
        task = bar.add_task("Generating", total=None)
        for block in in_blocks(prompts, LOOK_AHEAD):
            samples = [writer.generate(block, seed=seed, **options) for seed in seeds]
            for of_prompt in zip(*samples, strict=True):
                for seed, found in zip(seeds, of_prompt, strict=True):
                    if as_json:
                        write_json(found, seed)
                    else:
                        print(" ".join(f"{found.prompt}{found.text}".split("\n")), flush=True)
                prompts_read, cut = prompts_read + 1, cut + of_prompt[0].cut
                bar.advance(task)
    if not prompts_read:
        errors.print(
            "regard: there was no prompt on standard input; '' as prompt lets the model begin by itself",
            highlight=False, soft_wrap=True,
        )  # fmt: skip
    note_cut(writer, cut)


def note_cut(writer: TextGenerator, cut: int) -> None:
    """Say how many prompts were longer than what the model looks back at."""
    if cut:
        errors.print(
            f"regard: {cut:,} prompt(s) longer than the {writer.context} pieces that this model looks back at: "
            "only the end was read",
            highlight=False, soft_wrap=True,
        )  # fmt: skip


def write_json(found: Generation, seed: int) -> None:
    print(json.dumps({**found.to_dict(), "seed": seed}, ensure_ascii=False), flush=True)


def score_text(model: str, text: list[str] | None, as_json: bool) -> None:
    """`score` of a language model: log-probability and perplexity per word of texts, or of lines of standard input."""
    import regard
    from regard.tasks.texts import in_blocks

    writer = regard.load(model, task="text-generation")
    typed = not text and sys.stdin.isatty()
    for block in in_blocks(text or standard_input(), 1 if typed else LOOK_AHEAD):
        for found in writer.score(block):
            if as_json:
                print(json.dumps(found.to_dict(), ensure_ascii=False), flush=True)
            elif text is not None and len(text) == 1 and sys.stdout.isatty():
                draw_score(found)
            else:
                print(f"{found.log_probability:.4f}\t{found.perplexity:.2f}", flush=True)


def draw_score(found: TextScore) -> None:
    """Each piece with its probability, for one text in a terminal."""
    import math

    from regard.tasks.language_model.page import share

    table = Table(box=None, pad_edge=False, header_style="dim")
    for name in ("piece", "probability", "rank", "log-probability"):
        table.add_column(name, justify="left" if name == "piece" else "right")
    for token, own, rank in zip(found.tokens, found.token_log_probabilities, found.ranks, strict=True):
        table.add_row(Text(token), share(math.exp(own)), f"{rank:,}", f"{own:.3f}")
    console = Console()
    console.print(table)
    words, pieces = f"{found.words:,} words and line ends", f"{len(found.tokens):,} pieces"
    console.print(
        f"log-probability {found.log_probability:.4f}; perplexity {found.perplexity:.2f} per word ({words}), "
        f"{found.piece_perplexity:.2f} per piece ({pieces})",
        highlight=False,
    )


def evaluate_language(
    model: str, file: Path | None, data: Path | None, as_json: bool, save: bool, stride: int | None
) -> None:
    """`evaluate` of a language model: perplexity of the recipe's test sets, else its validation text, or of a file."""
    import regard
    from regard.checkpoint import find_model, store_scores

    path = find_model(model)
    writer = regard.load(model, task="text-generation")
    results = {}
    for name, lines in texts_of(writer, model, file, data):
        found = measured(writer, name, lines, stride)
        results[name] = [found.to_dict()]
        if not as_json:
            print("\n".join(told(name, found)), flush=True)
    if as_json:
        print(json.dumps(results, ensure_ascii=False, indent=1))
    if save:
        store_scores(path, results)


def texts_of(
    writer: TextGenerator, model: str, file: Path | None, data: Path | None
) -> Iterator[tuple[str, Iterator[str]]]:
    """Names and lines of what is evaluated."""
    from regard.data.plain import documents_in, read_documents

    if file is not None:
        yield file.name, documents_in(file, writer.recipe.data)
        return
    recipe = with_data_folder(writer.recipe, model, data)
    for name, files in (recipe.data.test or {"valid": recipe.data.valid}).items():
        yield name, read_documents(files, recipe.data)


def measured(writer: TextGenerator, name: str, lines: Iterable[str], stride: int | None) -> Perplexity:
    from regard.data.progress import progress
    from regard.tasks.language_model.evaluation import measure

    with progress() as bar:
        task = bar.add_task(f"Reading {name}", total=None)
        found = measure(
            writer.model, writer.tokenizer, writer.recipe.data, lines, stride, lambda pieces: bar.advance(task, pieces)
        )
    if not found.pieces:
        raise UsageError(f"{name} holds no text")
    return found


def told(name: str, found: Perplexity) -> Iterator[str]:
    """The result for people."""
    yield f"{name} ({found.lines:,} lines, {found.words:,} words with the lines' ends, {found.pieces:,} pieces)"
    yield f"  perplexity {found.per_word:.2f} per word, {found.per_piece:.2f} per piece"
    yield f"  {found.bits_per_character:.3f} bits per character"
    if found.unknown:
        yield f"  {found.unknown:,} words are not in the vocabulary and were predicted as unknown"
    yield f"  context: {found.context}"


def view_language(model: str, text: str, output: Path | None) -> None:
    """`view` of a language model: what it expected at each place of a text, in the terminal or as a page."""
    import regard
    from regard.tasks.language_model.page import draw_writing, write_writing

    look = regard.load(model, task="text-generation").look(text)
    if output is None:
        draw_writing(look, Console())
    else:
        write_writing(output, look)
        print(f"wrote {output}")
