"""The page of a picture in a browser: heads can be chosen, patches pointed at, by mouse and keys; in Korean, on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import regard
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, fits
from tests.tasks.shapes import shapes, untrained


@pytest.fixture(scope="module", params=["vit", "cct"])
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> regard.PictureExplanation:
    model = regard.load(untrained(tmp_path_factory.mktemp("picture") / "model.safetensors", request.param))
    return model.look(shapes(1, 1)[0][0])


@pytest.fixture
def picture_page(seen: regard.PictureExplanation, tmp_path: Path) -> Path:
    seen.write(tmp_path / "page.html", "regard view x")
    return tmp_path / "page.html"


def caption(page: Page) -> str:
    return page.locator("figcaption").first.inner_text()


def test_point_at_a_patch_and_choose_a_head(
    open_page: Open, picture_page: Path, seen: regard.PictureExplanation
) -> None:
    page = open_page(picture_page)
    assert caption(page).startswith("what is labelled looks at: layer 2, mean")
    page.locator(".looks button").first.click()  # layer 1, mean of the heads
    page.locator(".looks button").nth(2).click()  # layer 1, head 2
    assert caption(page) == "what is labelled looks at: layer 1, head 2"
    large = page.locator("canvas").first
    large.hover(position={"x": 3, "y": 3})
    assert caption(page) == "patch 1, 1 looks at: layer 1, head 2"
    row = seen.found.weights[0, 1, seen.extra]  # of the first patch, in the first layer's second head
    assert f"{100 * row.max():.1f} %" in page.locator(".walk td").nth(5).inner_text()
    last = page.locator(".walk td").nth(8).inner_text()
    assert last == f"{seen.label} {100 * seen.probabilities[seen.label]:.1f} %"
    cell = seen.pixels.shape[0] // seen.grid
    assert f"mean {seen.pixels[:cell, :cell].mean():.1f}" in page.locator(".walk td").first.inner_text()
    query = seen.found.query_key_value[0, 0, 1, seen.extra]
    shown = page.locator(".walk td").nth(2).inner_text().replace("−", "-").split()
    assert [float(each) for each in shown if each != "…"] == pytest.approx(query[:8], abs=0.011)


def test_keys_walk_and_korean(open_page: Open, picture_page: Path) -> None:
    page = open_page(picture_page)
    page.locator("canvas").first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    assert caption(page).startswith("patch 2, 2")
    page.get_by_role("button", name="한국어").click()
    expect(page.locator(".picture-page h2").first).to_contain_text("모델이 본 그림")


def test_fits_on_a_phone(open_page: Open, picture_page: Path) -> None:
    assert fits(open_page(picture_page, **NARROW))
