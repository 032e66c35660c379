"""The page with a server behind it: a real model that answers, and that one can meddle with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import regard
from regard.serve.limits import Limits
from regard.tasks.movie_file import FOLDER
from regard.tasks.translation.attention import Attention
from regard.view.arrays import pack_probabilities
from tests.browser.conftest import SENTENCE, Open
from tests.browser.reading import NARROW, fits, go_to, number, tabs_of, texts, until
from tests.serve.conftest import running

SHORT = "Das ist gut."  # one part even for the tiny translator, which spells it in letters
CROSS = ["decoder.0.cross_attention", "decoder.1.cross_attention"]


@pytest.fixture(scope="module")
def server(demo: regard.Translator, tiny_translator: regard.Translator) -> Iterator[str]:
    """It has models of its own: a test may change the others while it computes."""
    models = {"demo": deepcopy(demo), "tiny": deepcopy(tiny_translator)}
    with running(models, Limits(attention_characters=300)) as made:
        yield f"{made.url}/"


@pytest.fixture
def live(open_page: Open, server: str, seen: Attention) -> Page:
    """A live page that has translated the sentence."""
    page = open_page(server)
    translate(page, SENTENCE)
    expect(page.locator("#translation")).to_have_text(seen.translation)
    return page


def translate(page: Page, text: str) -> None:
    page.locator("#live-text").fill(text)
    page.keyboard.press("Enter")


def settled(page: Page, condition: str) -> None:
    """Wait for the answer to a request about which the condition holds."""
    until(page, f"!page.live.running && page.live.asked && ({condition})")


def shows(page: Page, expected: Attention) -> None:
    """The page holds these weights and these probabilities, and the map shows them."""
    expect(page.locator("#translation")).to_have_text(expected.translation)
    shape, values = page.evaluate(
        "(() => { const it = tensorOf(page.scene.attention.cross.weights); return [it.shape, [...it.values]]; })()"
    )
    np.testing.assert_allclose(np.reshape(values, shape), expected.weights["cross"], atol=1e-4)
    probabilities = page.evaluate("page.scene.alternatives.map((each) => each.probability)")
    np.testing.assert_allclose(probabilities, [each.probability for each in expected.alternatives], atol=1e-4)


def test_a_sentence_is_typed_and_translated(live: Page, seen: Attention) -> None:
    shows(live, seen)
    expect(live.locator("#source")).to_have_count(0)  # it stands in the form
    expect(live.locator("#live-text")).to_have_value(SENTENCE)
    expect(live.locator(".live .examples button")).to_have_count(0)
    expect(live.locator(".effect")).to_be_hidden()
    expect(live.locator("#live-reset")).to_be_hidden()
    live.locator("#live-text").fill("Wo ist der Bahnhof?")
    live.locator(".live button[type=submit]").click()
    expect(live.locator("#translation")).to_contain_text("station")
    assert live.title() == "Wo ist der Bahnhof? · regard"


def test_enter_translates_unless_it_means_something_else(live: Page, demo: regard.Translator) -> None:
    text = live.locator("#live-text")
    text.fill("Wo ist")
    live.keyboard.press("Shift+Enter")
    expect(text).to_have_value("Wo ist\n")
    text.dispatch_event("keydown", {"key": "Enter", "isComposing": True})
    assert live.evaluate("page.live.running") is None
    live.keyboard.type("der Bahnhof?")
    live.keyboard.press("Control+Enter")
    expect(live.locator("#translation")).to_have_text(demo.translate("Wo ist\nder Bahnhof?").text)
    expect(live.locator(".live .keys")).to_have_text("Enter translates, Shift + Enter starts a new line")


def test_a_long_text_is_shown_whole(open_page: Open, server: str, demo: regard.Translator) -> None:
    page = open_page(server)
    text = " ".join([SENTENCE] * 6)
    whole = demo.translate(text)
    assert whole.parts > 1
    translate(page, text)
    expect(page.locator("#translation")).to_have_text(whole.text)
    page.locator("#parts").select_option(index=1)
    expect(page.locator("#translation")).to_have_text(whole.text)
    expect(page.locator("#part-translation")).to_have_text(demo.attention(text, part=1).translation)


def test_an_old_answer_is_dimmed(open_page: Open, server: str) -> None:
    page = open_page(server, refusals=True)
    answer, view, error = page.locator("#translation"), page.locator("#view"), page.locator(".live .error")
    dimmed = "Number(getComputedStyle(document.querySelector('.texts')).opacity) < 1"
    translate(page, SHORT)
    expect(answer).not_to_be_empty()
    assert page.evaluate(dimmed) is False
    translate(page, " ")
    expect(error).to_have_text("Type a sentence first.")
    assert page.evaluate(dimmed) is True
    page.evaluate("() => { window.fetchNow = fetch; window.fetch = () => new Promise(() => {}); }")  # it thinks
    translate(page, SENTENCE)
    expect(view).to_have_attribute("aria-busy", "true")
    expect(error).to_be_hidden()
    assert page.evaluate(dimmed) is True
    page.evaluate("() => { window.fetch = window.fetchNow; }")
    page.locator("#live-beam").fill("99")
    translate(page, SENTENCE)
    expect(error).to_contain_text("beam: 99")
    expect(view).to_have_attribute("aria-busy", "false")
    assert page.evaluate(dimmed) is True
    page.locator("#live-beam").fill("")
    translate(page, SENTENCE)
    settled(page, f"page.live.asked.text === {SENTENCE!r}")
    assert page.evaluate(dimmed) is False


def test_the_beam_tells_what_it_is_without_a_number(open_page: Open, server: str, demo: regard.Translator) -> None:
    page = open_page(server)
    expect(page.locator("#live-beam")).to_have_attribute("placeholder", str(demo.recipe.decoding.beam))


def test_it_begins_with_examples(open_page: Open, server: str, demo: regard.Translator) -> None:
    page = open_page(f"{server}#steps")
    assert tabs_of(page) == []
    page.locator(".live .examples button").get_by_text(SENTENCE).or_(
        page.locator(".live .examples button").first
    ).first.click()
    expect(page.locator("#step-slider")).to_be_visible()  # the view that the link named
    expect(page.locator("#translation")).not_to_be_empty()


def test_one_head_less_changes_the_numbers(live: Page, demo: regard.Translator, seen: Attention) -> None:
    live.locator("#switch-1-2").click()
    expect(live.locator("#switch-1-2")).to_have_attribute("aria-checked", "false")
    settled(live, f"page.live.asked.off['{CROSS[1]}']?.[0] === 2")
    with demo.changed(off={CROSS[1]: [2]}):
        expected = demo.attention(SENTENCE)
    shows(live, expected)
    assert [each.probability for each in expected.alternatives] != [each.probability for each in seen.alternatives]
    expect(live.locator("#live-off")).to_have_text("Heads off: 1")
    expect(live.locator(".effect")).to_be_in_viewport(ratio=1)  # the switch is far below the translation
    expect(live.locator(".weights > .muted")).to_have_text("Layer 2, mean · 1 head off")
    expect(live.locator(".head.off")).to_have_count(1)


def test_silenced_heads_change_the_output_until_reset(live: Page, demo: regard.Translator, seen: Attention) -> None:
    heads = range(seen.weights["cross"].shape[1])
    for layer in range(2):
        for head in heads:
            live.locator(f"#switch-{layer}-{head}").click()
    everything = {name: list(heads) for name in CROSS}
    with demo.changed(off=everything):
        expected = demo.attention(SENTENCE)
    assert expected.translation != seen.translation
    settled(live, f"Object.values(page.live.asked.off).flat().length === {2 * len(heads)}")
    shows(live, expected)
    assert texts(live, ".effect dd") == [seen.translation, expected.translation]
    assert texts(live, ".effect dt") == ["As trained", "Now"]
    assert live.locator(".effect mark").count() > 0
    go_to(live, "walk")
    expect(live.locator(".walk .step[data-part=cross][data-step=sum]")).to_contain_text("switched off")
    go_to(live, "look")
    live.locator("#live-reset").click()
    settled(live, "Object.keys(page.live.asked.off).length === 0")
    shows(live, seen)
    expect(live.locator(".effect")).to_be_hidden()
    expect(live.locator("#live-reset")).to_be_hidden()
    expect(live.locator(".head.off")).to_have_count(0)


def test_a_reload_keeps_sentence_and_switches(live: Page) -> None:
    live.locator("#switch-1-2").click()
    live.locator("#live-hard").check()
    settled(live, f"page.live.asked.hard && page.live.asked.off['{CROSS[1]}']?.[0] === 2")
    state = "[page.live.asked, page.live.shown, location.search]"
    before = live.evaluate(state)
    assert f"off={CROSS[1]}%3A3" in before[2]
    live.reload()
    settled(live, "page.live.asked.hard")
    assert live.evaluate(state) == before
    expect(live.locator("#live-text")).to_have_value(SENTENCE)
    expect(live.locator("#switch-1-2")).to_have_attribute("aria-checked", "false")


def test_temperature_and_hardness_change_the_attention(live: Page, demo: regard.Translator) -> None:
    live.locator("#live-temperature").fill("3")
    settled(live, "page.live.asked.temperature === 3")
    with demo.changed(temperature=3.0):
        shows(live, demo.attention(SENTENCE))
    assert live.locator(".effect").text_content()
    live.locator("#live-hard").check()
    settled(live, "page.live.asked.hard")
    with demo.changed(temperature=3.0, hard=True):
        shows(live, demo.attention(SENTENCE))
    live.locator("#head-0").click()
    labels = live.locator(".heat .cell").evaluate_all("(all) => all.map((cell) => cell.getAttribute('aria-label'))")
    assert {label.rpartition(": ")[2] for label in labels} == {"0.000", "1.000"}
    live.locator("#live-reset").click()
    settled(live, "!page.live.asked.hard && page.live.asked.temperature === 1")
    expect(live.locator("#live-hard")).not_to_be_checked()


def test_the_walk_comes_when_it_is_looked_at(live: Page, seen: Attention) -> None:
    assert live.evaluate("page.scene.walk") is None
    go_to(live, "walk")
    expect(live.locator(".walk .step[data-part=cross][data-step=scale]")).to_be_visible()
    live.locator(".walk [data-side=decoder][data-token='1']").click()
    live.locator("#walk-layer").select_option("1")
    live.locator("#walk-head").select_option("1")
    found = [number(text) for text in texts(live, ".walk .step[data-part=cross][data-step=scale] .keys li > span")]
    scores = seen.record[CROSS[0]]["scores"][0, 0, 1].numpy()
    np.testing.assert_allclose(found, scores, atol=0.01)


def test_what_cannot_be_is_said(open_page: Open, server: str) -> None:
    page = open_page(server, refusals=True)
    error = page.locator(".live .error")
    translate(page, "Wort " * 200)
    expect(error).to_have_text("The text has 999 characters; this server takes at most 300.")
    page.locator("#live-beam").fill("99")
    translate(page, SENTENCE)
    expect(error).to_contain_text("beam: 99 were given")
    page.locator("#live-beam").fill("1")
    translate(page, SENTENCE)
    expect(page.locator("#translation")).not_to_be_empty()
    expect(error).to_be_hidden()
    assert page.evaluate("page.scene.steps.every((step) => step.kept.length <= 1)")


def test_a_server_that_is_gone_is_missed(open_page: Open, tiny_translator: regard.Translator) -> None:
    with running({"tiny": tiny_translator}) as server:
        page = open_page(f"{server.url}/", refusals=True)
    translate(page, "Ba.")
    expect(page.locator(".live .error")).to_contain_text("does not answer")


def test_only_the_latest_question_is_answered(live: Page, demo: regard.Translator) -> None:
    for text in ("Wo ist der Bahnhof?", "Ich bin müde.", SHORT):
        translate(live, text)
    settled(live, f"page.live.asked.text === {SHORT!r}")
    expect(live.locator("#translation")).to_have_text(demo.translate(SHORT).text)
    expect(live.locator(".live")).to_have_attribute("aria-busy", "false")


def test_two_models_stand_side_by_side(live: Page, demo: regard.Translator, tiny_translator: regard.Translator) -> None:
    translate(live, SHORT)
    settled(live, f"page.live.asked.text === {SHORT!r}")
    go_to(live, "compare")
    expect(live.locator(".compare .column[aria-busy=false]")).to_have_count(2)
    expect(live.locator(".compare .heat")).to_have_count(2)
    assert texts(live, ".compare h2") == ["demo", "tiny"]  # names are unique, titles need not be
    assert [label.split()[0] for label in texts(live, ".compare .models label")] == ["demo", "tiny"]
    assert [option.split(" · ")[0] for option in texts(live, "#live-model option")] == ["demo", "tiny"]
    assert texts(live, ".compare .translated") == [each.translate(SHORT).text for each in (demo, tiny_translator)]
    for column, translator in enumerate((demo, tiny_translator)):
        shown = (
            live.locator(".compare .column")
            .nth(column)
            .locator(".tokens span")
            .evaluate_all("(all) => all.map((each) => parseFloat(each.style.getPropertyValue('--share')) / 100)")
        )
        expected = [each.probability for each in translator.attention(SHORT).alternatives]
        np.testing.assert_allclose(shown, expected, atol=1e-4)
    live.locator("#compare-1").uncheck()
    expect(live.locator(".compare .column")).to_have_count(1)


def test_the_model_can_be_changed(live: Page, tiny_translator: regard.Translator) -> None:
    live.locator("#switch-1-0").click()
    live.locator("#live-text").fill(SHORT)
    live.locator("#live-model").select_option("tiny")
    settled(live, "page.live.asked.model === 'tiny'")
    expect(live.locator("h1")).to_have_text(tiny_translator.recipe.name)
    with tiny_translator.changed(off={CROSS[1]: [0]}):  # both have such a head
        shows(live, tiny_translator.attention(SHORT))


@pytest.mark.parametrize("text", ["<img src=x onerror=window.hacked=1>", "</script><script>window.hacked=2</script>"])
def test_what_is_typed_stays_text(open_page: Open, server: str, text: str) -> None:
    page = open_page(server)
    translate(page, text)
    settled(page, "true")
    for tab in tabs_of(page):
        go_to(page, tab)
    expect(page.locator(".compare .column[aria-busy=false]")).to_have_count(2)
    assert page.title() == f"{text} · regard"
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2


def test_a_live_page_fits_a_phone_and_speaks_korean(open_page: Open, server: str, seen: Attention) -> None:
    page = open_page(server, locale="ko-KR", **NARROW)
    assert fits(page)
    translate(page, SENTENCE)
    expect(page.locator("#translation")).to_have_text(seen.translation)
    expect(page.locator(".live button[type=submit]")).to_have_text("번역하기")
    page.locator("#live-temperature").fill("5")
    settled(page, "page.live.asked.temperature === 5")
    for tab in tabs_of(page):
        go_to(page, tab)
        until(page, "!document.querySelector('.compare [aria-busy=true]') && !page.live.running")
        assert fits(page), tab
    page.locator("#language-en").click()
    expect(page.locator("#live-text")).to_have_value(SENTENCE)
    expect(page.locator(".live button[type=submit]")).to_have_text("Translate")


def test_a_movie_waits_for_nobody_and_leaves_the_first_look_to_the_answer(
    open_page: Open, demo: regard.Translator, tmp_path: Path
) -> None:
    side = {"text": "a", "tokens": ["▁a"], "words": [{"first": 0, "end": 1, "text": "a"}]}
    probe = {"source": side, "target": side, "cross": pack_probabilities(np.ones((1, 1, 1, 1))), "text": "a"}
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "0.json").write_text(json.dumps({"update": 0, "probes": [probe]}), encoding="utf-8")
    with running({"demo": demo}, folders=[tmp_path / "none", tmp_path]) as server:
        page = open_page(server.url)
        expect(page.locator("#tab-movie")).to_have_attribute("aria-selected", "true")
        expect(page.locator(".movie .whose")).to_contain_text(f"“{tmp_path.name}”")
        translate(page, SHORT)
        expect(page.locator("#tab-look")).to_have_attribute("aria-selected", "true")
