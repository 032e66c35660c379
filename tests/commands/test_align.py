"""`regard align`: one line of pairs for each pair of lines; tests/tasks/test_align.py asks whether they are right."""

from __future__ import annotations

import json
from pathlib import Path

import regard
from tests.commands.calling import fail, succeed

PAIRS = [("Ich habe Hunger.", "I am hungry."), ("", ""), ("Ja.", "Yes.")]
LINES = "".join(f"{source}\t{target}\n" if source else "\n" for source, target in PAIRS).encode()

GIVEN = ("--layer", 2, "--head", 1, "--written")  # what need not be found, which takes seconds


def test_one_line_in_one_line_out(tmp_path: Path) -> None:
    answer = succeed("align", "demo", stdin=LINES)
    found = regard.align("demo", PAIRS)
    assert answer.lines == [str(each) for each in found]
    assert answer.lines[1:] == ["", "0-0"]
    assert "\n".join(f"regard: {line}" for line in found.choice.lines()) in answer.err
    for side, number in (("de", 0), ("en", 1)):
        (tmp_path / side).write_text("".join(f"{pair[number]}\n" for pair in PAIRS), encoding="utf-8")
    files = ("--source", tmp_path / "de", "--target", tmp_path / "en")
    given = succeed("align", "demo", *GIVEN, *files)
    assert given.lines == succeed("align", "demo", *GIVEN, stdin=LINES).lines
    told = [json.loads(line) for line in succeed("align", "demo", *GIVEN, "--json", stdin=LINES).lines]
    assert [[tuple(link[:2]) for link in each["links"]] for each in told][2] == [(0, 0)]


def test_where_to_look_counts_from_one() -> None:
    answer = succeed("align", "demo", *GIVEN, stdin=LINES)
    assert "looking at layer 2, head 1, when a token is written" in answer.err
    assert "agreement" not in answer.err
    assert "there is no layer 9; the model's cross-attention has layers 1 to" in fail(
        "align", "demo", "--layer", 9, stdin=LINES
    )


def test_mistakes(tmp_path: Path) -> None:
    assert "--source and --target go together" in fail("align", "demo", "--source", tmp_path / "x")
    assert "standard input, line 1 has 3 tab-separated columns" in fail("align", "demo", *GIVEN, stdin=b"a\tb\tc\n")
    unread = fail("align", "demo", stdin=b"a\tb\tc\n")
    assert "agreement" not in unread, (
        "where to look is searched, which takes seconds, only when there is something to align"
    )
