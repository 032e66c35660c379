"""Every cell of every lesson runs; both languages have the same cells; the words are those of the house."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

import pytest

from regard.learn.checking import all_exercises
from regard.learn.executing import Ran, run_lesson
from regard.learn.lesson import LANGUAGES, NAMES, Cell, Lesson, Prose, find_lesson
from regard.learn.lesson_page import render_lesson

ROOT = Path(__file__).parent.parent.parent
SLOW = {6, 8, 9, 10}  # lessons that take more than 10 seconds of one core
NUMBERS = range(1, len(NAMES) + 1)
FORBIDDEN = (
    "파라미터", "(?<![가-힣])질의", "혼란도", "갱신", "단어로 묶기", "쓰인 조각", "표집", "시험 문장", "대응 부트스트랩", "배율", "되돌리기",
    "test의 BLEU", "어텐션의 종류", "보이는 쪽", "받은 합", "가장 강한 곳", "주의의 몫", "찬성과 반대", "값어치", "어휘가 정함",
    r"(?<!토큰\(단어 )조각",
)  # fmt: skip


@pytest.mark.parametrize(
    "number", [pytest.param(number, marks=pytest.mark.slow if number in SLOW else ()) for number in NUMBERS]
)
def test_every_cell_runs_and_becomes_a_page(number: int, tmp_path: Path) -> None:
    lesson = find_lesson(number, "en")
    parts = list(run_lesson(lesson, tmp_path))
    ran = [part for part in parts if isinstance(part, Ran)]
    assert [each.cell for each in ran] == lesson.cells
    texts = "".join(each.text for each in ran)
    assert "nan" not in re.findall(r"\b\w+\b", texts)
    for name in lesson.exercises:
        assert f"○ {name} " in texts, f"exercise {name} does not wait for an answer"
    page = render_lesson(lesson, parts)
    assert page.count("<div class='cell'>") == len(lesson.cells)
    assert page.count("<svg") == sum(hasattr(each.shown, "svg") for each in ran) >= 1
    ids = re.findall(r'<svg.*?\bid="([^"]+)"', page, re.DOTALL)
    assert len(set(ids)) == len(ids)
    for file in re.findall(r"<p class='link'><a href='([^']+)'", page):
        assert (tmp_path / file).stat().st_size > 1_000


@pytest.mark.parametrize("number", NUMBERS)
def test_both_languages_have_the_same_cells(number: int) -> None:
    english, korean = (find_lesson(number, language) for language in LANGUAGES)
    assert [cell.code for cell in english.cells] == [cell.code for cell in korean.cells]
    assert english.text.count("\n## ") == korean.text.count("\n## ")
    assert english.text.count("\n|") == korean.text.count("\n|")
    assert [type(part) for part in english.parts] == [type(part) for part in korean.parts]


@pytest.mark.parametrize("number", NUMBERS)
def test_each_lesson_has_exercises_of_its_own(number: int) -> None:
    names = find_lesson(number, "en").exercises
    assert 3 <= len(names) <= 5
    assert names == [f"{number}.{each}" for each in range(1, len(names) + 1)]
    assert names == [name for name in all_exercises() if name.startswith(f"{number}.")]
    for language in LANGUAGES:
        lesson = find_lesson(number, language)
        assert all(f"**{name}** " in lesson.text for name in names)
        assert lesson.title.startswith(f"{number}")


@pytest.mark.parametrize("number", NUMBERS)
def test_korean_says_one_word_for_one_idea(number: int) -> None:
    text = find_lesson(number, "ko").text
    found = [word for word in FORBIDDEN if re.search(word, text)]
    assert not found, f"lesson {number} says {', '.join(found)}; KOREAN.md has the word to use"
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert not re.findall(r"[가-힣](?:어요|에요|예요|해요|죠)[.?!]", prose), "the course speaks 합니다체"


def test_the_search_for_words_finds_them() -> None:
    assert re.search(FORBIDDEN[1], "쿼리(질의)")
    assert not re.search(FORBIDDEN[1], "성질의")
    assert re.search(FORBIDDEN[-1], "조각을")
    assert not re.search(FORBIDDEN[-1], "토큰(단어 조각)")


def test_the_lessons_are_part_of_the_wheel() -> None:
    try:
        import tomllib
    except ModuleNotFoundError:
        import tomli as tomllib
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["regard"]
    files = [str(path.relative_to(ROOT / "regard")) for path in (ROOT / "regard" / "learn").rglob("*.md")]
    assert len(files) == len(LANGUAGES) * len(NAMES)
    assert all(any(fnmatch.fnmatch(file, pattern) for pattern in patterns) for file in files)


def test_the_docs_list_every_lesson() -> None:
    text = (ROOT / "docs" / "learn.md").read_text(encoding="utf-8")
    for number, name in enumerate(NAMES, 1):
        for language in LANGUAGES:
            title = find_lesson(number, language).title.partition(". ")[2]
            assert f"[{title}](../regard/learn/lessons/{language}/{name}.md)" in text


def test_only_python_blocks_are_cells() -> None:
    text = '# T\n\nprose\n\n```python\nx = 1\n```\n\n```sh\nls\n```\n\n```python\ncheck("9.1", ...)\n```\n'
    lesson = Lesson("00-x", "en", text)
    assert lesson.parts == (
        Prose("# T\n\nprose"), Cell("x = 1\n", 6), Prose("```sh\nls\n```"), Cell('check("9.1", ...)\n', 14),
    )  # fmt: skip
    assert (lesson.number, lesson.title, lesson.exercises) == (0, "T", ["9.1"])
