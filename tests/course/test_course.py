"""The course as Python has it: its lessons, its memory, pages, copies and runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import regard
from regard.errors import UsageError
from regard.learn import curves, heatmap, link
from regard.learn.executing import Ran, run_lesson
from regard.learn.lesson import NAMES, Lesson
from regard.learn.lesson_page import render_lesson
from regard.learn.progress_file import FILE, course_folder, language_of, read_progress, remember

ONE = Lesson(
    "00-own", "en", '# Own\n\nHello *you*.\n\n```python\nprint("<b>")\nopen("made.txt", "w").close()\n1 + 1\n```\n'
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGARD_COURSE", str(tmp_path / "course"))
    monkeypatch.setenv("LC_ALL", "C")
    return tmp_path / "course"


def test_the_list_tells_what_was_solved() -> None:
    course = regard.learn()
    assert [lesson.name for lesson in course.lessons] == list(NAMES)
    assert course.lines()[0] == "1. A store that answers softly  0/5"
    assert course.check("1.2", 30)[0]
    assert regard.learn().lines()[0].endswith("1/5")
    assert regard.learn("ko").lines()[0] == "1강. 부드럽게 답하는 저장소  1/5"
    assert regard.learn().to_dict()["lessons"][0]["solved"] == ["1.2"]


def test_the_language_is_asked_remembered_or_the_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    assert language_of() == "en"
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    assert regard.learn().language == "ko"
    regard.learn("en")
    assert regard.learn().language == "en"
    with pytest.raises(UsageError, match="en and ko, not in 'de'"):
        regard.learn("de")


def test_a_damaged_memory_is_set_aside(folder: Path) -> None:
    remember(solved="1.1")
    assert set(read_progress().solved) == {"1.1"}
    (folder / FILE).write_text('{"solved": {"1.1"')
    assert not read_progress().solved
    remember(solved="1.2")
    assert set(read_progress().solved) == {"1.2"}
    assert (folder / f"{FILE}.damaged").read_text() == '{"solved": {"1.1"'
    remember(language="ko")
    assert (set(read_progress().solved), read_progress().language) == ({"1.2"}, "ko")


def test_where_the_memory_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("REGARD_COURSE")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert course_folder() == tmp_path / "regard" / "course"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert course_folder() == tmp_path / ".local/share/regard/course"


def test_a_lesson_runs_in_its_folder_and_is_escaped(tmp_path: Path) -> None:
    before = Path.cwd()
    parts = list(run_lesson(ONE, tmp_path / "there"))
    assert Path.cwd() == before
    assert (tmp_path / "there" / "made.txt").is_file()
    (ran,) = (part for part in parts if isinstance(part, Ran))
    assert (ran.printed, ran.shown, ran.text) == ("<b>\n", 2, "<b>\n2\n")
    page = render_lesson(ONE, parts)
    assert "<pre class='output'>&lt;b&gt;\n</pre><pre class='output'>2</pre>" in page
    assert "<em>you</em>" in page


def test_a_cell_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    broken = Lesson("00-own", "en", "# Own\n\n```python\nx = 1\n```\n\n```python\ny = 2\nx / 0\n```\n")
    with pytest.raises(UsageError, match="cell 2, line 9 of the file: ZeroDivisionError: division by zero"):
        list(run_lesson(broken, tmp_path))
    unread = Lesson("00-own", "en", "# Own\n\n```python\nx = 1\n```\n\n```python\ny = 2\nx = (1 + 2\n```\n")
    with pytest.raises(UsageError, match=r"cell 2, line 9 of the file: SyntaxError: '\(' was never closed$"):
        list(run_lesson(unread, tmp_path))


def test_a_copy_can_be_answered_and_run(tmp_path: Path) -> None:
    course = regard.learn("en")
    file = course.copy(1, tmp_path / "mine.md")
    with pytest.raises(UsageError, match="may hold your answers"):
        course.copy(1, file)
    start = file.read_text(encoding="utf-8").index("## Exercises")
    text = file.read_text(encoding="utf-8")[start:].replace("answer_2 = ...", "answer_2 = 60")
    file.write_text("# Mine\n" + text.replace("answer_1 = ...", "answer_1 = 0.844"), encoding="utf-8")
    said = "".join(part.text for part in course.run(file) if isinstance(part, Ran))
    assert "✓ 1.1 is solved." in said
    assert "✗ 1.2: not yet. 60 is the largest" in said
    assert set(course.solved) == {"1.1"}
    with pytest.raises(UsageError, match="lessons 1 to"):
        course.run(99)
    with pytest.raises(UsageError, match=r"a number from 1 to .* or a file"):
        course.run("mine.txt")


def test_a_notebook_holds_the_same_cells(tmp_path: Path) -> None:
    course = regard.learn("ko")
    notebook = json.loads(course.copy(2, tmp_path / "two.ipynb", notebook=True).read_text(encoding="utf-8"))
    code = ["".join(cell["source"]) + "\n" for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert code == [cell.code for cell in course.lesson(2).cells]
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    assert "부드럽게" not in code[0]
    assert "2강" in "".join(notebook["cells"][0]["source"])


def test_figures_without_matplotlib_are_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = heatmap([[0.25, 0.75]], ["a"], ["b", "c"], title="T & U")
    assert 'aria-label="T &amp; U"' in drawn.svg
    assert "0.75" in drawn.svg
    assert repr(drawn) == "[figure: T & U]"
    monkeypatch.setattr("regard.learn.figures.find_spec", lambda name: None)
    plain = curves({"a": [1.0, 2.0]}, title="T")
    assert "pip install -e '.[plot]'" in repr(plain)
    assert "[1. 2.]" in repr(plain)
    assert "image/svg+xml" not in plain._repr_mimebundle_()
    with pytest.raises(UsageError, match=r"not a tensor of shape \[2\]"):
        heatmap([1, 2])
    with pytest.raises(UsageError, match=r"no page nowhere\.html"):
        link("nowhere.html")
