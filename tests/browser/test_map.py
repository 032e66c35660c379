"""The map in a browser: points can be pointed at, searched, walked through by keys; in Korean, on a phone, in the dark."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from regard.view.map import VectorMap
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, fits, texts

WORDS = {"mid": (0, 0), "east": (9, 0), "far east": (10, 0), "west": (-19, 0), "north": (0, 5), "south": (0, -5)}


@pytest.fixture(scope="module")
def map_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("map") / "map.html"
    drawn = VectorMap("places", "words")
    for word, (x, y) in WORDS.items():
        drawn.add(word, np.array([x, y, 1], dtype=np.float32), "cold" if word == "north" else "")
    drawn.write(path, "regard neighbours x")
    return path


def chosen(page: Page) -> str:
    return page.locator("#chosen h2").inner_text()


def test_keys_walk_from_point_to_point(open_page: Open, map_page: Path) -> None:
    page = open_page(map_page)
    page.focus("canvas")
    for key, word in (
        ("ArrowRight", "mid"), ("ArrowRight", "east"), ("ArrowRight", "far east"), ("ArrowLeft", "east"),
    ):  # fmt: skip
        page.keyboard.press(key)
        assert chosen(page) == word
    assert texts(page, ".near span")[0] == "far east"
    page.keyboard.press("Escape")
    expect(page.locator("#chosen")).to_contain_text("Nothing is chosen")


def test_search_click_and_legend(open_page: Open, map_page: Path) -> None:
    page = open_page(map_page)
    page.fill("#search", "EAST")
    expect(page.locator("#count")).to_have_text("2 found")
    page.press("#search", "Enter")
    assert chosen(page) == "east"
    page.locator(".near button").first.click()
    assert chosen(page) == "far east"
    box = page.locator("canvas").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert chosen(page) == "mid"
    button = page.locator(".legend button").first
    button.click()
    expect(button).to_have_attribute("aria-pressed", "false")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_korean_on_a_phone(open_page: Open, map_page: Path, scheme: str) -> None:
    page = open_page(map_page, locale="ko-KR", color_scheme=scheme, **NARROW)
    expect(page.locator(".sentence")).to_have_text("단어 지도")
    fits(page)
    ink = page.evaluate("""() => {
        const { width, height } = document.querySelector("canvas");
        const data = document.querySelector("canvas").getContext("2d").getImageData(0, 0, width, height).data;
        return data.some((value) => value > 0);
    }""")
    assert ink, "something is drawn"
