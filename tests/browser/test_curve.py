"""The page of learning curves: a logarithmic axis and smoothing change how the loss is drawn, not what is read."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from regard.view.curve import load_curve, render_curves, write_curves
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, fits, until
from tests.view.test_curve import LINES, run_of


def test_the_loss_is_drawn_as_the_reader_wants(open_page: Open, tmp_path: Path) -> None:
    write_curves(tmp_path / "page.html", [load_curve(run_of(tmp_path / "a"))], "regard curve a")
    page = open_page(tmp_path / "page.html", **NARROW)
    assert page.evaluate("smoothed([4, 2, 8])") == [4, 2, 8]  # as it is
    averaged = page.evaluate("(drawing.smoothing = 0.5, smoothed([4, 2, 8]))")
    assert averaged == [4, (0.25 * 4 + 0.5 * 2) / 0.75, (0.125 * 4 + 0.25 * 2 + 0.5 * 8) / 0.875]
    assert page.evaluate("logTicksOf(0.03, 7)") == [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
    assert page.evaluate("logTicksOf(0.001, 5000)") == [0.001, 0.01, 0.1, 1, 10, 100, 1000, 10000]
    page.evaluate("drawing.smoothing = 0, drawAll()")
    page.locator("#log").scroll_into_view_if_needed()
    page.locator("#log").check()
    assert page.evaluate("drawing.log")
    page.locator("#smoothing").fill("0.9")
    assert page.evaluate("drawing.smoothing") == 0.9
    page.locator("#language-ko").click()
    assert page.locator("#log").is_checked()
    assert page.locator(".drawing").inner_text().startswith("손실을 로그 축으로")
    assert fits(page)


def test_a_page_that_follows_shows_what_is_new_and_keeps_its_place(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "page.html"

    def write(lines: int, refresh: int = 1) -> None:
        curves = [load_curve(run_of(tmp_path / "a", LINES[:lines]))]
        path.write_text(render_curves(curves, "regard curve a", refresh), encoding="utf-8")

    write(3)
    page = open_page(path, **NARROW)
    page.locator("#follow").uncheck()
    before = page.evaluate("performance.timeOrigin")
    write(5)
    page.wait_for_timeout(1500)
    assert page.evaluate("performance.timeOrigin") == before
    page.locator("#language-ko").click()
    page.locator("#log").check()
    page.locator("#smoothing").fill("0.5")
    top = page.evaluate("(scrollTo(0, document.getElementById('follow').offsetTop - 200), scrollY)")
    assert top > 0
    page.locator("#follow").check()
    updates = page.locator("#best tbody td").nth(1)
    expect(updates).to_have_text("200")
    expect(page.locator("#follow")).to_be_focused()
    write(6, refresh=0)  # nothing is to come
    expect(page.locator("#follow")).to_have_count(0)
    assert page.evaluate("runs[0].valid.length") == 2
    until(page, f"Math.abs(scrollY - {top}) < 1")
    assert page.evaluate("[drawing.log, drawing.smoothing, reader.language]") == [True, 0.5, "ko"]
    assert page.locator("#log").is_checked()
    assert page.url.endswith("#log&smoothing=0.5&lang=ko")
