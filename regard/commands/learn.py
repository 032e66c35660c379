"""`regard learn`: the course."""

from __future__ import annotations

import ast
import shutil
import subprocess
import webbrowser
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markdown import Markdown
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

import regard
from regard.commands.app import Json, app, print_json, say

learn = typer.Typer(
    help="The course: ten lessons on attention, with exercises that are checked.",
    invoke_without_command=True,
    rich_markup_mode="markdown",
    epilog="Example: `regard learn`, then `regard learn open 1`",
)
app.add_typer(learn, name="learn")

Language = Annotated[
    str | None, typer.Option(metavar="en|ko", help="Of the lessons; it is remembered. [that of the system]")
]
Number = Annotated[int, typer.Argument(metavar="LESSON", help="Its number.")]
WORDS = {
    "en": ("lesson", "solved", "Read one with `regard learn open 1`, and take it along with `regard learn copy 1`."),
    "ko": ("강의", "푼 문제", "`regard learn open 1`로 읽고, `regard learn copy 1`로 복사해 풀어 보세요."),
}


@learn.callback()
def lessons(context: typer.Context, language: Language = None, as_json: Json = False) -> None:
    """List the lessons, and how many exercises of each were solved."""
    course = regard.learn(language)
    if context.invoked_subcommand is not None:
        return
    if as_json:
        print_json(course.to_dict())
        return
    heading, solved, then = WORDS[course.language]
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(heading)
    table.add_column(solved, justify="right")
    for line in course.lines():
        table.add_row(*(Text(cell) for cell in line.rsplit("  ", 1)))
    Console().print(table)
    say(then)


@learn.command(name="open", epilog="Example: `regard learn open 3`, or `regard learn open 3 -o lesson.html`")
def open_(
    lesson: Number,
    language: Language = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the page there, and open nothing.")
    ] = None,
) -> None:
    """Run a lesson and open it in the browser, as one page with all that its cells print and draw."""
    course = regard.learn(language)
    say(f"regard: running lesson {lesson} …")
    path = course.write(lesson, output)
    say(f"wrote {path}")
    if output is None and not webbrowser.open(path.resolve().as_uri()):
        say(f"regard: no browser was found; open {path} in one")


@learn.command(epilog="Example: `regard learn run 3`, or `regard learn run 03-who-looks-at-whom.md`")
def run(
    lesson: Annotated[str, typer.Argument(metavar="LESSON|FILE", help="Its number, or your copy of it.")],
    language: Language = None,
) -> None:
    """Run a lesson, or your copy of it, cell by cell in the terminal."""
    console = Console()
    for part in regard.learn(language).run(lesson):
        if part.code:
            console.print(Syntax(part.code, "python", background_color="default", word_wrap=True))
            console.print(Text(part.text, style="cyan"))
        else:
            console.print(Markdown(part.text))


@learn.command(epilog="Example: `regard learn copy 3`, or `regard learn copy 3 --notebook`")
def copy(
    lesson: Number,
    language: Language = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Its name. [that of the lesson, here]")
    ] = None,
    notebook: Annotated[
        bool, typer.Option("--notebook", help="A Jupyter notebook, which is opened if Jupyter is there.")
    ] = False,
) -> None:
    """Write a lesson as a file of your own, to answer its exercises in."""
    path = regard.learn(language).copy(lesson, output, notebook)
    say(f"wrote {path}")
    jupyter = shutil.which("jupyter")
    if notebook and output is None and jupyter is not None:
        subprocess.run([jupyter, "lab", str(path)], check=False)
    elif not notebook:
        say(f"Edit it, then: regard learn run {path}")


@learn.command(epilog="Example: `regard learn check 1.1 0.73`")
def check(
    exercise: Annotated[str, typer.Argument(metavar="EXERCISE", help="Such as 1.2.")],
    answer: Annotated[str, typer.Argument(metavar="ANSWER", help="A number, a list or a word.")],
    language: Language = None,
) -> None:
    """Check an answer at once; a solved exercise is remembered."""
    solved, said = regard.learn(language).check(exercise, value_of(answer))
    print(said)
    if not solved:
        raise typer.Exit(1)


def value_of(typed: str) -> Any:
    """`0.5` is a number, `[1, 2]` a list, and what is neither is a word."""
    try:
        return ast.literal_eval(typed)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return typed
