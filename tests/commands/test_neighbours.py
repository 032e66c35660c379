"""`regard neighbours`: a list, JSON, a map; tests/tasks/test_neighbours.py asks whether they are the nearest."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.commands.calling import ROOT, fail, succeed


def test_a_list_or_json_and_a_map(tmp_path: Path) -> None:
    page = tmp_path / "words.html"
    answer = succeed("neighbours", "demo", "father", "three", "--count", 3, "--page", page)
    assert answer.lines[:3] == ["father", "  0.475  mother", "  0.428  grandfather"]
    assert answer.err == f"wrote {page}\n"
    written = page.read_text(encoding="utf-8")
    assert '"labels":["father","three"]' in written
    assert '"kind":"words"' in written
    (tmp_path / "text.txt").write_text("Die Mutter, der Hund.\n", encoding="utf-8")
    answer = succeed(
        "neighbours", "demo", "Vater", "--side", "source", "--words", tmp_path / "text.txt", "--count", 2, "--json"
    )
    found = json.loads(answer.out)
    assert found["words"] == 4
    assert [each["word"] for each in found["found"][0]["neighbours"]] == ["Mutter", "Hund"]
    assert "not among the 4 words that were compared (source)" in answer.err


def test_models_of_other_tasks(moods: Path, rhymes: Path) -> None:
    assert len(succeed("neighbours", moods, "wonderful").lines) == 11
    assert len(succeed("neighbours", rhymes, "whale", "고래", "--count", 2).lines) == 6


def test_mistakes(moods: Path, tmp_path: Path) -> None:
    assert "a word is wanted" in fail("neighbours", "demo", " ")
    assert "cannot read" in fail("neighbours", "demo", "father", "--words", tmp_path / "x")
    assert "should end in .html" in fail("neighbours", "demo", "father", "--page", tmp_path / "x")
    assert "--side is of the task 'translation'" in fail("neighbours", moods, "wonderful", "--side", "source")


def test_the_docs_show_what_it_prints() -> None:
    page = (ROOT / "docs" / "embed.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\$ regard (neighbours .*)\n((?:(?!\$|```).*\n)+)", page, re.MULTILINE)
    assert len(shown) == 2
    for command, output in shown:
        told, wanted = (text.split() for text in (succeed(*shlex.split(command)).out, output))
        for one, other in zip(told, wanted, strict=True):
            assert one == other or float(one) == pytest.approx(float(other), abs=0.0011)  # the last digit is rounded
