"""Lessons as pages: they fit a phone, nothing fails or is fetched, and axe finds nobody left out, in light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from regard.learn.course import Course
from regard.learn.lesson import LANGUAGES, NAMES
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, fits
from tests.browser.test_accessible import RULES, axe, violations

__all__ = ["axe"]  # the fixture

QUICK = {("en", 1)}
LONG = {6, 8, 9, 10}  # lessons that take more than ten seconds of one core: one language of them is enough
LESSONS = [
    pytest.param(language, number, marks=() if (language, number) in QUICK else pytest.mark.slow)
    for language in LANGUAGES
    for number in range(1, len(NAMES) + 1)
    if language == "ko" or number not in LONG
]


@pytest.mark.parametrize(("language", "number"), LESSONS)
def test_a_lesson_is_a_page_for_everybody(
    open_page: Open, tmp_path: Path, axe: str, language: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGARD_COURSE", str(tmp_path))
    course = Course(language)
    page = open_page(course.write(number), **NARROW)
    lesson = course.lesson(number)
    expect(page.locator("h1")).to_have_text(lesson.title)
    assert page.locator("html").get_attribute("lang") == language
    assert page.locator(".cell").count() == len(lesson.cells)
    assert fits(page)
    figures = page.locator("figure svg")
    assert figures.count() > 0
    assert all(
        box["width"] <= 360
        for box in figures.evaluate_all("all => all.map((each) => each.getBoundingClientRect().toJSON())")
    )
    for link in page.locator("p.link a").evaluate_all("all => all.map((each) => each.getAttribute('href'))"):
        assert (tmp_path / language / link).is_file()
    page.evaluate(axe)
    for scheme, rules in RULES.items():
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert violations(page, rules) == [], scheme
