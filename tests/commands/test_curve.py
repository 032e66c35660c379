"""`regard curve`: as a table, or side by side on a page."""

from __future__ import annotations

from pathlib import Path

import regard
from tests.commands.calling import fail, succeed


def test_a_table_and_a_page(run: Path, rhymes: Path, tmp_path: Path) -> None:
    out = succeed("curve", run, rhymes).out
    assert all(word in out for word in ("validation bleu", "validation perplexity", "training loss"))
    page = tmp_path / "curve.html"
    assert succeed("curve", run, rhymes, "-o", page).out == f"wrote {page}\n"
    assert f"regard curve {run} {rhymes}" in page.read_text(encoding="utf-8")
    found = regard.curve(run, rhymes).to_dict()["runs"]
    assert [each["update"] for each in found] == [30, 30]


def test_mistakes(tmp_path: Path) -> None:
    assert "is not a run folder" in fail("curve", tmp_path / "none")
    assert "has no numbers yet" in fail("curve", tmp_path)
