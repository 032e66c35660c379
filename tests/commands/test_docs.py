"""`regard docs`: the site, if it was built."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest
from typer.testing import CliRunner

import regard
from regard import cli, documentation
from regard.errors import UsageError


def test_it_says_how_to_build_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documentation, "BUILT", tmp_path / "index.html")
    with pytest.raises(UsageError, match="make docs"):
        regard.docs()


def test_it_opens_what_is_there_and_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built, opened = tmp_path / "index.html", list[str]()
    built.write_text("<title>regard</title>", encoding="utf-8")
    monkeypatch.setattr(documentation, "BUILT", built)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert regard.docs() == built
    assert CliRunner().invoke(cli.load_verbs(), ["docs", "--no-open"]).output.strip() == str(built)
    assert opened == [built.as_uri()]
