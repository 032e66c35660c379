"""A page from a file: complete without a network, in two languages, in the dark, on a phone, with whatever text."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from regard.tasks.alternatives import Alternatives
from regard.tasks.translation.attention import Attention, SearchHypothesis, SearchStep
from regard.view.arrays import pack_probabilities
from regard.view.inside import side_of
from regard.view.scenes import render, write_page
from tests.browser.conftest import SENTENCE, Open
from tests.browser.reading import NARROW, fits, go_to, tabs_of, texts, until
from tests.view.pages import at_random
from tests.view.pages import seen as imagined

TABS = ["look", "walk", "steps", "positions"]
HANGUL = re.compile(r"[가-힣]")
HOSTILE = [
    "<script>window.hacked=1</script>", "</script><script>window.hacked=2</script>", "<img src=x onerror=window.hacked=3>",
    "&amp;&lt;", "/*DATA*/", "/*SCRIPT*/", "<!--<script>", "{0} $& $1", "constructor", "__proto__", "toString",
]  # fmt: skip
HEBREW = ["▁הכלב", "▁רץ", "▁מהר", ".", "</s>"]
ARABIC = ["▁الكلب", "▁ير", "كض", ".", "</s>"]
KOREAN = ["▁저는", "▁어제", "▁재미있는", "▁책을", "▁읽었", "습니다", ".", "</s>"]


def test_a_page_is_complete_without_a_network(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    assert page.title() == f"{SENTENCE} · regard"
    expect(page.locator("h1")).to_have_text(seen.title)
    expect(page.locator("#source")).to_have_text(SENTENCE)
    expect(page.locator("#translation")).to_have_text(seen.translation)
    facts = dict(zip(texts(page, ".facts dt"), texts(page, ".facts dd"), strict=True))
    assert facts == seen.facts
    expect(page.locator("#caution")).to_contain_text("not by itself an explanation")
    assert tabs_of(page) == TABS
    for tab in TABS:
        go_to(page, tab)
        expect(page.locator("[aria-selected=true]")).to_have_id(f"tab-{tab}")
        expect(page.locator("#view h2").first).to_be_visible()


def test_a_link_opens_its_view(open_page: Open, demo_page: Path) -> None:
    for name in ("decoding", "steps"):
        page = open_page(f"{demo_page.as_uri()}#{name}")
        expect(page.locator("#step-slider")).to_be_visible()
    go_to(page, "look")
    go_to(page, "steps")
    assert page.evaluate("location.hash") == "#decoding"
    page = open_page(f"{demo_page.as_uri()}#nowhere")
    expect(page.locator(".band")).to_be_visible()


def test_arrow_keys_walk_the_tabs(open_page: Open, demo_page: Path) -> None:
    page = open_page(demo_page)
    page.locator("#tab-look").focus()
    for key, tab in [("ArrowRight", "walk"), ("End", "positions"), ("ArrowRight", "look"), ("ArrowLeft", "positions"),
                     ("Home", "look")]:  # fmt: skip
        page.keyboard.press(key)
        expect(page.locator(f"#view > .view.{tab}")).to_have_count(1)
        expect(page.locator(f"#tab-{tab}")).to_be_focused()
        expect(page.locator("#view")).to_have_attribute("aria-labelledby", f"tab-{tab}")
        expect(page.locator("[role=tab][tabindex='0']")).to_have_id(f"tab-{tab}")


def test_an_empty_translation_is_said_to_be_empty(open_page: Open, tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", [decoded(["▁A", "</s>"], ["</s>"])])
    page = open_page(tmp_path / "page.html")
    for tab in ("look", "steps"):
        go_to(page, tab)
        expect(page.locator("#translation .nothing")).to_have_text("(nothing)")
        expect(page.locator("#translation .nothing")).to_have_css("font-style", "italic")
    page.locator("#language-ko").click()
    expect(page.locator("#translation .nothing")).to_have_text("(없음)")


def test_a_walk_too_long_for_the_file_is_explained(open_page: Open, tmp_path: Path, seen: Attention) -> None:
    (tmp_path / "page.html").write_text(render([seen.to_dict(walk=False)] * 2), encoding="utf-8")
    page = open_page(tmp_path / "page.html")
    go_to(page, "walk")
    expect(page.locator(".walk")).to_contain_text("does not carry the walk of this part")


def leftovers(page: Page) -> list[str]:
    """Headings and labels without a Korean letter, that are neither numbers nor symbols nor tokens of the sentence."""
    found = texts(
        page, "h2, h3, nav button, #view .muted, #view label, #view legend, .explanation, figcaption, #caution"
    )
    found += page.locator("#view [aria-label]").evaluate_all(
        "(all) => all.filter((each) => each.matches('input, canvas[role=img], [role=group]')).map((each) => each.ariaLabel)"
    )
    return [text for text in found if re.search(r"[A-Za-z]{3}", text) and not HANGUL.search(text)]


def test_the_language_can_be_switched(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    expect(page.locator("html")).to_have_attribute("lang", "en")
    for tab in TABS:
        go_to(page, tab)
        english = texts(page, "h2, h3")
        assert not any(map(HANGUL.search, english))
        page.locator("#language-ko").click()
        expect(page.locator("html")).to_have_attribute("lang", "ko")
        expect(page.locator("#language-ko")).to_have_attribute("aria-pressed", "true")
        korean = texts(page, "h2, h3")
        assert len(korean) == len(english)
        assert all(map(HANGUL.search, korean)), korean
        assert not leftovers(page)
        expect(page.locator("#translation")).to_have_text(seen.translation)
        page.locator("#language-en").click()
        assert texts(page, "h2, h3") == english


def test_a_korean_reader_is_met_in_korean(open_page: Open, demo_page: Path) -> None:
    page = open_page(demo_page, locale="ko-KR")
    expect(page.locator("html")).to_have_attribute("lang", "ko")
    assert all(map(HANGUL.search, texts(page, "[role=tab]")))


def test_the_dark_has_its_own_colours(open_page: Open, demo_page: Path) -> None:
    page = open_page(demo_page, color_scheme="light")
    picture = "document.querySelector('.small canvas').toDataURL()"
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(picture), page.evaluate(background)
    page.emulate_media(color_scheme="dark")
    until(page, f"{background} !== {light[1]!r}")
    until(page, f"{picture} !== {light[0]!r}")
    dark = page.evaluate(picture), page.evaluate(background)
    channels = [sum(map(int, re.findall(r"\d+", each)[:3])) for each in (light[1], dark[1])]
    assert channels[0] > 3 * 200
    assert channels[1] < 3 * 60
    other = open_page(demo_page, color_scheme="dark")  # to begin in the dark is the same
    assert (other.evaluate(picture), other.evaluate(background)) == dark
    for tab in TABS:
        go_to(other, tab)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_nothing_sticks_out_on_a_phone(open_page: Open, demo_page: Path, language: str) -> None:
    page = open_page(demo_page, locale=language, **NARROW)
    for tab in TABS:
        go_to(page, tab)
        assert fits(page), tab


def test_what_is_cut_on_a_phone_fades(open_page: Open, tmp_path: Path) -> None:
    weights = {"cross": at_random(2, 12, 5, 6)}
    page = open_page(write_with_movie(tmp_path / "page.html", imagined(weights=weights)), **NARROW)
    small = page.locator(".look .small")
    expect(small).to_have_class(re.compile(r"\bmore\b"))
    small.evaluate("(scroller) => scroller.scrollTo({ left: 9999 })")
    expect(small).not_to_have_class(re.compile(r"\bmore\b"))
    expect(page.locator(".heat .scroll")).not_to_have_class(re.compile(r"\bmore\b"))  # it fits
    for tab in page.locator("[role=tab]").all():
        box = tab.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= NARROW["viewport"]["width"]


def decoded(source: list[str], target: list[str], **changes: object) -> Attention:
    """With a search, so that the tokens stand in every view that there can be."""
    alternatives = [Alternatives(source[:3], [0.5, 0.3, 0.1], [2.0, 1.5, 0.4], 0.5, 1) for _ in target]
    steps = [
        SearchStep([SearchHypothesis(0, token, -0.1, -0.2, -0.2, " ".join(target[: t + 1]))], [])
        for t, token in enumerate(target)
    ]
    return replace(imagined(source, target), alternatives=alternatives, steps=steps, **changes)  # type: ignore[arg-type]


def write_with_movie(path: Path, seen: Attention) -> Path:
    probe = {"source": side_of(seen.text, seen.source_tokens), "target": side_of(seen.translation, seen.target_tokens)}
    frame = {
        "update": 1,
        "metrics": {},
        "probes": [{"weights": pack_probabilities(seen.weights["cross"]), "text": seen.translation}],
    }
    path.write_text(
        render([seen.to_dict()], movie={"kind": "cross", "probes": [probe], "frames": [frame, frame]}), encoding="utf-8"
    )
    return path


def test_a_word_may_be_wider_than_a_phone(open_page: Open, tmp_path: Path) -> None:
    word = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft"
    tokens = [f"▁{word}", f"▁{word}", "</s>"]
    given = decoded(tokens[1:], tokens, text=word, translation=f"{word} {word}", title=word, facts={word: word})
    page = open_page(write_with_movie(tmp_path / "page.html", given), **NARROW)
    expect(page.locator(".warning.repeated")).to_be_visible()
    page.locator("#words").click()
    for tab in tabs_of(page):
        go_to(page, tab)
        assert fits(page), tab


@pytest.mark.parametrize("words", [False, True])
def test_text_stays_text(open_page: Open, tmp_path: Path, words: bool) -> None:
    tokens = [*HOSTILE, *(f"▁{text}" for text in HOSTILE), "</s>"]
    whole = " ".join(HOSTILE)
    given = decoded(tokens, tokens[::-1], text=whole, translation=whole, title=whole, facts={whole: whole})
    page = open_page(write_with_movie(tmp_path / "page.html", given))
    assert page.title() == f"{whole} · regard"
    for selector in ("h1", "#source", "#translation", ".facts dt", ".facts dd"):
        expect(page.locator(selector)).to_have_text(whole)
    if words:
        page.locator("#words").click()
    shown = texts(page, ".token[data-side=key]")
    assert set(HOSTILE) <= set(shown)
    for text in HOSTILE:
        page.locator(".token[data-side=key]").nth(shown.index(text)).hover()
        expect(page.locator("#readout .key strong")).to_have_text(text)
    for language in ("en", "ko"):
        page.locator(f"#language-{language}").click()
        for tab in tabs_of(page):
            go_to(page, tab)
            assert whole in (page.locator("body").text_content() or "")
    assert page.evaluate("window.hacked") is None
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == 0


def directions(page: Page) -> list[str]:
    found: list[str] = page.locator(".look .side p").evaluate_all("(all) => all.map((each) => each.dir)")
    return found


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [(HEBREW, KOREAN, ["rtl", "ltr"]), (KOREAN, ARABIC, ["ltr", "rtl"]), (ARABIC, HEBREW, ["rtl", "rtl"])],
)
def test_every_script_runs_in_its_direction(
    open_page: Open, tmp_path: Path, source: list[str], target: list[str], expected: list[str]
) -> None:
    given = decoded(source, target)
    page = open_page(write_with_movie(tmp_path / "page.html", given), **NARROW)
    assert directions(page) == expected
    expect(page.locator(".heat .map")).to_have_attribute("dir", expected[0])
    for side, tokens in (("key", source), ("query", target)):
        assert texts(page, f".token[data-side={side}]") == [
            token.replace("▁", "").replace("</s>", "end") for token in tokens
        ]
        boxes = [page.locator(f"#token-{side}-{index}").bounding_box() for index in (0, 1)]
        assert boxes[0] is not None
        assert boxes[1] is not None
        if boxes[0]["y"] == boxes[1]["y"]:
            assert (boxes[0]["x"] > boxes[1]["x"]) == (expected[side == "query"] == "rtl")
    reads = {"rtl": "ArrowLeft", "ltr": "ArrowRight"}
    page.locator("#token-key-0").focus()
    page.keyboard.press(reads[expected[0]])
    expect(page.locator("#token-key-1")).to_be_focused()
    page.locator(".heat .cells").focus()
    page.keyboard.press(reads[expected[0]])
    assert texts(page, ".heat .readout bdi")[1] == source[1].replace("▁", "")
    page.locator(".heat .cell").nth(3).hover()  # not the one in the middle
    assert texts(page, ".heat .readout bdi")[1] == source[3].replace("▁", "")
    expect(page.locator("#source")).to_have_css("direction", expected[0])
    expect(page.locator("#translation")).to_have_css("direction", expected[1])
    for tab in tabs_of(page):
        go_to(page, tab)
        assert fits(page), tab


@pytest.mark.slow
def test_two_hundred_tokens_stay_fluid(open_page: Open, tmp_path: Path) -> None:
    tokens = [f"▁{'wort' * (1 + n % 3)}{n}" if n % 3 else f"s{n}" for n in range(199)] + ["</s>"]
    kinds = ("encoder", "decoder", "cross")
    given = imagined(tokens, tokens, weights={kind: at_random(6, 8, 200, 200, seed) for seed, kind in enumerate(kinds)})
    write_page(tmp_path / "page.html", [given])
    page = open_page(tmp_path / "page.html")
    elements = "document.querySelectorAll('*').length"
    for kind in kinds:
        page.locator(f"#kind-{kind}").click()
        expect(page.locator(".heat .cells > canvas")).to_have_count(1)  # and not 40,000 elements
        expect(page.locator(".heat .cell")).to_have_count(0)
        for query in range(0, 200, 30):
            page.locator(f"#token-query-{query}").hover()
            expect(page.locator("#readout .query strong")).to_have_text(tokens[query].replace("▁", ""))
        assert page.locator(".active path").count() > 0
        assert page.evaluate(elements) < 6_000
    page.locator("#words").click()
    assert page.evaluate(elements) < 6_000
    page.locator(".heat .cells").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".heat .readout bdi").nth(1)).not_to_be_empty()
    page.set_viewport_size({"width": 360, "height": 740})
    assert fits(page)


def test_a_notebook_frames_the_page(open_page: Open, tmp_path: Path, seen: Attention) -> None:
    (tmp_path / "notebook.html").write_text(f"<!doctype html><body>{seen._repr_html_()}</body>", encoding="utf-8")
    page = open_page(tmp_path / "notebook.html")
    frame = page.frame_locator("iframe")
    expect(frame.locator("#translation")).to_have_text(seen.translation)
    for tab in TABS:  # the frame has no address of its own to remember a tab by
        frame.locator(f"#tab-{tab}").click()
        expect(frame.locator(f"#view > .view.{tab}")).to_have_count(1)
    frame.locator("#tab-look").click()
    frame.locator("#token-query-1").hover()
    expect(frame.locator("#readout .query strong")).to_have_text("read")
