"""Recipes as no honest person writes them: every setting of every task with odd values, and files that are hardly TOML."""

from __future__ import annotations

import io
import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

import regard
from regard.config import recipes
from regard.config.tasks import TASKS
from regard.errors import ConfigError, RegardError
from tests.fuzz.guard import Case

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib

FILES = Path(__file__).parent.parent / "compat" / "files"
BASES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((FILES / "recipes").glob("*.toml"))}
VALUES = [
    "0", "-1", "1", "2", "3", "1000", "65536", "1000000", "100000000", "1000000000", "4294967296", "9223372036854775807",
    "9223372036854775808", "1" + "0" * 30, "0.0", "-0.0", "1e-300", "0.5", "1.0", "1e300", "-1e300", "inf", "-inf", "nan", "true", "false",
    '""', '"x"', '"3"', '"\\u001b[2J\\u202e"', '"\\u0000"', '"/"', '"../.."', '"C:\\\\x"', "[]", "[1]", "[0.5, 0.5]", "[0, 0]", '["x"]', '[""]', "[[1]]",
    "[true]", "[10, 5]", "[1000000000]", "[5, 10]", "{}", "{a = 1}", '{a = "b"}', '{"" = ["x"]}', "{a.b.c = 1}", "1979-05-27",
    "07:32:00", "1979-05-27T07:32:00Z", '"' + "x" * 100_000 + '"', "[" + "1, " * 10_000 + "1]",
]  # fmt: skip
DEEP = 50_000
TRAINING = 2**31  # bytes: what a recipe asks for in figures it may have
Expected = Literal["refused", "accepted", "either"]


def whole_files() -> dict[str, tuple[str | bytes, Expected]]:
    """What is odd about the file itself."""
    base = BASES["translation-conv"]
    return {
        "100,000 dotted keys": ("\n".join(f"a{number}.b.c = {number}" for number in range(100_000)), "refused"),
        "100,000 keys of a section": (
            f"{base}\n" + "\n".join(f"a{number} = 1" for number in range(100_000)),
            "refused",
        ),
        "100,000 sections": ("\n".join(f"[a{number}]" for number in range(100_000)), "refused"),
        "a key of 1 MB": (f"{'a' * 1_000_000} = 1", "refused"),
        "a key of 1 MB in a section": (f"{base}\n{'a' * 1_000_000} = 1", "refused"),
        "a value of 10 MB": (f'name = "{"x" * 10_000_000}"', "refused"),
        "a comment of 50 MB": (base + "\n#" + "x" * 50_000_000, "refused"),
        "a list of 1,000,000": ("task = [" + "1, " * 1_000_000 + "1]", "refused"),
        "a name of a dotted key 5,000 deep": (".".join("a" * 5_000) + " = 1", "refused"),
        "a section 5,000 deep": ("[" + ".".join("a" * 5_000) + "]", "refused"),
        "lists 50,000 deep": ("x = " + "[" * DEEP + "]" * DEEP, "refused"),
        "tables 50,000 deep": ("x = " + "{a = " * DEEP + "1" + "}" * DEEP, "refused"),
        "not UTF-8": (base.encode("utf-16"), "refused"),
        "Latin-1": (base.encode() + 'name = "gr\xfc\xdfe"'.encode("latin-1"), "refused"),
        "NUL bytes": (base.encode() + b"\0", "refused"),
        "a byte order mark": (b"\xef\xbb\xbf" + base.encode(), "accepted"),
        "CRLF": (base.replace("\n", "\r\n").encode(), "accepted"),
        "lone CR": (base.replace("\n", "\r").encode(), "refused"),
        "empty": (b"", "refused"),
        "the same key twice": (f"{base}\nthreads = 2", "refused"),
        "the same section twice": (f"{base}\n[model]", "refused"),
        "a list of sections": (f"[[model]]\nwidth = 3\n{base.split('[data]')[0]}", "refused"),
        "a section that is a number": ("model = 3\ntraining = 4", "refused"),
        "a task that is a table": ("[task]\nname = 1", "refused"),
        "escape codes": ('"\\u001b[2J" = 1\n"\\u202e" = 2', "refused"),
        "a number of 5,000 digits": ("x = " + "9" * 5_000, "refused"),
        "a date as a name": ("name = 1979-05-27", "refused"),
        "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "refused"),
        "JSON": (b'{"task": "translation"}', "refused"),
        "sections written as one key": ('"model.width" = 3', "refused"),
    }


