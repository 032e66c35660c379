"""`regard classify`, and what `evaluate` and `view` do with a classifier."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from regard.commands.app import Json, ModelName, app, errors, standard_input
from regard.commands.evaluating import keep_apart, with_data_folder
from regard.errors import UsageError

if TYPE_CHECKING:
    from regard import Classification, Classifier
    from regard.config import LabelledText
    from regard.data.labelled import Example


@app.command(
    epilog="Examples: `regard classify runs/x 'What a film!'`, `regard classify runs/x --file in.txt > out.tsv`"
)
def classify(
    model: ModelName,
    text: Annotated[list[str] | None, typer.Argument(help="Texts; without any, lines of standard input.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", metavar="FILE", help="Texts, one per line; plain, .gz or .xz.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every label with its probability, best first.")] = False,
    as_json: Json = False,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
) -> None:
    """Label arguments, standard input or a file: one line in, one line out, as label TAB probability."""
    import regard
    from regard.allocator import keep_memory
    from regard.data.progress import progress

    if text and file is not None:
        raise UsageError("give texts or --file FILE, not both")
    keep_memory()
    classifier = regard.load(model, device, task="text-classification")
    typed = not text and file is None and sys.stdin.isatty()
    answers = (
        classifier.stream(texts_of(text, file), look_ahead=1) if typed else classifier.stream(texts_of(text, file))
    )
    cut = windowed = 0
    with progress(show=sys.stderr.isatty() and not sys.stdout.isatty()) as bar:
        line = bar.add_task("Classifying", total=len(text) if text else None)
        for answer in answers:
            cut += answer.cut
            windowed += answer.windows > 1
            print(
                json.dumps(answer.to_dict(), ensure_ascii=False) if as_json else in_a_line(answer, every), flush=typed
            )
            bar.advance(line)
    note_long(classifier.recipe.data, cut, windowed)


def texts_of(text: list[str] | None, file: Path | None) -> Iterable[str]:
    """Arguments, the lines of a file, or those of standard input."""
    from regard.data.corpus import read_lines

    return text or (read_lines(file) if file is not None else standard_input())


def in_a_line(answer: Classification, every: bool) -> str:
    """Label and probability, or of every label; an empty text has neither, but a line."""
    pairs = list(answer.probabilities.items()) if every else list(answer.probabilities.items())[:1]
    return "\t".join(f"{label}\t{probability:.4f}" for label, probability in pairs) or "\t"


def note_long(data: LabelledText, cut: int, windowed: int) -> None:
    """Say how many texts were longer than the model reads, and which setting decided what became of them."""
    read = {"first": "their beginning", "ends": "half from each end", "windows": "all of them, in windows that voted"}
    if cut or windowed:
        errors.print(
            f"regard: {cut + windowed:,} text(s) longer than data.max_tokens = {data.max_tokens:,}: "
            f'read was {read[data.long]} (data.long = "{data.long}")',
            highlight=False, soft_wrap=True, markup=False,
        )  # fmt: skip


def evaluate_classifier(
    model: str, file: Path | None, data: Path | None, as_json: bool, output: Path | None, save: bool
) -> None:
    """Accuracy, macro-F1, calibration, confusion and the worst mistakes, on the recipe's test sets or a labelled file."""
    import regard
    from regard.checkpoint import find_model, store_scores
    from regard.tasks.classification.evaluation import evaluate_labels, file_labelled_set, recipe_labelled_sets

    classifier = regard.load(model, task="text-classification")
    recipe = classifier.recipe
    sets = (
        [file_labelled_set(file, recipe)]
        if file is not None
        else recipe_labelled_sets(with_data_folder(recipe, model, data))
    )
    results, scores = {}, {}
    if output is not None:
        keep_apart((output / f"{each.name}.tsv" for each in sets), (each.path for each in sets))
    for number, test_set in enumerate(sets):
        with predictions(output, test_set.name) as write:
            tested = evaluate_labels(classifier, test_set, write)
        results[tested.name], scores[tested.name] = tested.to_dict(), tested.stored()
        if not as_json:
            print("\n".join(["", *tested.lines()] if number else tested.lines()), flush=True)
    if as_json:
        print(json.dumps(results, ensure_ascii=False, indent=1))
    if save:
        store_scores(find_model(model), scores)


@contextmanager
def predictions(folder: Path | None, name: str) -> Iterator[Callable[[Example, str, float], None] | None]:
    """Something to tell each answer to, which becomes a line `given TAB probability TAB label` of a file."""
    from regard.files import replacing

    if folder is None:
        yield None
        return
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / f"{name}.tsv") as temporary, temporary.open("w", encoding="utf-8", newline="\n") as lines:
        yield lambda example, given, confidence: print(given, f"{confidence:.4f}", example.label, sep="\t", file=lines)


def view_classifier(model: str, text: str, output: Path | None) -> None:
    """Which words a decision looked at, in the terminal or on a page."""
    import regard
    from regard.tasks.classification.page import MOST_WINDOWS, NOTE, draw_decision, write_decisions

    classifier: Classifier = regard.load(model, task="text-classification")
    seen = list(islice(classifier.looks(text), MOST_WINDOWS))
    note_long(classifier.recipe.data, int(seen[0].gap is not None), int(seen[0].windows > 1))
    if output is not None:
        write_decisions(output, seen, shlex.join(["regard", *sys.argv[1:]]))
        print(f"wrote {output}")
        return
    console = Console()
    for each in seen:
        draw_decision(each, console)
    if more := seen[-1].windows - seen[-1].window:
        console.print(Text(f"{more:,} more windows are not shown", "dim"))
    console.print(Text(NOTE[0], "dim"))
