"""The live pages of pictures: drop one and see its label and what was looked at; type a caption and watch it painted."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import regard
from regard.data.tokenizer import Tokenizer
from regard.serve.limits import Limits
from regard.tasks.image_classification.recognizer import Recognizer
from regard.tasks.text_to_image.painter import Painter
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, fits, texts
from tests.serve.conftest import Running, running
from tests.tasks.painters import make_painter
from tests.tasks.shapes import LABELS, shapes, untrained

PIL = pytest.importorskip("PIL.Image")
PICTURE = shapes(1, 3)[0][0]


@pytest.fixture(scope="module")
def recognizer(tmp_path_factory: pytest.TempPathFactory) -> Recognizer:
    made: Recognizer = regard.load(untrained(tmp_path_factory.mktemp("eye") / "model.safetensors"))
    return made


@pytest.fixture(scope="module")
def painter(tiny_tokenizer: Tokenizer) -> Painter:
    return make_painter(tiny_tokenizer)


@pytest.fixture(scope="module")
def server(recognizer: Recognizer, painter: Painter) -> Iterator[Running]:
    with running({"eye": recognizer, "brush": painter}, Limits(characters=100, pictures=6, body_bytes=60_000)) as made:
        yield made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    PIL.fromarray(PICTURE).save(tmp_path / "shape.png")
    return tmp_path / "shape.png"


def dropped(page: Page, content: bytes, name: str = "shape.png") -> None:
    """What a person does with the mouse."""
    page.evaluate(
        """([bytes, name]) => {
            const data = new DataTransfer();
            data.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
            document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        [list(content), name],
    )


def test_a_picture_that_is_chosen_gets_a_label_and_a_look(
    open_page: Open, server: Running, recognizer: Recognizer, file: Path
) -> None:
    page = open_page(server.url)
    expect(page.locator("#answer")).to_contain_text(", ".join(LABELS))
    expect(page.locator("#ask-text")).to_be_hidden()
    page.locator("#ask-file").set_input_files(file)
    wanted = recognizer.recognize(PICTURE)
    expect(page.locator("#answer .sentence")).to_have_text(wanted.label)
    assert texts(page, ".labels dt") == list(wanted.probabilities)
    seen = recognizer.look(PICTURE)
    caption = page.locator("#answer figcaption").first
    expect(caption).to_have_text("what is labelled looks at: layer 2, mean")
    page.locator("#answer canvas").first.hover(position={"x": 3, "y": 3})
    expect(caption).to_have_text("patch 1, 1 looks at: layer 2, mean")
    query = seen.found.query_key_value[0, 1, 0, seen.extra]
    shown = page.locator(".walk td").nth(2).inner_text().replace("−", "-").split()
    assert [float(each) for each in shown if each != "…"] == pytest.approx(query[:8], abs=0.011)
    page.get_by_role("button", name="한국어").click()
    expect(page.locator(".picture-page h2").first).to_contain_text("모델이 본 그림")


def test_one_picture_after_another_can_be_dropped(open_page: Open, server: Running, recognizer: Recognizer) -> None:
    page = open_page(server.url, refusals=True)
    for picture, _ in shapes(3, 5):
        made = io.BytesIO()
        PIL.fromarray(picture).save(made, "PNG")
        dropped(page, made.getvalue())
        expect(page.locator("#answer .sentence")).to_have_text(recognizer.recognize(picture).label)
        expect(page.locator("#answer .picture-page")).to_have_count(1)
    dropped(page, b"<svg/>", "shape.svg")
    expect(page.locator(".error")).to_have_text("the picture is no PNG, JPEG or WebP picture, or it is damaged")
    dropped(page, bytes(100_000), "large.png")
    expect(page.locator(".error")).to_contain_text("The file has 100,000 bytes; this server takes at most 44,")


