"""`regard view` and `curve`: see through a model, and how it learned."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from regard.commands.app import Beam, EngineName, Int8, ModelName, Shortlist, app, errors, load_for_many, refuse_foreign
from regard.errors import UsageError

LARGE = 20  # megabytes: worth a word


@app.command(
    epilog="Examples: `regard view demo 'Ich habe Hunger.' -o attention.html`, `regard view runs/x -o movie.html`"
)
def view(
    model: ModelName,
    text: Annotated[str | None, typer.Argument(help="What to look at. [a sentence of the run's movie]")] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write a page.")] = None,
    beam: Beam = None,
    engine: EngineName = "native",
    int8: Int8 = False,
    shortlist: Shortlist = False,
) -> None:
    """See through a model: one self-contained HTML page, or in the terminal.

    Of a translation: every attention weight of the very text that `translate` writes with the same options, and of a run
    that filmed them (`training.probes`) how they formed. Of a classifier: which words decided. Of a language model: what it
    looked back at, and what else might have come.
    """
    from regard.checkpoint import find_model, task_of
    from regard.data.progress import progress
    from regard.tasks.translation.movie_file import load_movie
    from regard.tasks.translation.page import write_page
    from regard.tasks.translation.terminal import draw
    from regard.view.document import check_name

    if output is not None:
        check_name(output)
    if (task := task_of(model)) != "translate":
        refuse_foreign(
            model, task, {"--beam": beam, "--engine": engine != "native", "--int8": int8, "--shortlist": shortlist}
        )
        if text is None:
            raise UsageError(
                f"say what to look at: regard view {model} 'some text'; regard curve shows how a run learned"
            )
        if task == "text-classification":
            from regard.commands.classifying import view_classifier

            view_classifier(model, text, output)
        else:
            from regard.commands.generating import view_language

            view_language(model, text, output)
        return
    movie = load_movie(find_model(model).parent)
    if text is None and movie is None:
        raise UsageError(
            f"say what to look at: regard view {model} 'some text'. ({model} has no movie to take it from.)"
        )
    text = text if text is not None else str(movie["probes"][0]["source"]["text"]) if movie else ""
    translator = load_for_many(model, engine, int8, shortlist, workers=1)
    with progress() as bar:
        seen = list(bar.track(translator.attentions(text, beam=beam), description="Looking"))
    if len(seen) > 1:
        errors.print(
            f"regard: the text is longer than the {translator.longest} pieces this model was trained for; "
            f"it is shown in {len(seen)} parts, split at sentence ends where there are any",
            highlight=False, soft_wrap=True,
        )  # fmt: skip
    if output is None:
        for number, each in enumerate(seen):
            if number:
                print()
            draw(each, Console())
    else:
        write_page(output, seen, movie)
        size = output.stat().st_size / 1e6
        print(f"wrote {output}" if size < LARGE else f"wrote {output} ({size:.0f} MB)")


@app.command(epilog="Examples: `regard curve runs/x`, `regard curve runs/x runs/y -o curve.html`")
def curve(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, also of runs that still train.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write a page.")] = None,
) -> None:
    """How runs learned: losses and scores over updates and time, as a table or side by side on one page."""
    from regard.view.curve import draw_curves, load_curve, write_curves

    curves = [load_curve(run) for run in runs]
    if output is None:
        draw_curves(curves, Console())
        return
    write_curves(output, curves, shlex.join(["regard", *sys.argv[1:]]))
    print(f"wrote {output}")
