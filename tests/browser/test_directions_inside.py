"""A translator of several languages inside a page: each text goes the way that Python sends it, or that its reader chooses."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import regard
from regard.tasks.translation.glass_box import about
from regard.tasks.translation.portable import portable
from regard.tasks.translation.translator import Translator
from regard.view.portable import round_weights
from tests.browser.conftest import Open
from tests.browser.hostile_lines import hostile_lines
from tests.browser.reading import NARROW, fits, texts, until
from tests.browser.test_texts_inside import program
from tests.tasks.test_letters import TEXTS, translator

__all__ = ["translator"]  # the fixture

SENTENCES = ["감사합니다.", "Where is the station? I am here.", "3시에 만나요. KBS 앞에서요."]
SCENES = """([text, to]) => made.scenes({ text, to, beam: 2, off: {}, temperature: 1, hard: false, walk: false }).map(
    ({ source, target, facts, warnings }) => (
        { tokens: source.tokens, text: target.text, languages: facts.languages, warnings }))"""


@pytest.fixture(scope="module")
def rounded(translator: Translator) -> Translator:
    changed = deepcopy(translator)
    round_weights(changed.model.state_dict().values())
    return changed


def started(open_page: Open, folder: Path, model: Translator) -> Page:
    page = program(open_page, folder, portable(model))
    page.evaluate(
        "() => { self.made = new PortableTranslator(JSON.parse(document.getElementById('data').textContent)); }"
    )
    return page


def test_letters_choose_as_in_python(open_page: Open, tmp_path: Path, rounded: Translator) -> None:
    page = started(open_page, tmp_path, rounded)
    lines = [*TEXTS, *hostile_lines(100)]
    found = page.evaluate("(lines) => lines.map((line) => { made.turn(line, null); return made.to; })", lines)
    assert found == [rounded.directed(line).recipe.data.target_language for line in lines]
    assert set(found) == {"en", "ko"}


@pytest.mark.parametrize("to", [None, "en", "ko"])
def test_both_ways_are_pythons(open_page: Open, tmp_path: Path, rounded: Translator, to: str | None) -> None:
    page = started(open_page, tmp_path, rounded)
    for text in SENTENCES:
        expected = list(rounded.attentions(text, beam=2, **({} if to is None else {"to": to})))
        assert page.evaluate(SCENES, [text, to]) == [
            {
                "tokens": each.source_tokens,
                "text": each.translation,
                "languages": each.facts["languages"],
                "warnings": each.warnings(),
            }
            for each in expected
        ]


def test_a_direction_that_was_chosen_is_the_only_one(open_page: Open, tmp_path: Path, rounded: Translator) -> None:
    page = started(open_page, tmp_path, rounded.to("ko"))
    assert page.evaluate(SCENES, ["감사합니다.", None])[0]["tokens"][0] == "<2ko>"
    told = about(rounded.to("ko"))
    assert (told["targets"], told["by_letters"], told["languages"]) == (["ko"], False, "en → ko")
    with pytest.raises(Exception, match="this model translates into ko, not into en"):
        page.evaluate(SCENES, ["감사합니다.", "en"])


@pytest.mark.slow
def test_the_bundled_one_translates_both_ways_in_its_page(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "demo-ko.html"
    regard.view("demo-ko", output=path, live=True)
    model = deepcopy(regard.load("demo-ko", engine="native"))
    round_weights(model.model.state_dict().values())
    page = open_page(path, **NARROW)
    examples = texts(page, ".live .examples button")
    assert {model.directed(text).recipe.data.target_language for text in examples} == {"en", "ko"}
    assert texts(page, "#live-to option") == ["as its letters tell", "English", "Korean"]
    for text, to in (("감사합니다.", ""), ("Thank you.", ""), ("KBS", "en"), ("KBS", "")):
        page.locator("#live-to").select_option(to)
        page.locator("#live-text").fill(text)
        page.keyboard.press("Enter")
        until(
            page, f"!page.live.running && page.live.asked?.text === '{text}' && (page.live.asked.to ?? '') === '{to}'"
        )
        expected = model.translate(text, **({"to": to} if to else {})).text
        expect(page.locator("#translation")).to_have_text(expected)
        into = to or model.directed(text).recipe.data.target_language
        expect(page.locator("#translation")).to_have_attribute("lang", into)
        assert fits(page)
    assert "to=" not in page.url
