"""Which exercises were solved, and the language of the course: one JSON file in this person's data folder."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from filelock import FileLock

from regard.errors import UsageError
from regard.files import replacing
from regard.learn.lesson import LANGUAGES

FILE = "course.json"
spoken: ContextVar[str | None] = ContextVar("spoken", default=None)
"""The language of the lesson that is running, if one is."""


def course_folder() -> Path:
    """This person's folder for the course: REGARD_COURSE, else below the system's place for data."""
    if named := os.environ.get("REGARD_COURSE"):
        return Path(named)
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "regard/course"
        if sys.platform == "darwin":
            return Path.home() / "Library/Application Support/regard/course"
        data = os.environ.get("XDG_DATA_HOME", "")
        return (Path(data) if os.path.isabs(data) else Path.home() / ".local/share") / "regard/course"
    except RuntimeError:
        raise UsageError("there is no home folder to keep the course in; name one by REGARD_COURSE=DIR") from None


@dataclass(frozen=True)
class Progress:
    """What is remembered."""

    solved: dict[str, str] = field(default_factory=dict)
    """By the exercise's name, such as `1.2`, the day on which it was solved first."""
    language: str | None = None
    """The one that was asked for last."""


def read_progress() -> Progress:
    """What the file says. One that cannot be read counts as none, and is kept beside the new one when that is written."""
    try:
        found: Any = json.loads((course_folder() / FILE).read_text(encoding="utf-8"))
        solved = {str(name): str(day) for name, day in dict(found["solved"]).items()}
    except (OSError, ValueError, TypeError, KeyError, UsageError):
        return Progress()
    language = found.get("language")
    return Progress(solved, language if language in LANGUAGES else None)


def remember(solved: str | None = None, language: str | None = None) -> None:
    """Add to the file, whole or not at all; a folder that cannot be written to is a UsageError."""
    folder = course_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / "course.lock", timeout=10):
            _set_damaged_aside(folder / FILE)
            before = read_progress()
            today = datetime.now(timezone.utc).date().isoformat()
            now = {} if solved is None else {solved: before.solved.get(solved, today)}
            content = {"language": language or before.language, "solved": {**before.solved, **now}}
            with replacing(folder / FILE) as temporary:
                temporary.write_text(json.dumps(content, indent=1, sort_keys=True), encoding="utf-8")
    except (OSError, NotImplementedError) as error:
        raise UsageError(
            f"cannot remember the course's progress in {folder}: {error}; name another by REGARD_COURSE=DIR"
        ) from None


def _set_damaged_aside(file: Path) -> None:
    if file.is_file() and read_progress() == Progress() and file.stat().st_size:
        with suppress(OSError, ValueError):
            if json.loads(file.read_text(encoding="utf-8")).get("solved") == {}:
                return
        with suppress(OSError):
            file.replace(file.with_name(f"{FILE}.damaged"))


def language_of(asked: str | None = None) -> str:
    """The language to use: as asked, that of the running lesson, the remembered one, else the system's."""
    if asked is not None and asked not in LANGUAGES:
        raise UsageError(f"the course is written in {' and '.join(LANGUAGES)}, not in {asked!r}")
    for language in (asked, spoken.get(), read_progress().language):
        if language is not None:
            return language
    system = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "")
    return "ko" if system.lower().startswith("ko") else "en"
