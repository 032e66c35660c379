"""The Look view under hand: pointer, keyboard and controls."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from regard.tasks.translation.attention import Attention
from regard.view.scenes import render, write_page
from regard.view.words import words_of
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, attributes, fits, until
from tests.view.pages import SOURCE, TARGET, at_random
from tests.view.pages import seen as imagined


def depths(page: Page, side: str) -> list[float]:
    """How deeply the tokens of a side are shaded."""
    found = page.locator(f".token[data-side={side}]").evaluate_all(
        "(all) => all.map((token) => Number(token.style.getPropertyValue('--depth')))"
    )
    return [float(depth) for depth in found]


def readable(token: str) -> str:
    return {"</s>": "end", "<s>": "start"}.get(token, token.replace("▁", ""))


def test_pointing_at_a_token_draws_where_it_looks(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    until(page, "document.querySelector('.resting path')")
    expect(page.locator(".active path")).to_have_count(0)
    assert not any(depths(page, "key"))
    hint = page.locator("#readout").text_content()
    page.locator("#token-query-3").hover()
    row = np.asarray(seen.weights["cross"][-1], dtype=np.float64).mean(0)[3]
    expect(page.locator(".active path")).to_have_count(int((row >= 0.01).sum()))
    assert int(np.argmax(depths(page, "key"))) == int(row.argmax())
    np.testing.assert_allclose(depths(page, "key"), row**0.7, atol=0.006)
    expect(page.locator("#token-query-3")).to_have_class("token self")
    expect(page.locator("#readout .query strong")).to_have_text(readable(seen.target_tokens[3]))
    expect(page.locator("#readout .query bdi").first).to_have_text(readable(seen.source_tokens[row.argmax()]))
    page.mouse.move(2, 2)
    expect(page.locator(".active path")).to_have_count(0)
    assert not any(depths(page, "key"))
    assert page.locator("#readout").text_content() == hint


def test_lines_begin_and_end_at_their_own_words(open_page: Open, tmp_path: Path) -> None:
    """However long the sentences, however narrow the screen; and no word is broken."""
    words = [f"▁{'Wort' * (1 + n % 4)}{n}" if n % 5 else f"s{n}" for n in range(59)]
    for name, count in (("short", 7), ("long", 59)):
        tokens = [*words[:count], "</s>"]
        weights = {"cross": at_random(1, 3, len(tokens), len(tokens), seed=count)}
        write_page(tmp_path / f"{name}.html", [imagined(tokens, tokens[::-1], weights=weights)])
        page = open_page(tmp_path / f"{name}.html")
        for head in ("mean", "every"):
            page.locator(f"#head-{head}").click()
            page.locator("#token-query-1").hover()
            for size in ({"width": 1280, "height": 900}, NARROW["viewport"]):
                page.set_viewport_size(size)
                page.wait_for_timeout(50)  # until it is laid out anew
                found = page.evaluate(ENDS)
                assert found["lines"] > count
                assert found["astray"] == []
                assert found["hues"] == (3 if head == "every" else 1)
                assert found["broken"] == []
                assert fits(page)


ENDS = """() => {
    const lines = [...document.querySelectorAll(".band path")], tokens = [...document.querySelectorAll(".band .token")];
    const room = document.querySelector(".band").getBoundingClientRect();
    const inside = (x, y, side, index) => {
        const box = document.querySelector(`#token-${side}-${index}`).getBoundingClientRect();
        x += room.left; y += room.top;
        return x > box.left - 1 && x < box.right + 1 && y > box.top - 1 && y < box.bottom + 1;
    };
    const astray = lines.filter((line) => {
        const begin = line.getPointAtLength(0), end = line.getPointAtLength(line.getTotalLength());
        return !inside(begin.x, begin.y, "query", line.dataset.query) || !inside(end.x, end.y, "key", line.dataset.key);
    });
    const broken = tokens.filter((token) => token.clientHeight > 1.6 * parseFloat(getComputedStyle(token).fontSize));
    return { lines: lines.length, astray: astray.map((line) => line.getAttribute("d")),
             hues: new Set(lines.map((line) => line.style.stroke)).size, broken: broken.map((token) => token.textContent) };
}"""


def test_pointing_at_a_key_shows_who_looks_at_it(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    page.locator("#token-key-2").hover()
    column = np.asarray(seen.weights["cross"][-1], dtype=np.float64).mean(0)[:, 2]
    np.testing.assert_allclose(depths(page, "query"), column**0.7, atol=0.006)
    assert not any(depths(page, "key"))
    expect(page.locator("#readout .key bdi").first).to_have_text(readable(seen.target_tokens[column.argmax()]))
    # In self-attention a token looks, and is looked at.
    page.locator("#kind-encoder").click()
    page.locator("#token-query-2").hover()
    assert any(depths(page, "key"))
    assert any(depths(page, "query"))
    expect(page.locator("#readout p")).to_have_count(2)


def test_the_decoder_looks_at_what_it_has_read(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    page.locator("#kind-decoder").click()
    page.locator("#token-query-2").hover()
    assert not any(depths(page, "key")[3:])
    assert any(depths(page, "key")[:3])
    keys = [text.strip() for text in page.locator(".token[data-side=key]").all_text_contents()]
    assert keys == [readable(token) for token in seen.read_tokens]
    # In the map, what comes later is masked: that is no weight of 0. And "start" is not the word "start".
    expect(page.locator(".heat .across bdi").first).to_have_text("⟨start⟩")
    expect(page.locator(".heat .cell.hidden")).to_have_count(len(keys) * (len(keys) - 1) // 2)
    page.locator("#words").click()
    queries, read = (words_of(tokens) for tokens in seen.axes("decoder"))
    later = sum(key.first >= query.end for query in queries for key in read)
    expect(page.locator(".heat .cell.hidden")).to_have_count(later)
    assert attributes(page, ".sentence", "lang") == ["de", "en"]


def test_the_keyboard_does_what_the_pointer_does(open_page: Open, demo_page: Path) -> None:
    page = open_page(demo_page)
    page.locator("#words").focus()
    page.keyboard.press("Tab")
    expect(page.locator("#token-key-0")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#token-query-0")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#token-query-1")).to_be_focused()
    looked = depths(page, "key")
    assert any(looked)
    until(page, "document.querySelector('.active path')")
    page.keyboard.press("Enter")
    expect(page.locator("#token-query-1")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("End")
    assert depths(page, "key") != looked
    page.evaluate("document.activeElement.blur()")
    assert depths(page, "key") == looked  # the pin holds
    page.locator("#token-query-1").focus()
    page.keyboard.press("Escape")
    expect(page.locator("#token-query-1")).to_have_attribute("aria-pressed", "false")
    assert not any(depths(page, "key"))


def test_a_pin_stays_with_its_sentence(open_page: Open, demo_page: Path) -> None:
    page = open_page(demo_page)
    page.locator("#token-query-3").click()
    page.locator("#head-1").click()
    expect(page.locator("#token-query-3")).to_have_attribute("aria-pressed", "true")
    page.locator("#kind-decoder").click()
    expect(page.locator("#token-query-3")).to_have_attribute("aria-pressed", "true")
    page.locator("#kind-encoder").click()
    assert "true" not in attributes(page, ".token[data-side=query]", "aria-pressed")


def test_an_address_reproduces_what_it_names(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(f"{demo_page.as_uri()}#look/cross/1/3/yesterday")
    pressed = "[...document.querySelectorAll('#view [aria-pressed=true]')].map((each) => each.id).join(' ')"
    place = seen.target_tokens.index("▁yesterday")
    assert page.evaluate(pressed) == f"kind-cross layer-0 head-2 token-query-{place} small-0-2"
    for choice in ("#kind-encoder", "#layer-1", "#head-every", "#words", "#token-query-2", "#language-ko"):
        page.locator(choice).click()
    expect(page.locator("#token-query-2")).to_have_attribute("aria-pressed", "true")
    chosen, address = page.evaluate(pressed), page.evaluate("decodeURI(location.hash)")
    assert address == "#look/encoder/2/every/gestern?words&lang=ko"
    page.reload()
    assert page.evaluate(pressed) == chosen
    expect(page.locator("#language-ko")).to_have_attribute("aria-pressed", "true")
    drawing = page.evaluate("new XMLSerializer().serializeToString(drawingOf(document.querySelector('.band')))")
    assert drawing.count("<path") == page.locator(".band path").count() > 0
    assert "gestern" in drawing
    assert "var(" not in drawing  # another program knows nothing of the page's colours
    for damaged in ("#look/cross/9/%E0/nobody", "#look/elsewhere/-1/x", "#walk/%"):
        page.evaluate("(hash) => { location.hash = hash; }", damaged)
        expect(page.locator("#view > .view")).to_have_count(1)


def test_arrow_keys_read_the_map(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    page.locator("#head-2").click()
    cells = page.locator(".heat .cells")
    cells.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    readout = page.locator(".heat .readout")
    names = [readable(seen.target_tokens[2]), readable(seen.source_tokens[1])]
    assert readout.locator("bdi").all_text_contents() == names
    shown = float(readout.locator("b").text_content() or "nan")
    assert shown == pytest.approx(float(seen.weights["cross"][-1, 2, 2, 1]), abs=0.00052)
    active = cells.get_attribute("aria-activedescendant")
    (label,) = attributes(page, f"#{active}", "aria-label")
    assert label == f"{names[0]}, {names[1]}: {shown:.3f}"
    assert any(depths(page, "key"))  # the sentences follow
    page.locator(".heat .cell").first.hover()
    assert readout.locator("bdi").all_text_contents() == [
        readable(seen.target_tokens[0]),
        readable(seen.source_tokens[0]),
    ]


def test_layers_and_heads_are_chosen_by_either_way(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    layers, heads = seen.weights["encoder"].shape[:2]
    page.locator("#kind-encoder").click()
    expect(page.locator("#kind-encoder")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".small button[data-layer]")).to_have_count(layers * (heads + 2))
    for layer, head in [(0, "1"), (layers - 1, str(heads - 1)), (1, "mean"), (2, "max")]:
        page.locator(f"#small-{layer}-{head}").click()
        expect(page.locator(f"#layer-{layer}")).to_have_attribute("aria-pressed", "true")
        expect(page.locator(f"#head-{head}")).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".small [aria-pressed=true]")).to_have_id(f"small-{layer}-{head}")
        expect(page.locator(f"#small-{layer}-{head}")).to_be_focused()  # drawing again keeps the keyboard's place
    page.locator("#layer-0").click()
    page.locator("#head-0").click()
    expect(page.locator(".small [aria-pressed=true]")).to_have_id("small-0-0")


def test_unseen_words_and_repetitions_are_warned_of(open_page: Open, tmp_path: Path) -> None:
    target = ["▁Ein", "▁Hund", "▁Ein", "▁Hund", "</s>"]
    cross = at_random(2, 2, len(target), len(SOURCE))
    cross[..., 2:4] = 1e-3  # nobody looks at "runs", of two tokens
    given = imagined(SOURCE, target, weights={"cross": cross / cross.sum(-1, keepdims=True)})
    write_page(tmp_path / "page.html", [given])
    page = open_page(tmp_path / "page.html")
    expect(page.locator(".warning.unseen")).to_contain_text("in layer 1: “\u2068runs\u2069”")
    expect(page.locator(".warning.repeated")).to_contain_text("Ein Hund Ein Hund")
    assert page.locator(".token.unseen").all_text_contents() == ["run", "s"]
    assert page.locator(".token.repeated").all_text_contents() == ["Ein", "Hund", "Ein", "Hund"]
    page.locator("#words").click()
    assert page.locator(".token.unseen").all_text_contents() == ["runs"]
    page.locator("#language-ko").click()
    expect(page.locator(".warning.unseen")).to_contain_text("원문 단어")


def test_without_reason_there_is_no_warning(open_page: Open, tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", [imagined(SOURCE, TARGET)])
    page = open_page(tmp_path / "page.html")
    expect(page.locator(".band")).to_be_visible()
    expect(page.locator(".warning")).to_have_count(0)


def test_parts_of_a_long_text_are_chosen(open_page: Open, tmp_path: Path) -> None:
    parts = [imagined(), imagined(SOURCE[:3], TARGET[:2], text="Another part", translation="Ein Teil")]
    write_page(tmp_path / "page.html", parts)
    page = open_page(tmp_path / "page.html")
    page.locator("#token-query-4").click()
    for number, part in [(0, parts[0]), (1, parts[1])]:
        page.locator("#parts").select_option(index=number)
        expect(page.locator("#part-source")).to_have_text(part.text)
        expect(page.locator("#part-translation")).to_have_text(part.translation)
        expect(page.locator(".token[data-side=query]")).to_have_count(len(part.target_tokens))
        expect(page.locator("#source")).to_have_text("A dog runs. Another part")  # the whole stays
        expect(page.locator("#translation")).to_have_text("Ein Hund rennt Ein Teil")


def test_a_text_of_one_part_is_shown_once(open_page: Open, tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", [imagined()])
    page = open_page(tmp_path / "page.html")
    expect(page.locator(".sentence")).to_have_count(2)
    expect(page.locator("#parts")).to_have_count(0)


def shown_map(page: Page) -> list[float]:
    return [float(label.rpartition(": ")[2]) for label in attributes(page, ".heat .cell", "aria-label")]


def test_heads_switched_off_count_neither_in_mean_nor_in_max(open_page: Open, tmp_path: Path) -> None:
    cross = at_random(2, 4, len(TARGET), len(SOURCE))
    scene = imagined(weights={"cross": cross}).to_dict()
    scene["attention"]["cross"]["off"] = [[0, 1, 2, 3], [0, 3]]
    (tmp_path / "page.html").write_text(render([scene]), encoding="utf-8")
    page = open_page(tmp_path / "page.html")
    caption = page.locator(".weights > .muted")
    heard = cross[1, [1, 2]]
    for head, expected in (("mean", heard.mean(0)), ("max", heard.max(0))):
        page.locator(f"#head-{head}").click()
        np.testing.assert_allclose(shown_map(page), expected.ravel(), atol=0.00052)
        expect(caption).to_have_text(f"Layer 2, {head} · 2 heads off")
    page.locator("#head-3").click()
    np.testing.assert_allclose(shown_map(page), cross[1, 3].ravel(), atol=0.00052)  # what it would have looked at
    expect(caption).to_have_text("Layer 2, Head 4 · off")
    page.locator("#head-2").click()
    expect(caption).to_have_text("Layer 2, Head 3")
    expect(page.locator(".head.off")).to_have_count(6)
    page.locator("#layer-0").click()
    page.locator("#head-mean").click()
    assert not any(shown_map(page))
    expect(caption).to_have_text("Layer 1, mean · 4 heads off")


def test_bytes_are_readable_and_explained(open_page: Open, tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", [imagined(["▁A", "<0xD9>", "<0x8A>", "</s>"], TARGET)])
    page = open_page(tmp_path / "page.html")
    assert page.locator(".token.byte").all_text_contents() == ["0xD9", "0x8A"]
    assert "0xD9" in page.locator(".heat .across bdi").all_text_contents()
    expect(page.locator(".token.byte").first).to_have_attribute("title", re.compile("one byte of a character"))
    page.locator("#language-ko").click()
    expect(page.locator(".token.byte").first).to_have_attribute("title", re.compile("바이트 하나"))


def test_a_source_word_can_be_pinned_by_touch(open_page: Open, demo_page: Path) -> None:
    page = open_page(demo_page, has_touch=True)
    page.locator("#token-key-2").tap()
    expect(page.locator("#readout")).to_contain_text("is looked at by")
    page.locator("#token-key-2").tap()
    page.locator("#token-query-1").tap()
    expect(page.locator("#token-query-1")).to_have_attribute("aria-pressed", "true")


def test_the_keyboard_keeps_its_place_when_the_language_changes(open_page: Open, demo_page: Path) -> None:
    page = open_page(demo_page)
    page.locator("#language-ko").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#language-ko")).to_be_focused()
