"""A painter inside a page: with the same rounded weights it paints the codes that Python paints, and its page shows them."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

import regard
from regard.data.tokenizer import Tokenizer
from regard.decoding.options import Search
from regard.models.image_codes import Codebook, ImageCodes
from regard.tasks.text_to_image.captions import caption_ids
from regard.tasks.text_to_image.live_page import PROGRAM, live_page, portable
from regard.tasks.text_to_image.page import look
from regard.tasks.text_to_image.painter import Painter, Painting
from regard.view.document import document
from regard.view.portable import round_weights
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, fits, texts
from tests.tasks.painters import GRID, make_painter

CAPTIONS = ["Ich habe Hunger", "Das ist gut, <b>!", "x", "ein sehr langer Satz " * 9]
COLOURS, GARMENTS = ("red", "blue", "green", "yellow", "black", "pink"), ("boot", "bag", "shirt", "coat", "dress")
SCENES = [f"a {one} {garment} left of a {other} bag" for one, other in pairwise(COLOURS) for garment in GARMENTS[:3]] + [
    "파란 가방 왼쪽에 있는 빨간 부츠", "a green coat", "노란 셔츠", "a black dress above a pink boot", "nothing at all"
]  # fmt: skip
PAINT = """([captions, guidance]) => captions.map((caption) => {
    const { weights, ...painted } = made.paint({ caption, guidance, temperature: 0, top_p: 1, seed: 0 });
    return { ...painted, weights: [...weights.data] };
})"""


def rounded(painter: Painter) -> Painter:
    """With the very numbers that the page has."""
    changed = deepcopy(painter)
    for model in (changed.model, changed.codes):
        round_weights(model.state_dict().values())
    return changed


def greedily(painter: Painter, caption: str, guidance: float) -> Painting:
    ids, (cut,) = caption_ids([caption], painter.tokenizer, painter.model.caption_positions)
    codes = painter.write(ids, [0], guidance, Search(beam=1))
    return Painting(caption, painter.pixels(codes)[0], codes[0].numpy(), 0, cut)


@pytest.fixture(scope="module")
def brush(tiny_tokenizer: Tokenizer) -> Painter:
    return rounded(make_painter(tiny_tokenizer))


def started(open_page: Open, folder: Path, painter: Painter) -> Page:
    scripts = [name for name in PROGRAM if name != "painter_worker"]
    path = folder / "program.html"
    path.write_text(document("program", "", [], scripts, portable(painter)), encoding="utf-8")
    page = open_page(path)
    page.evaluate("() => { self.made = new PortablePainter(JSON.parse(document.getElementById('data').textContent)); }")
    return page


def same(found: dict[str, Any], wanted: Painting, painter: Painter) -> None:
    assert found["codes"] == wanted.codes.ravel().tolist()
    assert found["cut"] == wanted.cut
    assert found["pixels"]["shape"] == list(wanted.pixels.shape)
    assert np.abs(np.array(found["pixels"]["values"]) - wanted.pixels.ravel()).max() <= 1
    seen = look(painter, wanted, "brush")
    assert found["words"] == seen.words
    np.testing.assert_allclose(found["weights"], seen.weights.ravel(), atol=1e-4)


@pytest.mark.parametrize("guidance", [1, 2.5])
def test_codes_pixels_and_attention_are_pythons(
    open_page: Open, tmp_path: Path, brush: Painter, guidance: float
) -> None:
    page = started(open_page, tmp_path, brush)
    for found, caption in zip(page.evaluate(PAINT, [CAPTIONS, guidance]), CAPTIONS, strict=True):
        same(found, greedily(brush, caption, guidance), brush)


def test_a_codebook_and_blocks_are_pythons(open_page: Open, tmp_path: Path, brush: Painter) -> None:
    painter = deepcopy(brush)
    torch.manual_seed(5)
    settings = replace(brush.assets.settings, quantiser="vq", codes=16, code_width=5, blocks=2)
    painter.codes = ImageCodes(settings, 3).eval()
    assert isinstance(painter.codes.quantiser, Codebook)
    round_weights(painter.codes.state_dict().values())
    page = started(open_page, tmp_path, painter)
    codes = torch.arange(GRID**2).view(1, GRID, GRID)
    found = page.evaluate("(codes) => made.decoder.pixels(codes)", codes.ravel().tolist())
    assert np.abs(np.array(found["values"]) - painter.pixels(codes).ravel()).max() <= 1


def test_a_caption_is_typed_and_painted(open_page: Open, tmp_path: Path, brush: Painter) -> None:
    live_page(brush, "brush", None).write(tmp_path / "page.html")
    page = open_page(tmp_path / "page.html", locale="ko-KR", **NARROW)
    assert page.locator("#picture").count() == 0
    page.locator("#paint").click()
    expect(page.locator(".error")).to_have_text("먼저 캡션을 입력해 주세요.")
    page.locator("#language-en").click()
    page.locator("#caption").fill(CAPTIONS[0])
    page.locator("#temperature").fill("0")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text(f"{GRID**2} / {GRID**2}")
    expect(page.locator("#paint")).to_have_text("Paint")
    wanted = greedily(brush, CAPTIONS[0], 2.0)
    assert page.evaluate("showing.painted.pixels.values.length") == wanted.pixels.size
    assert texts(page, ".word") == look(brush, wanted, "brush").words
    page.locator(".word").first.click()
    heat = look(brush, wanted, "brush").weights.mean((0, 1))[:, 0]
    expect(page.locator("#key")).to_contain_text(f"{100 * heat.min():.1f} % … {100 * heat.max():.1f} %")
    assert page.locator("#shown option").count() == 1  # what leaving a word out costs is not computed here
    assert fits(page)


@pytest.mark.slow
def test_the_bundled_painter_paints_pythons_codes(open_page: Open, tmp_path: Path) -> None:
    painter = rounded(regard.load("painter"))
    page = started(open_page, tmp_path, painter)
    for guidance in (1, 2):
        for found, caption in zip(page.evaluate(PAINT, [SCENES, guidance]), SCENES, strict=True):
            same(found, greedily(painter, caption, guidance), painter)
