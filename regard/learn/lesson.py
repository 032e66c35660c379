"""A lesson: a markdown file whose Python blocks are its cells, as Jupytext and every repository page read it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import NamedTuple

from regard.errors import UsageError

LANGUAGES = ("en", "ko")
NAMES = (
    "01-a-store-that-answers-softly", "02-scaled-dot-product", "03-who-looks-at-whom", "04-many-heads",
    "05-order", "06-the-bottleneck", "07-what-it-costs", "08-train-it",
    "09-encoder-alone-decoder-alone", "10-pictures",
)  # fmt: skip
"""The lessons in their order; a file of this name lies below `lessons/` for each language."""
FENCE = re.compile(r"^```(\w*)\n(.*?)^```\n?", re.MULTILINE | re.DOTALL)
CHECK = re.compile(r"\bcheck\(\s*\"(\d+\.\d+)\"")


class Cell(NamedTuple):
    """A block of Python."""

    code: str
    line: int
    """Of the file, on which it begins; from 1."""


class Prose(NamedTuple):
    """Markdown between cells."""

    text: str

    @property
    def code(self) -> str:
        """None of it."""
        return ""


@dataclass(frozen=True)
class Lesson:
    """One lesson in one language."""

    name: str
    """Of its file, without the ending."""
    language: str
    text: str

    @property
    def number(self) -> int:
        return int(self.name.partition("-")[0]) if self.name[:2].isdigit() else 0

    @cached_property
    def title(self) -> str:
        """Its first heading."""
        found = re.search(r"^# (.+)$", self.text, re.MULTILINE)
        return found[1].strip() if found else self.name

    @cached_property
    def parts(self) -> tuple[Cell | Prose, ...]:
        return tuple(_parts(self.text))

    @property
    def cells(self) -> list[Cell]:
        return [part for part in self.parts if isinstance(part, Cell)]

    @property
    def exercises(self) -> list[str]:
        """The names of its exercises, such as `3.1`, in their order."""
        return [name for cell in self.cells for name in CHECK.findall(cell.code)]


def _parts(text: str) -> Iterator[Cell | Prose]:
    """Fenced blocks of other languages stay part of the prose."""
    end = 0
    for found in FENCE.finditer(text):
        if found[1] != "python":
            continue
        if before := text[end : found.start()].strip("\n"):
            yield Prose(before)
        yield Cell(found[2], text[: found.start()].count("\n") + 2)
        end = found.end()
    if after := text[end:].strip("\n"):
        yield Prose(after)


def find_lesson(number: int, language: str) -> Lesson:
    """A lesson of the course."""
    if not 1 <= number <= len(NAMES):
        raise UsageError(f"there is no lesson {number}; the course has lessons 1 to {len(NAMES)}")
    if language not in LANGUAGES:
        raise UsageError(f"the course is written in {' and '.join(LANGUAGES)}, not in {language!r}")
    name = NAMES[number - 1]
    file = files("regard.learn") / "lessons" / language / f"{name}.md"
    return Lesson(name, language, file.read_text(encoding="utf-8"))
