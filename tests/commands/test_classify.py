"""`regard classify`, on a toy that `regard train` makes of the bundled moods."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

import regard
from regard.tasks.texts import LOOK_AHEAD
from tests.commands.calling import BAD, GOOD, LONG_REVIEW, call, fail, succeed


def test_one_line_in_one_line_out(moods: Path, tmp_path: Path) -> None:
    given = [GOOD, "", BAD, " ", "!"]
    found = regard.load(moods, task="text-classification").classify(given)
    wanted = [f"{each.label}\t{each.probabilities[each.label]:.4f}" if each.label else "\t" for each in found]
    assert succeed("classify", moods, *given).lines == wanted
    text = "".join(f"{line}\n" for line in given)
    assert succeed("classify", moods, stdin=text.encode()).lines == wanted
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    with gzip.open(tmp_path / "in.txt.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    for name in ("in.txt", "in.txt.gz"):
        assert succeed("classify", moods, "--file", tmp_path / name).lines == wanted
    assert succeed("classify", moods, "two\nlines").lines == [succeed("classify", moods, "two lines").out.rstrip("\n")]
    assert succeed("classify", moods, stdin=b"").out == ""


def test_all_labels(moods: Path) -> None:
    first, empty = succeed("classify", moods, GOOD, "", "--all").lines
    cells = first.split("\t")
    assert sorted(cells[::2]) == ["negative", "neutral", "positive"]
    assert sum(map(float, cells[1::2])) == pytest.approx(1, abs=2e-4)
    assert cells[:2] == succeed("classify", moods, GOOD).lines[0].split("\t")
    assert empty == "\t"


def test_json_is_what_python_says(moods: Path) -> None:
    classifier = regard.load(moods, task="text-classification")
    lines = succeed("classify", moods, GOOD, "", LONG_REVIEW, "--json").lines
    for line, found in zip(lines, classifier.classify([GOOD, "", LONG_REVIEW]), strict=True):
        told = json.loads(line)
        assert told.pop("probabilities") == pytest.approx(dict(found.probabilities), abs=1e-5)
        assert told == {key: value for key, value in found.to_dict().items() if key != "probabilities"}


def test_long_texts_are_counted(moods: Path) -> None:
    answer = succeed("classify", moods, LONG_REVIEW, GOOD, LONG_REVIEW)
    assert len(answer.lines) == 3
    assert '2 text(s) longer than data.max_tokens = 40: read was half from each end (data.long = "ends")' in answer.err
    assert succeed("classify", moods, GOOD).err == ""


def test_mistakes(moods: Path, tmp_path: Path) -> None:
    assert "not both" in fail("classify", moods, GOOD, "--file", tmp_path / "x")
    assert "cannot read" in fail("classify", moods, "--file", tmp_path / "x")
    assert "demo cannot classify: its task is 'translation'. Try: regard translate demo" in fail(
        "classify", "demo", GOOD
    )
    assert "cannot translate: its task is 'text-classification'. Try: regard classify" in fail("translate", moods, GOOD)
    broken = call("classify", moods, stdin=GOOD.encode() + b"\n\xff\n")
    assert broken.code == 2
    assert len(broken.lines) == 1  # what came before is answered
    assert "standard input, line 2 is not UTF-8" in broken.err


def test_a_million_lines_are_not_read_ahead(moods: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    class Lines(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            nonlocal read
            read += 1
            return GOOD.encode() + b"\n" if read <= 1_000_000 else b""

    class Pipe:
        buffer = Lines()

        def isatty(self) -> bool:
            return False

    from regard.commands.app import standard_input

    monkeypatch.setattr(sys, "stdin", Pipe())
    answers = regard.load(moods, task="text-classification").stream(standard_input())
    for _ in range(10):
        next(answers)
    assert read <= LOOK_AHEAD
