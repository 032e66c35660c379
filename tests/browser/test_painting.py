"""The page of a painted picture: it forms, words show where they count, cells show what they looked at; Korean, on a phone."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from regard.data.tokenizer import Tokenizer
from regard.tasks.text_to_image.page import PaintingAttention, look
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, fits, texts
from tests.tasks.painters import GRID, make_painter

CAPTION = "<b>Ich habe Hunger"


@pytest.fixture(scope="module")
def seen(tiny_tokenizer: Tokenizer) -> PaintingAttention:
    painter = make_painter(tiny_tokenizer)
    return look(painter, painter.paint(CAPTION, seed=1), "brush")


@pytest.fixture
def painting_page(seen: PaintingAttention, tmp_path: Path) -> Path:
    seen.write(tmp_path / "page.html", "regard view brush")
    return tmp_path / "page.html"


def test_words_and_cells(open_page: Open, painting_page: Path, seen: PaintingAttention) -> None:
    page = open_page(painting_page)
    assert texts(page, "h1") == [CAPTION]
    assert texts(page, ".word") == seen.words
    page.locator(".word").first.click()
    expect(page.locator(".word").first).to_have_attribute("aria-pressed", "true")
    heat = seen.weights.mean((0, 1))[:, 0]  # [G·G], of the first word
    assert f"{100 * heat.min():.1f} % … {100 * heat.max():.1f} %" in page.locator("#key").inner_text()
    page.locator(".cell").nth(GRID + 2).click()
    expect(page.locator("#looked h3")).to_have_text("What row 2, column 3 looked at")
    shares = [float(each.removesuffix(" %")) for each in texts(page, ".shares dd span")]
    wanted = 100 * seen.weights.mean((0, 1))[GRID + 2]
    assert shares[:-1] == pytest.approx(wanted, abs=0.06)
    assert sum(shares) == pytest.approx(100, abs=0.06 * len(shares))
    page.locator("#layer").select_option("1")
    page.locator("#head").select_option("0")
    own = [float(each.removesuffix(" %")) for each in texts(page, ".shares dd span")][:-1]
    assert own == pytest.approx(100 * seen.weights[1, 0, GRID + 2], abs=0.06)
    page.locator("#shown").select_option("leftOut")
    assert f"{seen.left_out[0].max():.2f}" in page.locator("#key").inner_text()


def test_the_picture_forms(open_page: Open, painting_page: Path, seen: PaintingAttention) -> None:
    page = open_page(painting_page)
    page.locator("#painted").fill("5")
    expect(page.locator("#count")).to_have_text(f"5 / {GRID**2}")
    drawn = page.locator("#picture").evaluate(
        "canvas => Array.from(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data)"
    )
    assert sum(value > 0 for value in drawn[3::4]) == len(drawn) // 4 * 5 // GRID**2
    assert drawn[:3] == seen.painting.pixels[0, 0].tolist()
    page.locator("#play").click()
    expect(page.locator("#count")).to_have_text(f"{GRID**2} / {GRID**2}")


def test_korean_on_a_phone(open_page: Open, painting_page: Path) -> None:
    page = open_page(painting_page, locale="ko-KR", color_scheme="dark", **NARROW)
    expect(page.locator("h2").first).to_have_text("코드 하나씩 그려지는 그림")
    assert fits(page)
    page.get_by_role("button", name="English").click()
    expect(page.locator("h2").first).to_have_text("The picture, code by code")
