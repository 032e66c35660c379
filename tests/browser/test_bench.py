"""The page of a bench in a browser: its numbers and sentences in two languages, on a phone and in the dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

import regard
from tests.bench.claims import MADE
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, attributes, fits, texts


@pytest.fixture(scope="module")
def found() -> regard.Measured:
    return MADE["scaling"]()


@pytest.fixture(scope="module")
def bench_page(found: regard.Measured, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "bench.html"
    found.write(path, "regard bench scaling")
    return path


def test_every_number_has_its_place(open_page: Open, bench_page: Path, found: regard.Measured) -> None:
    page = open_page(bench_page)
    expect(page.locator(".seen [lang=en]").last).to_have_text(found.reading[0])
    expect(page.locator(".panel")).to_have_count(len(found.panels))
    for place, panel in enumerate(found.panels):
        at = f".panel >> nth={place} >> "
        expect(page.locator(f"{at}.reading [lang=en]")).to_have_text(panel.reading[0])
        assert texts(page, f"{at}tbody td") == [panel.shown(value) for line in panel.lines for value in line.values]
        assert len(attributes(page, f"{at}circle", "cy")) == len(panel.lines) * len(panel.places)
    # The variance that grows is drawn from low to high, in a colour of its own.
    heights = [float(each) for each in attributes(page, ".panel >> nth=0 >> g.series-0 circle", "cy")]
    assert heights == sorted(heights, reverse=True)
    colours = page.locator(".panel >> nth=0 >> figure .line").evaluate_all(
        "(all) => all.map((each) => getComputedStyle(each).stroke)"
    )
    assert len(set(colours)) == len(found.panels[0].lines)


def test_it_speaks_one_language_of_two(open_page: Open, bench_page: Path, found: regard.Measured) -> None:
    page = open_page(bench_page)
    for language, other, reading in (("ko", "en", found.reading[1]), ("en", "ko", found.reading[0])):
        page.locator(f".languages [lang={language}]").click()
        expect(page.locator(f".seen [lang={language}]").last).to_be_visible()
        expect(page.locator(f".seen [lang={language}]").last).to_have_text(reading)
        assert page.locator(f"[lang={other}]:not(button):visible").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(open_page: Open, bench_page: Path, scheme: str) -> None:
    page = open_page(bench_page, color_scheme=scheme, **NARROW)
    assert fits(page)
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert ink != paper
    assert attributes(page, "figure svg", "aria-label")[0] == "Variance of the scores"
