"""The live page of classifiers and language models: type, look, switch heads off, flatten and harden the attention."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from regard.data.tokenizer import Tokenizer
from regard.tasks.classification.classifier import Classifier
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, fits, go_to, tabs_of, until
from tests.conftest import made_up_sentences
from tests.serve.conftest import make_classifier, make_writer, running
from tests.tasks.writers import recipe_of, untaught

TEXT = made_up_sentences(1, 1)[0][:20]


@pytest.fixture(scope="module")
def classifier(tiny_tokenizer: Tokenizer) -> Classifier:
    return make_classifier(tiny_tokenizer)


@pytest.fixture(scope="module")
def server(classifier: Classifier, tiny_tokenizer: Tokenizer) -> Iterator[str]:
    recurrent = untaught(tiny_tokenizer, recipe_of("rnn", context=64))
    with running({"moods": classifier, "prose": make_writer(tiny_tokenizer), "recurrent": recurrent}) as made:
        yield made.url


def looking(open_page: Open, server: str, **options: object) -> Page:
    page = open_page(f"{server}/", **options)
    page.goto(f"{server}/look")
    return page


def ask(page: Page, text: str = TEXT) -> None:
    page.locator("#live-text").fill(text)
    page.keyboard.press("Enter")
    until(page, "!page.live.running && page.live.asked")


def test_the_page_that_asks_leads_to_it(open_page: Open, server: str) -> None:
    page = open_page(f"{server}/")
    page.locator("#programs a").first.click()
    expect(page.locator("#live-submit")).to_have_text("Classify")


def test_heads_of_a_classifier_are_switched(open_page: Open, server: str, classifier: Classifier) -> None:
    page = looking(open_page, server)
    expect(page.locator("#live-beam")).to_be_hidden()
    ask(page)
    assert tabs_of(page) == ["decision", "look", "walk", "positions"]
    expect(page.locator("#translation")).to_contain_text(classifier.classify(TEXT).label)
    go_to(page, "look")
    page.locator("#switch-0-1").click()
    until(page, "!page.live.running && page.live.shown")
    with classifier.changed(off={"layers.0.self_attention": [1]}):
        share = next(iter(classifier.classify(TEXT).probabilities.values()))
    shown = page.evaluate("page.scene.decision.probabilities[0][1]")
    assert shown == pytest.approx(share, abs=1e-6)
    assert page.evaluate("page.scene.attention.encoder.off") == [[1]]
    page.locator("#live-hard").check()
    until(page, "!page.live.running && page.live.asked.hard")
    assert set(page.evaluate("[...tensorOf(page.scene.attention.encoder.weights).values]")) == {0, 1}
    page.locator("#live-reset").click()
    until(page, "!page.live.running && !page.live.asked.hard")
    expect(page.locator(".effect")).to_be_hidden()
    go_to(page, "walk")
    until(page, "page.scene.walk")
    expect(page.locator("[data-step=decide]")).to_be_visible()


def test_a_language_model_reads(open_page: Open, server: str) -> None:
    page = looking(open_page, server, **NARROW, locale="ko-KR")
    page.locator("#live-model").select_option("prose")
    expect(page.locator("#live-submit")).to_have_text("읽기")
    ask(page)
    assert tabs_of(page) == ["writing", "look", "walk", "positions"]
    page.locator("#live-temperature").fill("5")
    page.locator("#live-temperature").dispatch_event("change")
    until(page, "!page.live.running && page.live.shown")
    expect(page.locator(".effect")).to_contain_text("퍼플렉서티")
    assert fits(page)
    page.locator("#live-model").select_option("recurrent")
    until(page, "!page.live.running && page.live.asked.model === 'recurrent'")
    assert tabs_of(page) == ["writing"]
    expect(page.locator("#live-temperature")).to_be_hidden()
    expect(page.locator("#live-hard")).to_be_hidden()
