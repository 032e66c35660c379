"""The page of a server without a translator: bars for labels, and text as it is written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from regard.data.tokenizer import Tokenizer
from regard.serve.access import Access
from regard.serve.limits import Limits
from regard.tasks.classification.classifier import Classifier
from regard.tasks.language_model.generator import TextGenerator
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, fits, texts
from tests.conftest import made_up_sentences
from tests.serve.conftest import Running, make_classifier, make_writer, running

TEXT = made_up_sentences(1, 1)[0]


@pytest.fixture(scope="module")
def classifier(tiny_tokenizer: Tokenizer) -> Classifier:
    return make_classifier(tiny_tokenizer)


@pytest.fixture(scope="module")
def writer(tiny_tokenizer: Tokenizer) -> TextGenerator:
    return make_writer(tiny_tokenizer)


@pytest.fixture(scope="module")
def server(classifier: Classifier, writer: TextGenerator) -> Iterator[Running]:
    with running({"moods": classifier, "prose": writer}, Limits(characters=100, new_tokens=40)) as made:
        yield made


def submit(page: Page, text: str) -> None:
    page.locator("#ask-text").fill(text)
    page.keyboard.press("Enter")


def test_labels_have_bars(open_page: Open, server: Running, classifier: Classifier) -> None:
    page = open_page(server.url)
    expect(page.locator("#answer")).to_contain_text("dull, 7, 기쁨")  # what it tells apart
    expect(page.locator("#ask-seed")).to_be_hidden()
    submit(page, TEXT)
    found = classifier.classify(TEXT)
    expect(page.locator("#answer .sentence")).to_have_text(found.label)
    assert texts(page, ".labels dt") == list(found.probabilities)
    for shown, wanted in zip(texts(page, ".labels dd:not(.bar)"), found.probabilities.values(), strict=True):
        assert float(shown.removesuffix(" %")) == pytest.approx(100 * wanted, abs=0.06)


def test_text_is_written_behind_the_prompt(open_page: Open, server: Running, writer: TextGenerator) -> None:
    page = open_page(server.url)
    page.locator("#ask-model").select_option("prose")
    page.locator("#ask-seed").fill("3")
    submit(page, "<b>안녕")
    wanted = writer.generate("<b>안녕", max_new_tokens=40, seed=3)
    expect(page.locator("#answer .muted")).to_have_text("40 tokens, as many as were asked for.")
    assert page.locator("#answer .sentence").text_content() == f"<b>안녕{wanted.text}"
    assert page.locator("#answer .written").text_content() == wanted.text
    submit(page, "")  # from nothing
    expect(page.locator("#answer .sentence")).not_to_contain_text("안녕")


def test_what_cannot_be_is_said(open_page: Open, server: Running) -> None:
    page = open_page(server.url, refusals=True)
    error = page.locator(".error")
    submit(page, "  ")
    expect(error).to_have_text("There is nothing to classify: type a text first.")
    page.locator("#ask-model").select_option("prose")
    expect(error).to_be_hidden()
    submit(page, "a" * 101)
    expect(error).to_have_text("The text has 101 characters; this server takes at most 100.")
    page.locator("#ask-max_new_tokens").fill("41")
    submit(page, "a")
    expect(error).to_contain_text("41 were given, and at most 40 are accepted.")


@pytest.mark.parametrize("answer", ["nonsense\n\n", "event: other\ndata: {}\n\n", ""])
def test_an_answer_that_is_none_is_told_in_words(open_page: Open, server: Running, answer: str) -> None:
    page = open_page(server.url)
    page.route("**/generate", lambda route: route.fulfill(body=answer, content_type="text/event-stream"))
    page.locator("#ask-model").select_option("prose")
    submit(page, "a")
    expect(page.locator(".error")).to_have_text("The answer broke off.")


def test_the_page_of_the_api_tells_every_path_and_tries_it(open_page: Open, server: Running) -> None:
    page = open_page(server.url)
    page.goto(f"{server.url}/docs")
    trial = page.locator("#classify")
    expect(trial.locator("h2")).to_have_text("POST /classify")
    expect(trial.locator("dl").first).to_contain_text("text or list of text, required")
    trial.locator("textarea").fill('{"model": "moods", "text": "a"}')
    trial.locator("button").click()
    expect(trial.locator("pre")).to_contain_text('"classifications"')
    expect(page.locator("#generate dl").first).to_contain_text("whole number ≥ 0")


def test_a_server_that_is_gone_is_missed(open_page: Open, classifier: Classifier) -> None:
    with running({"moods": classifier}) as server:
        page = open_page(server.url, refusals=True)
    expect(page.locator("#ask-model")).to_be_hidden()  # there is nothing to choose
    submit(page, TEXT)
    expect(page.locator(".error")).to_contain_text("does not answer")


def test_it_fits_a_phone_and_speaks_korean(open_page: Open, server: Running) -> None:
    page = open_page(server.url, locale="ko-KR", color_scheme="dark", **NARROW)
    expect(page.locator("#ask-submit")).to_have_text("분류하기")
    submit(page, TEXT)
    expect(page.locator(".labels")).to_be_visible()
    assert fits(page)
    page.locator("#ask-model").select_option("prose")
    expect(page.locator("#ask-submit")).to_have_text("이어 쓰기")
    submit(page, TEXT)
    expect(page.locator("#answer .muted")).to_contain_text("토큰 40개")
    assert fits(page)
    page.get_by_role("button", name="English").click()
    expect(page.locator("#answer .muted")).to_contain_text("40 tokens")


def test_a_key_is_asked_for_once(open_page: Open, classifier: Classifier) -> None:
    with running({"moods": classifier}, access=Access("a-key-of-sixteen-or-more")) as locked:
        page = open_page(locked.url, refusals=True)
        submit(page, TEXT)
        expect(page.locator("dialog")).to_contain_text("This server wants a key.")
        page.locator("#key").fill("a-wrong-key-of-a-stranger")
        page.keyboard.press("Enter")
        expect(page.locator("dialog")).to_contain_text("The server does not know this key.")
        page.locator("#key").fill("a-key-of-sixteen-or-more")
        page.keyboard.press("Enter")
        found = classifier.classify(TEXT)
        expect(page.locator("#answer .sentence")).to_have_text(found.label)
        page.reload()  # the tab remembers
        submit(page, TEXT)
        expect(page.locator("#answer .sentence")).to_have_text(found.label)
        expect(page.locator("dialog")).to_have_count(0)
