"""`regard bench`: a group of verbs; tests/bench measures."""

from __future__ import annotations

from pathlib import Path

from tests.commands.calling import fail, succeed


def test_help_shows_an_example() -> None:
    assert "regard bench layers -o layers.html" in succeed("bench", "--help").out
    assert "regard bench layers --lengths" in succeed("bench", "layers", "--help").out


def test_what_was_written_is_said(tmp_path: Path) -> None:
    sizes = ("--lengths", "4,8", "--widths", "8,16", "--heads", 2, "--repeats", 1, "--threads", 1)
    page, numbers = tmp_path / "page.html", tmp_path / "deep" / "numbers.json"
    answer = succeed("bench", "layers", *sizes, "-o", page, "--json", numbers)
    assert answer.err == f"wrote {numbers}\nwrote {page}\n"
    assert "regard bench layers --lengths 4,8" in page.read_text(encoding="utf-8")
    assert "the numbers alone can be had as JSON" in fail("bench", "layers", *sizes, "-o", tmp_path / "page.png")