def cases(seed: int, count: int) -> Iterator[Case]:
    odd = whole_files()
    for name, (content, expected) in odd.items():
        raw = content if isinstance(content, bytes) else content.encode()
        yield Case(f"file: {name}", _maker(raw), use, expected)
    for name, make in _no_files().items():
        yield Case(f"no file: {name}", make, use, "refused")
    for number in range(count - len(odd) - len(_no_files())):
        chance = random.Random(f"{seed} recipes {number}")
        base = chance.choice(sorted(BASES))
        text, told = BASES[base], []
        for _ in range(chance.choice((1, 1, 1, 2))):
            section, key = chance.choice(_settings(tomllib.loads(text)["task"]))
            value = chance.choice(VALUES)
            text = _set(text, section, key, value)
            told.append(f"{section}.{key} = {value[:40]}")
        yield Case(f"{number} {base} {'; '.join(told)}", _maker(text.encode()), use, room=TRAINING, seconds=60)


def honest_cases() -> Iterator[Case]:
    for name in ("classification", "language-model-rnn", "translation-transformer"):
        yield Case(name, _maker(BASES[name].encode()), use, "accepted")


def _maker(content: bytes) -> Callable[[Path], None]:
    return lambda folder: _with_data(folder, content)


def _no_files() -> dict[str, Callable[[Path], None]]:
    return {
        "a folder": lambda folder: (folder / "recipes" / "odd.toml").mkdir(parents=True),
        "a FIFO": lambda folder: _special(folder, os.mkfifo),
        "a dangling link": lambda folder: _special(folder, lambda path: path.symlink_to("nowhere")),
        "a link to itself": lambda folder: _special(folder, lambda path: path.symlink_to(path)),
        "an endless device": lambda folder: _special(folder, lambda path: path.symlink_to("/dev/zero")),
    }


def _special(folder: Path, make: Callable[[Path], Any]) -> None:
    (folder / "recipes").mkdir()
    make(folder / "recipes" / "odd.toml")


def _with_data(folder: Path, content: bytes) -> None:
    (folder / "recipes").mkdir()
    shutil.copytree(FILES / "data", folder / "data")
    (folder / "recipes" / "odd.toml").write_bytes(content)


def _settings(task: str) -> list[tuple[str, str]]:
    row = next(row for row in TASKS.values() if task in (row.name, *row.aliases))
    classes = [(name, kind) for name, kind in row.sections.items() if name != "model"]
    models = [("model", each.settings) for each in row.architectures.values()]
    return [(section, field.name) for section, kind in classes + models for field in fields(kind)] + [("", "name")]


def _set(text: str, section: str, key: str, value: str) -> str:
    """The recipe with one setting in place of what it says, written where its section begins."""
    lines, inside, written = [], "", not section
    if not section:
        lines.append(f"{key} = {value}")
    for line in text.split("\n"):
        if line.startswith("["):
            inside = line.strip("[] ")
            lines.append(line)
            if inside == section:
                lines.append(f"{key} = {value}")
                written = True
        elif not (inside == section and line.split("=")[0].strip() == key):
            lines.append(line)
    return "\n".join(lines if written else [*lines, f"[{section}]", f"{key} = {value}"])


class TwoUpdatesError(Exception):
    """Two updates were taken."""


def use(folder: Path) -> str:
    """`--dry-run`, and as nested tables in Python: both say the same; what is called sound is then trained."""
    path = folder / "recipes" / "odd.toml"
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            dry_run = regard.dry_run(path)
        except ConfigError as error:
            _refused_as_tables(path, error)
            raise
        if dry_run.mistakes:
            raise RegardError("\n".join(dry_run.mistakes))
        if any("GB" in line and "memory" in line and "has" in line for line in dry_run.lines()):
            return "\n".join(dry_run.lines())
        try:
            regard.train(path, run=folder / "run", on_update=_stop_after_two, show=False)
        except TwoUpdatesError:
            pass
        except RegardError as error:
            if isinstance(error, ConfigError):
                raise AssertionError(f"called sound, then: {error}") from error
            return f"called sound, then: {error}"
    return "\n".join(dry_run.lines())


def _refused_as_tables(path: Path, error: ConfigError) -> None:
    """A mistake in a file is one in nested tables as well; unless it is about the file, or where its data is."""
    try:
        tables = tomllib.loads(path.read_bytes().decode("utf-8")) if path.is_file() else {}
    except (ValueError, RecursionError):
        return
    about_file = any(
        word in str(error) for word in ("neither below", "would be downloaded", "largest recipe", "too large")
    )
    if not tables or about_file:
        return
    try:
        recipes.require_data(recipes.read(tables))
    except ConfigError:
        return
    if "GB" not in str(error):
        raise AssertionError(f"refused as a file only: {error}")


def _stop_after_two(facts: dict[str, Any]) -> None:
    if facts["update"] >= 2:
        raise TwoUpdatesError
