"""What the pages say is so: their Python runs, their commands exist, their links lead somewhere."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from regard import cli

ROOT = Path(__file__).parent.parent
PAGES = sorted(path for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "regard").rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, *languages: str) -> list[tuple[int, str]]:
    """The fenced blocks of a page in some languages, each with the line it starts on."""
    text = path.read_text(encoding="utf-8")
    return [
        (text[: found.start()].count("\n") + 2, found[2]) for found in FENCE.finditer(text) if found[1] in languages
    ]


LESSONS = ROOT / "regard" / "learn" / "lessons"  # tests/course runs their cells


@pytest.mark.parametrize(
    "path", [path for path in PAGES if blocks(path, "python") and not path.is_relative_to(LESSONS)], ids=name_of
)
def test_python_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for line, block in blocks(path, "python"):
        exec(compile("\n" * (line - 1) + block, str(path), "exec"), names)


def commands(text: str) -> Iterator[list[str]]:
    """The words after each `regard` that is a command: first in a line or pipe, or after `-m`."""
    for line in text.replace("\\\n", " ").splitlines():
        words = list(shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars=True))
        for number, word in enumerate(words):
            if word == "regard" and (number == 0 or words[number - 1] in ("|", "&&", ";", "-m")):
                following = words[number + 1 :]
                end = next((place for place, each in enumerate(following) if set(each) <= set("|&;<>")), len(following))
                yield following[:end]


COMMANDS = [
    pytest.param(words, id=f"{name_of(path)}: {' '.join(words)}")
    for path in PAGES
    for language in ("sh", "bash", "console")
    for _, block in blocks(path, language)
    for words in commands(
        "\n".join(line for line in block.splitlines() if language != "console" or line.startswith("$ "))
    )
]


def test_there_are_commands_to_check() -> None:
    assert len(COMMANDS) > 10
    found = list(commands("a | regard score x # regard y\ntorchrun -m regard train 'x y' --set a=b > regard\n"))
    assert found == [["score", "x"], ["train", "x y", "--set", "a=b"]]


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_and_their_options_exist(words: list[str]) -> None:
    verbs: dict[str, Any] = typer.main.get_command(cli.load_verbs()).commands  # type: ignore[attr-defined]
    verb, *rest = words
    if verb.startswith("-"):
        return
    assert verb in verbs, f"there is no verb {verb!r}"
    command = verbs[verb]
    if hasattr(command, "commands") and rest and not rest[0].startswith("-"):  # a group of verbs, such as bench
        assert rest[0] in command.commands, f"regard {verb} has no {rest[0]}"
        command = command.commands[rest[0]]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)} | {
        "--help",
        "-h",
    }
    given = {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)}
    assert given <= known, f"regard {verb} has no {', '.join(sorted(given - known))}"


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_lead_somewhere(path: Path) -> None:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    missing = [
        link
        for link in links
        if not re.match(r"[a-z]+:|#", link) and not (path.parent / link.partition("#")[0]).exists()
    ]
    assert not missing, f"{name_of(path)} links to what is not there: {', '.join(missing)}"


# What the notes say, and how to see it

CLAIMS = [ROOT / "docs" / "claims.md", ROOT / "docs" / "claims.ko.md"]


def claims(path: Path) -> dict[int, list[str]]:
    """By the number of its row, the lines that show a claim: of Python, or one command."""
    rows = re.findall(r"^\| (\d+) \|(.+)\|$", path.read_text(encoding="utf-8"), re.MULTILINE)
    cells = {int(number): row.split(" | ") for number, row in rows}
    assert all(len(each) == 3 and all(map(str.strip, each)) for each in cells.values())
    assert list(cells) == list(range(1, len(rows) + 1))
    return {number: re.findall(r"`([^`]+)`", lines) for number, (_, lines, _) in cells.items()}


def is_command(lines: list[str]) -> bool:
    return lines[0].startswith(("regard ", "python "))


def test_claims_are_shown_alike_in_both_languages() -> None:
    english, korean = map(claims, CLAIMS)
    assert english == korean
    assert blocks(CLAIMS[0], "python")[0][1] == blocks(CLAIMS[1], "python")[0][1]
    shown = [lines for lines in english.values() if lines]
    assert len(shown) >= 40
    assert all(len(lines) <= (1 if is_command(lines) else 3) for lines in shown)


def test_the_python_of_claims_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ((_, setup),) = blocks(CLAIMS[0], "python")
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(setup, str(CLAIMS[0]), "exec"), names)
    for number, lines in claims(CLAIMS[0]).items():
        if lines and not is_command(lines):
            exec(compile("\n".join(lines), f"{CLAIMS[0]}, row {number}", "exec"), names)


@pytest.mark.parametrize(
    "words",
    [words for lines in claims(CLAIMS[0]).values() if lines and is_command(lines) for words in commands(lines[0])],
    ids=" ".join,
)
def test_the_commands_of_claims_exist(words: list[str]) -> None:
    test_commands_and_their_options_exist(words)
