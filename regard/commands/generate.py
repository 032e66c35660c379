"""`regard generate`: how a text goes on."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

import regard
from regard.commands.app import Device, FirstModel, Json, app, counted, models_and_texts, say, standard_input
from regard.errors import UsageError


@app.command(epilog="Examples: `regard generate runs/x 'Once upon a time'`, `regard generate runs/x < prompts.txt`")
def generate(
    model: FirstModel,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL|PROMPT", help="How the text begins; without it, each line of standard input."),
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
    device: Device = "cpu",
    most: Annotated[int | None, typer.Option(min=1, hidden=True, help="--max-new-tokens, as it was called.")] = None,
) -> None:
    """Go on with a text, token by token as it is written; without any prompt, begin one.

    Of standard input, each line is a prompt and becomes one line: line ends inside an answer become spaces. Arguments
    are models as long as they name one: several write one text, by the mean of their probabilities.
    """
    models, prompts = models_and_texts(model, arguments)
    if len(prompts) > 1:
        raise UsageError(f"one prompt at a time, not {len(prompts)}; give many as lines of standard input")
    prompt = prompts[0] if prompts else None
    writer = regard.load(models, device, task="text-generation")
    options: dict[str, Any] = dict(
        max_new_tokens=most or max_new_tokens, temperature=temperature, top_k=top_k, top_p=top_p,
        no_repeat_ngram=no_repeat_ngram,
        stop=[each.replace("\\n", "\n") for each in stop or ()],
    )  # fmt: skip
    seeds = range(seed, seed + count)
    if prompt is None and not sys.stdin.isatty():
        write_lines(writer, standard_input(), seeds, as_json, options)
        return
    for number, each in enumerate(seeds):
        if as_json:
            write_json(writer.generate(prompt or "", seed=each, **options), each)
            continue
        beginning = ("\n---\n" if number else "") + (prompt or "")
        found = write_along(writer, prompt or "", beginning, {**options, "seed": each})
        if not number:
            note_cut(writer, int(found.cut))


def write_along(
    writer: regard.TextGenerator, prompt: str, beginning: str, options: dict[str, Any]
) -> regard.Generation:
    """Each stretch of a text as it comes, after its beginning; what cannot be is refused before anything is written."""
    waiting = [beginning]

    def write(text: str) -> None:
        print("".join(waiting) + text, end="", flush=True)
        waiting.clear()

    found = writer.generate(prompt, on_text=write, **options)
    write("\n")
    return found


def write_lines(
    writer: regard.TextGenerator, prompts: Iterable[str], seeds: range, as_json: bool, options: dict[str, Any]
) -> None:
    """One line out for each line in, or as many as there are seeds."""
    prompts_read = cut = 0
    answers = writer.samples(prompts, len(seeds), seed=seeds.start, **options)
    for of_prompt in counted(answers, "Generating"):
        for seed, found in zip(seeds, of_prompt, strict=True):
            if as_json:
                write_json(found, seed)
            else:
                print(" ".join(f"{found.prompt}{found.text}".split("\n")), flush=True)
        prompts_read, cut = prompts_read + 1, cut + of_prompt[0].cut
    if not prompts_read:
        say("regard: there was no prompt on standard input; '' as prompt lets the model begin by itself")
    note_cut(writer, cut)


def note_cut(writer: regard.TextGenerator, cut: int) -> None:
    """Say how many prompts were longer than what the model looks back at."""
    if cut:
        say(
            f"regard: {cut:,} prompt(s) longer than the {writer.context} tokens that this model looks back at: "
            "only the end was read"
        )


def write_json(found: regard.Generation, seed: int) -> None:
    print(json.dumps({**found.to_dict(), "seed": seed}, ensure_ascii=False), flush=True)
