"""Every number that a page shows is the model's: what is drawn is read back and held against what was recorded."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Page, expect

from regard.config import TranslationRecipe
from regard.data.tokenizer import Tokenizer
from regard.tasks.registry import build
from regard.tasks.translation.attention import Attention
from regard.tasks.translation.translator import Translator
from regard.view.arrays import pack, pack_probabilities, unpack
from regard.view.scenes import write_page
from regard.view.words import merge, words_of
from tests.browser.conftest import Open
from tests.browser.reading import attributes, go_to, number, numbers, texts
from tests.conftest import made_up_sentences

SENTENCES = made_up_sentences(1, 16)  # those that the tiny translator has seen
ROUNDED = 0.5e-3 + 1e-5  # a third decimal, of a share in 65,535 steps


def shown_map(page: Page) -> NDArray[np.float64]:
    """All cells of the map, [queries, keys]; what a mask hides is no number, and got no weight."""
    rows = page.locator(".heat [role=row]").count()
    labels = attributes(page, ".heat .cell", "aria-label")
    return np.array([float(label.rpartition(": ")[2].replace("masked", "0")) for label in labels]).reshape(rows, -1)


def map_of(seen: Attention, kind: str, layer: int, head: int | str, words: bool) -> NDArray[np.float64]:
    weights = np.asarray(seen.weights[kind][layer], dtype=np.float64)
    chosen = weights[head] if isinstance(head, int) else weights.mean(0) if head == "mean" else weights.max(0)
    return merge(chosen, *(words_of(tokens) for tokens in seen.axes(kind))) if words else chosen


def test_a_tensor_unpacks_to_what_was_packed(open_page: Open, demo_page: Path) -> None:
    page = open_page(demo_page)
    every_half = np.arange(2**16, dtype="<u2").view("<f2")
    every_half = every_half[np.isfinite(every_half)]  # subnormals, both zeros, and the largest of all among them
    for packed in (pack(every_half.reshape(2, -1)), pack_probabilities(np.linspace(0, 1, 65_536))):
        shape, values = page.evaluate(
            "(packed) => { const it = unpack(packed); return [it.shape, [...it.values]]; }", packed
        )
        assert shape == packed["shape"]
        assert np.array_equal(np.float32(values), np.float32(unpack(packed)).ravel())
    assert page.evaluate("halfToNumber(0x8000)") == 0
    assert page.evaluate("[halfToNumber(1), halfToNumber(0xfbff)]") == [2.0**-24, -65_504]


def test_the_page_computes_with_the_weights_of_the_model(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    for kind, weights in seen.weights.items():
        shape, values = page.evaluate(
            "(kind) => { const it = tensorOf(page.scene.attention[kind].weights); return [it.shape, [...it.values]]; }",
            kind,
        )
        assert tuple(shape) == weights.shape
        np.testing.assert_allclose(np.reshape(values, shape), weights, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_the_map_shows_the_weights(open_page: Open, demo_page: Path, seen: Attention, kind: str) -> None:
    page = open_page(demo_page)
    page.locator(f"#kind-{kind}").click()
    layers = seen.weights[kind].shape[0]
    for layer, head, words in [(0, 2, False), (layers - 1, 0, True), (layers - 1, "mean", True), (0, "max", False)]:
        page.locator(f"#layer-{layer}").click()
        page.locator(f"#head-{head}").click()
        if (page.locator("#words").get_attribute("aria-checked") == "true") != words:
            page.locator("#words").click()
        expected = map_of(seen, kind, layer, head, words)
        shown = shown_map(page)
        np.testing.assert_allclose(shown, expected, rtol=0, atol=ROUNDED)
        printed = [text and number(text) for text in texts(page, ".heat .cell")]
        for text, weight in zip(printed, expected.ravel(), strict=True):
            assert abs(text - weight) <= 0.005 + 1e-5 if text != "" else weight < 0.005 + 1e-5


def test_entropy_and_coverage_are_those_of_the_weights(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    page.locator("#layer-1").click()
    page.locator("#head-1").click()
    weights = map_of(seen, "cross", 1, 1, False)
    bits = -(weights * np.log2(np.maximum(weights, 1e-30))).sum(1)
    shown = [number(title) for title in attributes(page, ".heat .entropy span", "title")]
    np.testing.assert_allclose(shown, bits, atol=0.006)
    shown = [number(title) for title in attributes(page, ".heat .coverage span", "title")]
    np.testing.assert_allclose(shown, weights.sum(0), atol=0.006)
    parts = page.locator(".heat .entropy i").evaluate_all(
        "(all) => all.map((bar) => bar.style.getPropertyValue('--part'))"
    )
    np.testing.assert_allclose(np.float64(parts), bits / np.log2(weights.shape[1]), atol=1e-3)


def test_a_token_tells_its_strongest_looks(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    page.locator("#head-0").click()
    weights = map_of(seen, "cross", 1, 0, False)
    for query, row in enumerate(weights):
        page.locator(f"#token-query-{query}").hover()
        strongest = [key for key in np.argsort(-row, kind="stable")[:4] if row[key] >= 0.01]
        said = [number(text) for text in texts(page, "#readout .query b")]
        np.testing.assert_allclose(said, row[strongest], atol=0.0051)
        assert texts(page, "#readout .query bdi")[0] == seen.source_tokens[strongest[0]].replace("▁", "").replace(
            "</s>", "end"
        )


VECTORS = ".strips:not(.matrices)"  # above them a step may show its weight matrices


def walked(page: Page, part: str, step: str, selector: str) -> list[str]:
    return texts(page, f".walk .step[data-part={part}][data-step={step}] {selector}")


def close(shown: list[str], recorded: Any) -> None:
    """Two decimals (one from 100 on) of numbers in half precision."""
    wanted = np.asarray(recorded, dtype=np.float64)
    found = np.array([number(text) for text in shown])
    assert found.shape == wanted.shape
    assert (np.abs(found - wanted) <= np.where(np.abs(wanted) < 99, 0.005, 0.05) + 1e-3 * np.abs(wanted) + 1e-4).all()


@pytest.mark.parametrize(("part", "module"), [("self", "self_attention"), ("cross", "cross_attention")])
def test_the_walk_shows_what_was_recorded(
    open_page: Open, demo_page: Path, seen: Attention, part: str, module: str
) -> None:
    page = open_page(demo_page)
    go_to(page, "walk")
    page.locator(".walk [data-side=decoder][data-token='3']").click()
    page.locator("#walk-layer").select_option("2")
    page.locator("#walk-head").select_option("2")
    recorded = {name: tensor[0].double().numpy() for name, tensor in seen.record[f"decoder.1.{module}"].items()}
    size = recorded["query"].shape[-1]
    scores, weights = recorded["scores"][1, 3], recorded["weights"][1, 3]
    hidden = 4 if part == "self" else len(scores)  # the first key that the mask hides from the query of token 3
    products = recorded["key"][1] @ recorded["query"][1, 3]
    np.testing.assert_allclose(products / size**0.5, scores, rtol=1e-4, atol=1e-4)
    # The page multiplies scores of half precision by √d again.
    found = np.array([number(text) for text in walked(page, part, "scores", ".keys li > span")])
    np.testing.assert_allclose(found, products, rtol=2e-3, atol=0.06)
    close(walked(page, part, "scale", ".keys li > span"), scores)
    masked = walked(page, part, "mask", ".keys li > span")
    assert masked[hidden:] == ["−∞"] * (len(scores) - hidden)
    close(masked[:hidden], scores[:hidden])
    shares = [number(text) for text in walked(page, part, "softmax", "td.share")]
    np.testing.assert_allclose(shares, weights, atol=0.0051)
    assert not any(shares[hidden:])
    close(walked(page, part, "output", f"{VECTORS} .reading")[0].rstrip(" …").split(), recorded["output"][3][:6])


def test_the_walk_begins_and_ends_with_the_models_numbers(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    go_to(page, "walk")
    page.locator(".walk [data-side=decoder][data-token='2']").click()
    recorded = {name: tensor.double().numpy() for name, tensor in seen.record["target_embedding"].items()}
    sums = [text.rstrip(" …").split() for text in walked(page, "start", "position", ".reading")]
    for shown, name in zip(sums, ("vectors", "positions", "output"), strict=True):
        close(shown, np.broadcast_to(recorded[name], recorded["output"].shape)[0, 2][:6])
    logits = seen.record["model"]["logits"][0, 2].double()
    best = logits.topk(10)
    close(walked(page, "end", "logits", ".keys li > span"), best.values.numpy())
    shares = [number(text) for text in walked(page, "end", "next", "td.share")]
    np.testing.assert_allclose(shares, logits.softmax(-1)[best.indices].numpy(), atol=0.0051)
    (written,) = walked(page, "end", "next", "[aria-current] bdi")
    assert written == seen.target_tokens[2].replace("▁", "")


def test_of_each_step_one_strip_is_a_stop_of_the_tab_key(open_page: Open, demo_page: Path) -> None:
    page = open_page(demo_page)
    go_to(page, "walk")
    stops = page.locator(".walk .step").evaluate_all(
        "(all) => all.map((step) => [step.querySelectorAll('canvas').length, step.querySelectorAll('canvas[tabindex=\"0\"]').length])"
    )
    assert max(count for count, _ in stops) > 1
    assert all(stop == min(count, 1) for count, stop in stops)
    strips = page.locator(f".walk .step[data-part=cross][data-step=projections] {VECTORS} canvas")
    strips.first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    expect(strips.nth(1)).to_be_focused()
    assert [strip.get_attribute("tabindex") for strip in strips.all()] == ["-1", "0", "-1"]
    page.keyboard.press("ArrowUp")
    expect(strips.first).to_be_focused()
    assert (strips.first.get_attribute("aria-valuetext") or "").startswith("2: ")


@pytest.mark.parametrize("width", [1280, 360])
def test_the_walk_lines_up_what_is_multiplied_and_wraps_its_keys(open_page: Open, demo_page: Path, width: int) -> None:
    page = open_page(demo_page, viewport={"width": width, "height": 800})
    go_to(page, "walk")
    edges = page.locator(f".walk .step[data-step=projections] {VECTORS} canvas").evaluate_all(
        "(all) => all.map((strip) => strip.getBoundingClientRect()).map(({ left, right }) => [left, right])"
    )
    assert len(edges) == 6
    for of_one_head in (edges[:3], edges[3:]):
        assert np.ptp(of_one_head, axis=0).max() < 0.1
    assert page.locator(".walk .keys").evaluate_all(
        "(all) => all.every((keys) => keys.scrollWidth <= keys.clientWidth)"
    )


def test_korean_particles_follow_how_a_word_ends(open_page: Open, demo_page: Path) -> None:
    page = open_page(demo_page, locale="ko-KR")
    towards = {
        "8": "로",
        "5.66": "으로",
        "0.7": "로",
        "1": "로",
        "4": "로",
        "10": "으로",
        "말": "로",
        "책": "으로",
        "나무": "로",
    }
    objects = {"8": "을", "2": "를", "말": "을", "책": "을", "나무": "를"}
    for forms, wanted in ((("으로", "로"), towards), (("을", "를"), objects)):
        for word, ending in wanted.items():
            assert page.evaluate("([word, forms]) => particle(word, ...forms)", [word, forms]) == ending
    go_to(page, "walk")
    (said, *_) = walked(page, "self", "scale", ".explanation")
    assert re.search(r"= 8로 나누면", said)
    assert "(으)" not in page.evaluate("document.body.textContent")


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("side", ["encoder", "decoder"])
def test_the_walk_adds_and_normalises_where_the_model_does(
    open_page: Open, tmp_path: Path, seen: Attention, tiny_translator: Translator, norm: str, side: str
) -> None:
    given = seen if norm == "pre" else tiny_translator.attention(SENTENCES[0])
    assert given.shape["norm"] == norm
    write_page(tmp_path / "page.html", [given])
    page = open_page(tmp_path / "page.html")
    go_to(page, "walk")
    page.locator(f".walk [data-side={side}][data-token='1']").click()
    page.locator("#walk-layer").select_option("2")
    parts = {"self": "after_self", "cross": "after_cross", "feed": "after_feed_forward"}
    for part, module in (
        parts.items() if side == "decoder" else [("self", "after_self"), ("feed", "after_feed_forward")]
    ):
        recorded = {name: tensor[0, 1, :6].numpy() for name, tensor in given.record[f"{side}.1.{module}"].items()}
        strips = [text.rstrip(" …").split() for text in walked(page, part, "add", ".reading")]
        close(strips[2], recorded["added"])
        if norm == "post":
            close(strips[3], recorded["normed"])
        else:
            close(walked(page, part, "norm", ".reading")[1].rstrip(" …").split(), recorded["normed"])
            assert len(strips) == 3


def test_learned_positions_and_an_output_of_its_own_are_walked_too(
    open_page: Open, tmp_path: Path, tiny_recipe: TranslationRecipe, tiny_tokenizer: Tokenizer
) -> None:
    recipe = replace(tiny_recipe, model=replace(tiny_recipe.model, positions="learned", tied=False))
    model = build(recipe.model, tiny_tokenizer.size("source"), tiny_tokenizer.size("target"))
    given = Translator(model, tiny_tokenizer, recipe).attention(SENTENCES[0])
    write_page(tmp_path / "page.html", [given])
    page = open_page(tmp_path / "page.html")
    go_to(page, "walk")
    place = len(given.target_tokens) // 2
    table = given.record["target_embedding"]["positions"].detach().numpy()
    close(
        walked(page, "start", "position", ".reading")[1].rstrip(" …").split(),
        table.reshape(-1, table.shape[-1])[place, :6],
    )
    best = given.record["model"]["logits"][0, place].topk(10).values
    close(walked(page, "end", "logits", ".keys li > span"), best.numpy())
    go_to(page, "positions")
    expect(page.locator(".positions .muted").first).to_contain_text("learned")


def test_alternatives_are_the_softmax_of_the_logits(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    go_to(page, "steps")
    probabilities = seen.record["model"]["logits"][0].double().softmax(-1)
    for position, row in enumerate(probabilities):
        page.locator("#step-slider").fill(str(position))
        best = row.topk(10)
        shown = numbers(page, ".steps .alternative:nth-child(-n+10) .number")
        np.testing.assert_allclose(shown, best.values.numpy(), atol=0.001)
        logits = attributes(page, ".steps .alternative:nth-child(-n+10) .number", "title")
        close(logits, seen.record["model"]["logits"][0, position][best.indices].numpy())
        chosen = page.locator(".steps .alternative.chosen")
        expect(chosen).to_have_count(1)
        expect(chosen.locator(".rank")).to_have_text(str(seen.alternatives[position].rank))


def test_positions_and_their_products_are_those_of_the_model(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    go_to(page, "positions")
    table = np.asarray(seen.positions, dtype=np.float64)
    for section, shown in (("table", table), ("products", table @ table.T)):
        canvas = page.locator(f".positions .{section} canvas")
        canvas.focus()
        for key in ["ArrowDown"] * 3 + ["ArrowRight"] * 2:
            page.keyboard.press(key)
        row, column, value = re.findall(r"[−\d.]+", canvas.get_attribute("aria-valuetext") or "")
        assert (row, column) == ("3", "2")
        close([value], shown[3:4, 2])
