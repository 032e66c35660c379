"""`regard bench`: a group of verbs; tests/bench measures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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


SMALL: dict[str, tuple[object, ...]] = {
    "scaling": ("--widths", "2,8", "--length", 8, "--sequences", 2),
    "positions": ("--width", 8, "--length", 6, "--layers", 1, "--heads", 2, "--sequences", 40),
    "gradients": ("--lengths", "2,3", "--width", 8, "--updates", 0, "--sequences", 2),
    "parameters": ("bundled:rhymes.toml", "--lengths", "2,4", "--tokens", 8, "--set", "model.heads=1"),
    "smoothing": ("--smoothings", "0,0.2", "--noises", "0,50", "--examples", 50, "--updates", 2, "--seeds", 1),
    "context": ("--lengths", "2,3", "--width", 8, "--words", 3, "--updates", 2, "--sequences", 50),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_claim_is_measured_and_written(name: str, tmp_path: Path) -> None:
    page, numbers = tmp_path / "page.html", tmp_path / "deep" / "numbers.json"
    answer = succeed("bench", name, *SMALL[name], "-o", page, "--json", numbers)
    assert answer.err == f"wrote {numbers}\nwrote {page}\n"
    report = json.loads(numbers.read_text(encoding="utf-8"))
    assert report["bench"] == name
    assert f"What you see: {report['reading']}" in answer.out
    assert f"regard bench {name}" in page.read_text(encoding="utf-8")
    assert f"Example: regard bench {name}" in succeed("bench", name, "--help").out.replace("`", "")


def test_numbers_instead_of_tables() -> None:
    answer = succeed("bench", "scaling", *SMALL["scaling"], "--json", "-")
    assert json.loads(answer.out)["settings"]["widths"] == [2, 8]
    assert not answer.err
    assert not Path("-").exists()


def test_mistakes_are_spelled_as_they_were_typed() -> None:
    assert "--smoothings takes numbers with commas" in fail("bench", "smoothing", "--smoothings", "0;1")
    assert "--noises must be at most 90, not 95" in fail("bench", "smoothing", "--noises", "5,95")
    assert "--lengths must rise" in fail("bench", "context", "--lengths", "4,2")
    assert "no recipe at none.toml" in fail("bench", "parameters", "none.toml")
    assert "none" in fail("bench", "positions", "none")
    assert "should end in .html" in fail("bench", "scaling", "-o", "page.png")
