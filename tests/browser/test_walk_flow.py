"""The walk as a picture: the token travels through all steps, and the numbers beside it are the model's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open
from tests.browser.reading import NARROW, fits, go_to, number, texts
from tests.browser.test_glass import TEXT, page_of, writer
from tests.tasks.labelled import untrained


@pytest.mark.parametrize("task", ["classification", "language model"])
@pytest.mark.parametrize("narrow", [False, True])
def test_the_token_travels_through_all_steps(open_page: Open, tmp_path: Path, task: str, narrow: bool) -> None:
    model = untrained(norm="pre") if task == "classification" else writer()
    page = page_of(open_page, model, tmp_path / "page.html", **(NARROW if narrow else {}))
    go_to(page, "walk")
    count = page.locator(".step").count()
    token = page.locator(".traveller")
    begun, places, titles = token.inner_text(), [], []
    expect(page.locator("#walk-back")).to_be_disabled()
    for step in range(count):
        expect(page.locator(".flow .counter")).to_have_text(f"Step {step + 1} of {count}")
        titles.append(page.locator(".caption h3").inner_text())
        places.append(float(token.evaluate("(each) => parseFloat(each.style.getPropertyValue('--x'))")))
        assert page.locator(".stage [data-here]").count() == 1
        assert token.evaluate("""(each) => {
            const [x, shift] = ["--x", "--shift"].map((name) => parseFloat(each.style.getPropertyValue(name)));
            const half = each.offsetWidth / 2;
            return x + shift - half >= -0.1 && x + shift + half <= each.closest(".stage").scrollWidth + 0.1;
        }"""), "not cut off at an edge"
        if step < count - 1:
            page.locator("#walk-next").click()
    expect(page.locator("#walk-next")).to_be_disabled()
    assert titles == texts(page, ".step h3")
    assert len(set(places)) == count
    assert token.inner_text() != begun
    end = "page.scene.decision.label" if task == "classification" else "labelOf(page.scene.target.tokens[4])"
    assert token.inner_text() == page.evaluate(end)
    page.locator("#walk-back").click()
    expect(page.locator(".flow .counter")).to_have_text(f"Step {count - 1} of {count}")
    page.locator("#language-ko").click()
    expect(page.locator(".flow .counter")).to_have_text(f"{count}단계 중 {count - 1}단계")
    assert fits(page)


def test_the_exponentials_and_their_sum(open_page: Open, tmp_path: Path) -> None:
    model = untrained(norm="post")
    page = page_of(open_page, model, tmp_path / "page.html")
    go_to(page, "walk")
    rows = page.locator("[data-step=softmax] tbody tr")
    cells = [[number(text) for text in row.locator("td").all_inner_texts()[1:3]] for row in rows.all()]
    scaled, exponentials = np.array(cells).T
    np.testing.assert_allclose(exponentials, np.exp(scaled), rtol=0.02, atol=0.006)
    total = number(page.locator("[data-step=softmax] tfoot td").first.inner_text())
    assert total == pytest.approx(exponentials.sum(), abs=0.06)


def test_nearly_all_is_not_all(open_page: Open, tmp_path: Path) -> None:
    page = page_of(open_page, untrained(), tmp_path / "page.html")
    assert page.evaluate("[0.995, 0.9951, 0.99999, 1].map((share) => percentage(share))") == [
        "99.5 %",
        "99.5 %",
        "99.9 %",
        "100 %",
    ]


def test_what_each_layer_would_predict(open_page: Open, tmp_path: Path) -> None:
    model = writer()
    seen = model.look(TEXT)
    page = page_of(open_page, model, tmp_path / "page.html")
    go_to(page, "walk")
    page.locator("#walk-target-2").click()
    rows = page.locator("[data-step=lens] tbody tr")
    assert rows.count() == len(seen.inside.lens)
    for row, layer in zip(rows.all(), seen.inside.lens, strict=True):
        shown = number(row.locator("td.share").inner_text())
        assert shown == pytest.approx(layer[2]["probability"], rel=0.02, abs=1e-4)


def test_matrices_are_read_cell_by_cell(open_page: Open, tmp_path: Path) -> None:
    model = untrained(norm="pre")
    page = page_of(open_page, model, tmp_path / "page.html")
    go_to(page, "walk")
    page.locator("#walk-head").select_option("2")
    strip = page.locator("[data-step=projections] .matrices .strip").first
    strip.locator("canvas").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    attention = model.model.get_submodule(f"layers.{model.recipe.model.layers - 1}.self_attention")
    wanted = attention.query_key_value.weight[attention.total_key_width // attention.heads, 0].item()
    reading = strip.locator(".reading").inner_text()
    assert reading.startswith("outputs 1, inputs 1: ")
    assert number(reading.split(": ")[1]) == pytest.approx(wanted, abs=0.006)
