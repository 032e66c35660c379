"""Run the cells of a lesson one after the other, as a notebook does, and keep what they print and show."""

from __future__ import annotations

import ast
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import RegardError, UsageError
from regard.learn.lesson import Cell, Lesson, Prose
from regard.learn.progress_file import spoken


@dataclass(frozen=True)
class Ran:
    """A cell, and what came of it."""

    cell: Cell
    printed: str
    shown: Any = None
    """The value of its last line, if that is an expression: a notebook shows it."""

    @property
    def code(self) -> str:
        return self.cell.code

    @property
    def text(self) -> str:
        """All as text; a figure tells its title."""
        shown = "" if self.shown is None else f"{self.shown!r}\n"
        return self.printed + shown


def run_lesson(lesson: Lesson, folder: Path) -> Iterator[Prose | Ran]:
    """The lesson's prose as it is, and each cell once it ran; what cells write goes into the folder.

    Cells run in this process: a lesson is trusted like any Python file that somebody runs.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for part in lesson.parts:
        if isinstance(part, Prose):
            yield part
        else:
            count += 1
            yield _run(lesson, part, count, names, folder)


def _run(lesson: Lesson, cell: Cell, count: int, names: dict[str, Any], folder: Path) -> Ran:
    printed = io.StringIO()
    before = spoken.set(lesson.language)
    try:
        with inside(folder), redirect_stdout(printed):
            shown = _execute(cell, f"{lesson.name}.md", names)
    except (Exception, SystemExit) as error:
        if isinstance(error, RegardError):
            raise
        line = _line_of(error, f"{lesson.name}.md")
        where = f"lesson {lesson.name}, cell {count}{f', line {line} of the file' if line else ''}"
        said = error.msg if isinstance(error, SyntaxError) else error
        raise UsageError(f"{where}: {type(error).__name__}: {said}") from error
    finally:
        spoken.reset(before)
    return Ran(cell, printed.getvalue(), shown)


def _execute(cell: Cell, file: str, names: dict[str, Any]) -> Any:
    """Run a block; the value of its last line if that is an expression without `;` after it."""
    tree = ast.parse("\n" * (cell.line - 1) + cell.code, file)  # so that its lines are those of the file
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(compile(tree, file, "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), file, "exec"), names)
    return eval(compile(ast.Expression(last.value), file, "eval"), names)


def _line_of(error: BaseException, file: str) -> int:
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno or 0
    trace, line = error.__traceback__, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    """With a folder as the working directory."""
    before = Path.cwd()
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        sys.stdout.flush()
