"""`regard learn`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commands.calling import call, fail, succeed


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGARD_COURSE", str(tmp_path / "course"))
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_lessons_are_listed_in_both_languages() -> None:
    assert "1. A store that answers softly" in succeed("learn").out
    assert "1강. 부드럽게 답하는 저장소" in succeed("learn", "--language", "ko").out
    assert json.loads(succeed("learn", "--json").out)["language"] == "ko", "it is remembered"
    assert "not in 'fr'" in fail("learn", "--language", "fr")


def test_an_answer_is_checked_and_remembered() -> None:
    assert succeed("learn", "check", "1.2", "30").out == "✓ 1.2 is solved.\n"
    assert succeed("learn", "check", "1.3", "[0, 1, 0, 0]").out == "✓ 1.3 is solved.\n"
    assert succeed("learn", "check", "3.1", "cross").out == "✓ 3.1 is solved.\n"
    wrong = call("learn", "check", "1.2", "60")
    assert (wrong.code, "largest value" in wrong.out) == (1, True)
    solved = json.loads(succeed("learn", "--json").out)["lessons"][0]["solved"]
    assert solved == ["1.2", "1.3"]
    assert "no exercise '1.77'" in fail("learn", "check", "1.77", "1")


def test_a_lesson_is_run_and_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "own.md").write_text("# Own\n\n```python\nprint(6 * 7)\n```\n", encoding="utf-8")
    assert "42" in succeed("learn", "run", "own.md").out
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)
    succeed("learn", "open", "1", "--language", "ko")
    page = folder / "course" / "ko" / "01-a-store-that-answers-softly.html"
    assert opened == [page.as_uri()]
    assert '<html lang="ko">' in page.read_text(encoding="utf-8")
    assert "no lesson 99" in fail("learn", "open", "99")


def test_a_long_line_of_code_is_shown_whole(folder: Path) -> None:
    (folder / "own.md").write_text(f"# Own\n\n```python\nprint(sum([{'1, ' * 60}41]))\n```\n", encoding="utf-8")
    shown = succeed("learn", "run", "own.md").out
    assert shown.count("1,") == 60
    assert "101" in shown


def test_a_copy_is_written_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "regard learn run 01-a-store-that-answers-softly.md" in succeed("learn", "copy", "1").err
    assert "may hold your answers" in fail("learn", "copy", "1")
    started: list[list[str]] = []
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    monkeypatch.setattr("subprocess.run", lambda command, check: started.append(command))
    succeed("learn", "copy", "1", "--notebook")
    assert started == [["/bin/jupyter", "lab", "01-a-store-that-answers-softly.ipynb"]]
    assert json.loads((folder / "01-a-store-that-answers-softly.ipynb").read_text(encoding="utf-8"))["nbformat"] == 4
