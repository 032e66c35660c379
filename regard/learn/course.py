"""`regard learn`: the lessons in their order, what was solved of them, and ways to read and run one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.errors import UsageError
from regard.files import replacing
from regard.learn.lesson import NAMES, Lesson, find_lesson
from regard.learn.progress_file import course_folder, language_of, read_progress, remember

if TYPE_CHECKING:
    from regard.learn.executing import Ran
    from regard.learn.lesson import Prose


@dataclass(frozen=True)
class Course:
    """The course in one language."""

    language: str

    @property
    def lessons(self) -> list[Lesson]:
        return [find_lesson(number, self.language) for number in range(1, len(NAMES) + 1)]

    @property
    def solved(self) -> dict[str, str]:
        """By the names of the exercises that were solved, such as `1.2`, the day."""
        return dict(read_progress().solved)

    def to_dict(self) -> dict[str, Any]:
        solved = self.solved
        return {
            "language": self.language,
            "lessons": [
                {
                    "number": lesson.number, "name": lesson.name, "title": lesson.title, "exercises": lesson.exercises,
                    "solved": [name for name in lesson.exercises if name in solved],
                }
                for lesson in self.lessons
            ],
        }  # fmt: skip

    def lines(self) -> list[str]:
        """A line for each lesson: its number, its title, and how many of its exercises were solved."""
        told = self.to_dict()["lessons"]
        return [f"{each['title']}  {len(each['solved'])}/{len(each['exercises'])}" for each in told]

    def lesson(self, lesson: int | str | Path) -> Lesson:
        """A lesson by its number, or a reader's own copy by its file."""
        if (number := _number_of(lesson)) is not None:
            return find_lesson(number, self.language)
        file = Path(str(lesson))
        if file.suffix.lower() != ".md":
            raise UsageError(f"a lesson is a number from 1 to {len(NAMES)} or a file that ends in .md, not {lesson}")
        try:
            return Lesson(file.stem, self.language, file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the lesson {file}: {error}") from None

    def run(self, lesson: int | str | Path, folder: str | Path | None = None) -> Iterator[Prose | Ran]:
        """Run a lesson cell by cell: its prose, and each cell with what it printed and shows.

        What cells write goes into the `folder`: that of a copy, else this person's folder for the course.
        """
        from regard.learn.executing import run_lesson

        beside = course_folder() / self.language if _number_of(lesson) is not None else Path(str(lesson)).parent
        return run_lesson(self.lesson(lesson), Path(folder) if folder is not None else beside)

    def write(self, lesson: int | str | Path, output: str | Path | None = None) -> Path:
        """Run a lesson and write it as a page with all that its cells printed and drew → the page's path."""
        from regard.learn.lesson_page import render_lesson
        from regard.view.document import check_name, write_document

        found = self.lesson(lesson)
        path = course_folder() / self.language / f"{found.name}.html" if output is None else Path(output)
        check_name(path)
        write_document(path, render_lesson(found, self.run(lesson, path.parent)))
        return path

    def copy(self, lesson: int, output: str | Path | None = None, notebook: bool = False) -> Path:
        """Write a lesson as a file of the reader's own, markdown or a Jupyter notebook; a file that is there is not touched."""
        from regard.learn.notebook import to_notebook

        found = find_lesson(lesson, self.language)
        path = Path(f"{found.name}.{'ipynb' if notebook else 'md'}") if output is None else Path(output)
        if path.exists():
            raise UsageError(f"{path} is there already and may hold your answers; name another file by `output`")
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(to_notebook(found) if notebook else found.text, encoding="utf-8")
        return path

    def check(self, exercise: str, answer: Any) -> tuple[bool, str]:
        """Whether an answer solves an exercise, and what to say; a solved one is remembered."""
        from regard.learn.checking import verdict
        from regard.learn.progress_file import spoken

        before = spoken.set(self.language)
        try:
            return verdict(exercise, answer)
        finally:
            spoken.reset(before)


def _number_of(lesson: int | str | Path) -> int | None:
    """`3` and `"3"` are numbers, all else names a file."""
    return int(str(lesson)) if str(lesson).isdigit() else None


def learn(language: str | None = None) -> Course:
    """The course, in English (`en`) or Korean (`ko`): as asked and remembered, else as asked before, else the system's."""
    if language is not None:
        chosen = language_of(language)
        remember(language=chosen)
        return Course(chosen)
    return Course(language_of())