def test_a_large_picture_is_made_smaller(open_page: Open, server: Running, tmp_path: Path) -> None:
    import numpy as np

    noise = np.random.default_rng(0).integers(0, 256, (400, 300, 3), dtype=np.uint8)
    noise[:, :] = noise[::40, ::30].repeat(40, 0).repeat(30, 1)
    PIL.fromarray(noise).save(tmp_path / "large.png", compress_level=0)
    assert (tmp_path / "large.png").stat().st_size > 60_000
    page = open_page(server.url)
    page.locator("#ask-file").set_input_files(tmp_path / "large.png")
    expect(page.locator("#answer")).to_contain_text("The picture was made smaller before it was sent.")
    expect(page.locator(".labels")).to_be_visible()


def test_a_caption_is_painted(open_page: Open, server: Running, painter: Painter) -> None:
    page = open_page(server.url)
    page.locator("#ask-model").select_option("brush")
    expect(page.locator("#ask-submit")).to_have_text("Paint")
    expect(page.locator("#ask-temperature")).to_be_hidden()
    expect(page.locator(".drop")).to_be_hidden()
    page.locator("#ask-count").fill("3")
    page.locator("#ask-seed").fill("7")
    page.locator("#ask-text").fill("<b>빨간 부츠")
    page.keyboard.press("Enter")
    expect(page.locator(".paintings figcaption")).to_have_text(["seed 7", "seed 8", "seed 9"])
    wanted = painter.paint("<b>빨간 부츠", count=3, seed=7)
    shown = page.locator(".paintings img").evaluate_all(
        """async images => Promise.all(images.map(async image => {
            await image.decode();
            const canvas = document.createElement("canvas");
            [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
            const pen = canvas.getContext("2d");
            pen.drawImage(image, 0, 0);
            return Array.from(pen.getImageData(0, 0, canvas.width, canvas.height).data).filter((_, place) => place % 4 < 3);
        }))"""
    )
    assert shown == [each.pixels.ravel().tolist() for each in wanted]
    assert page.locator(".paintings a").first.get_attribute("download") == "7.png"


def test_what_cannot_be_painted_is_said(open_page: Open, server: Running) -> None:
    page = open_page(server.url, refusals=True)
    page.locator("#ask-submit").click()
    expect(page.locator(".error")).to_have_text("There is nothing to recognize: choose a picture first.")
    page.locator("#ask-model").select_option("brush")
    page.locator("#ask-submit").click()
    expect(page.locator(".error")).to_have_text("There is nothing to paint: type a caption first.")
    page.locator("#ask-text").fill("a")
    page.locator("#ask-count").fill("7")
    page.locator("#ask-submit").click()
    expect(page.locator(".error")).to_contain_text("7 were given, and at most 6 are accepted.")


def test_an_answer_that_breaks_off_is_told(open_page: Open, server: Running) -> None:
    page = open_page(server.url)
    page.route("**/paint", lambda route: route.fulfill(body="", content_type="text/event-stream"))
    page.locator("#ask-model").select_option("brush")
    page.locator("#ask-text").fill("a")
    page.locator("#ask-submit").click()
    expect(page.locator(".error")).to_have_text("The answer broke off.")


def test_it_fits_a_phone_and_speaks_korean(open_page: Open, server: Running, file: Path) -> None:
    page = open_page(server.url, locale="ko-KR", color_scheme="dark", **NARROW)
    expect(page.locator(".drop")).to_contain_text("그림을 여기에 놓거나 골라 주세요")
    page.locator("#ask-file").set_input_files(file)
    expect(page.locator("#answer canvas").first).to_be_visible()
    assert fits(page)
    page.locator("#ask-model").select_option("brush")
    expect(page.locator("#ask-submit")).to_have_text("그리기")
    page.locator("#ask-text").fill("빨간 부츠")
    page.keyboard.press("Enter")
    expect(page.locator(".paintings figcaption").first).to_have_text("시드 0")
    assert fits(page)
