"""The pages of a classifier, of a language model and of learning curves under hand: choosing, the keyboard, two languages, a phone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from regard.view.curve import load_curve, write_curves
from regard.view.scenes import write_page
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, attributes, fits, go_to, ink, numbers, tabs_of, texts
from tests.view.pages import at_random
from tests.view.test_classification import decision
from tests.view.test_curve import run_of
from tests.view.test_writing import look_at

HOSTILE = ["<script>window.hacked=1</script>", "</script>", "▁&lt;b&gt;", "</s>"]


def chosen(page: Page) -> str:
    return page.locator("[data-place][aria-pressed=true]").inner_text()


def test_a_language_model_shows_what_it_expected(open_page: Open, tmp_path: Path) -> None:
    look = look_at()
    look.save(tmp_path / "page.html")
    page = open_page(tmp_path / "page.html")
    assert texts(page, "[data-place]") == ["A", "wh", "ale", "⏎"]
    assert chosen(page) == "⏎"  # the most surprising one
    expect(page.locator("#expected")).to_contain_text("4.0 bits")
    page.locator("[data-place='1']").click()
    expect(page.locator("#expected")).to_contain_text("25 %, 2.0 bits of surprise, rank 2")
    page.keyboard.press("ArrowRight")
    assert chosen(page) == "ale"
    page.keyboard.press("End")
    assert chosen(page) == "⏎"
    page.keyboard.press("Home")
    assert chosen(page) == "A"
    assert page.evaluate("location.hash") == "#surprise/A"
    go_to(page, "look")
    expect(page.locator(".token[aria-pressed=true]")).to_have_text("A")
    assert texts(page, ".token[data-side=key]")[0] == "start"  # nothing has ended where a text begins
    go_to(page, "writing")
    page.locator("#language-ko").click()
    expect(page.locator("#view h2").first).to_contain_text("뜻밖")


def test_its_looks_are_those_of_the_layer_and_head_chosen(open_page: Open, tmp_path: Path) -> None:
    look = look_at(pointed=at_random(1, 1, 4, 5)[0, 0])
    assert look.weights is not None
    assert look.pointed is not None
    look.save(tmp_path / "page.html")
    page = open_page(tmp_path / "page.html")
    page.locator("[data-place='3']").click()
    assert numbers(page, "#looked dd") == pytest.approx(sorted(look.weights[:, :, 3].mean((0, 1)))[::-1], abs=0.01)
    page.locator("#layer").select_option(label="layer 2")
    page.locator("#head").select_option(label="head 3")
    assert numbers(page, "#looked dd") == pytest.approx(sorted(look.weights[1, 2, 3])[::-1], abs=0.01)
    page.locator("#layer").select_option(label="pointer: what may come again")
    expect(page.locator("#head")).to_have_count(0)
    expect(page.locator("#looked dt").first).to_have_text("the vocabulary decides")
    vocabulary, *places = numbers(page, "#looked dd")
    assert vocabulary == pytest.approx(look.pointed[3, -1], abs=0.01)
    assert places == pytest.approx(sorted(look.pointed[3, :-1])[::-1], abs=0.01)
    page.locator("#layer").select_option(label="all layers")
    expect(page.locator("#head")).to_have_count(1)


def test_a_recurrent_model_says_that_it_has_no_attention(open_page: Open, tmp_path: Path) -> None:
    look_at(weights=None).save(tmp_path / "page.html")
    expect(open_page(tmp_path / "page.html").locator("#looked")).to_contain_text("has no attention")


def test_a_classifier_shows_its_maps(open_page: Open, tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", [decision()])
    page = open_page(tmp_path / "page.html")
    assert tabs_of(page) == ["decision", "look"]
    assert texts(page, "[data-name=gradient] .shaded > span") == ["The", "soup", "was", "not", "bad", "!"]
    sides = attributes(page, "[data-name=gradient] .shaded > span", "class")
    assert sides == ["against", "against", "against", "for", "for", "for"]
    assert set(attributes(page, "[data-name=attention] .shaded > span", "class")) == {"for"}
    assert texts(page, ".labels .bars th") == ["good", "bad"]
    expect(page.locator("#translation")).to_have_text("good: 90.0 %")
    expect(page.locator(".weighed [aria-current] th")).to_have_text("soup")  # it opens on the strongest word
    assert attributes(page, ".weighed tr[data-word] i", "class") == sides
    page.locator("[data-name=gradient] [data-word='4']").click()
    assert page.evaluate("location.hash") == "#decision/bad"
    page.reload()
    expect(page.locator(".weighed [aria-current] th")).to_have_text("bad")
    go_to(page, "look")
    expect(page.locator(".token[aria-pressed=true]")).to_have_text("bad")
    assert ink(page, ".overview .head canvas") > 0
    page.get_by_role("button", name="Layer 1, Head 3").click()
    expect(page.locator(".weights .muted")).to_have_text("Layer 1, Head 3")


@pytest.mark.parametrize("kind", ["writing", "decision"])
def test_on_a_phone_and_with_hostile_text(open_page: Open, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "page.html"
    text = " ".join(HOSTILE)
    if kind == "writing":
        look_at(tokens=HOSTILE, text=text, title=text).save(path)
    else:
        write_page(path, [decision(tokens=HOSTILE, text=text, title=text, gradient=np.linspace(-1, 1, 4))])
    page = open_page(path, **NARROW)
    assert page.evaluate("window.hacked") is None
    assert fits(page)


def test_learning_curves(open_page: Open, tmp_path: Path) -> None:
    curves = [load_curve(run_of(tmp_path / name)) for name in ("one", "two")]
    write_curves(tmp_path / "page.html", curves, "regard curve one two")
    page = open_page(tmp_path / "page.html")
    assert texts(page, "#best tbody td:first-child") == ["one", "two"]
    assert texts(page, "#best tbody td:last-child") == ["2.200at update 100"] * 2
    captions = [
        f"{measure} over {axis}"
        for measure in ("validation accuracy", "loss in training and validation")
        for axis in ("updates", "seconds")
    ]
    assert texts(page, "figcaption") == [*captions, "learning rate over updates"]
    assert page.locator("figure").nth(2).locator(".mark").count() == 4  # two validations of two runs; training has none
    assert page.locator("figure").nth(2).locator(".quiet .curve").count() == 2
    page.locator("figure svg").first.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".readout").first).to_have_text("one update 100, 10 seconds: validation accuracy 60")
    page.locator("#language-ko").click()
    expect(page.locator("section h2")).to_have_text("학습 과정")
    expect(page.locator("#language-ko")).to_be_focused()
    page.set_viewport_size({"width": 360, "height": 740})
    assert fits(page)
