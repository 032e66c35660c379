"""The glass box of classifiers and language models: the same frame, the same walk, with their own numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from regard.tasks.classification.classifier import Classifier
from regard.tasks.language_model.generator import TextGenerator
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, fits, go_to, ink, number, numbers, tabs_of, texts
from tests.tasks.labelled import untrained
from tests.tasks.writers import mixed_tokenizer, recipe_of, untaught

TEXT = "the soup was not bad"


def writer(architecture: str = "transformer", **model: object) -> TextGenerator:
    return untaught(mixed_tokenizer(), recipe_of(architecture, context=32, **model))


def page_of(open_page: Open, model: Classifier | TextGenerator, path: Path, **options: object) -> Page:
    model.look(TEXT).save(path)
    return open_page(path, **options)


def steps(page: Page) -> list[str]:
    return [f"{part}.{step}" for part, step in page.locator(".step").evaluate_all(
        "(all) => all.map((each) => [each.dataset.part, each.dataset.step])")]  # fmt: skip


SELF = ["projections", "scores", "scale", "mask", "softmax", "sum", "merge", "output", "add"]
ORDER = {
    "post": [*(f"self.{each}" for each in SELF), "feed.widen", "feed.narrow", "feed.add"],
    "pre": ["self.norm", *(f"self.{each}" for each in SELF), "feed.norm", "feed.widen", "feed.narrow", "feed.add"],
}


@pytest.mark.parametrize(("norm", "pooling", "ngrams"), [("post", "max", 2), ("pre", "mean", 1), ("post", "first", 1)])
def test_a_classifier_is_walked_to_its_label(
    open_page: Open, tmp_path: Path, norm: str, pooling: str, ngrams: int
) -> None:
    model = untrained(norm=norm, pooling=pooling, ngrams=ngrams, buckets=50, temperature=2.0)
    seen = model.look(TEXT)
    page = page_of(open_page, model, tmp_path / "page.html")
    assert tabs_of(page) == ["decision", "look", "walk", "positions"]
    go_to(page, "walk")
    last = ["label.final"] if norm == "pre" else []
    layers = ["start.token", "start.embedding", "start.position", "start.before"]  # the last layer is shown first
    assert steps(page) == [*layers, *ORDER[norm], *last, "label.pool", "label.scores", "label.decide", "label.lens"]
    says = {"post": "Add & Norm is the paper's", "pre": "Not the paper's order"}
    expect(page.locator(".walk .norm")).to_contain_text(says[norm])
    place, head = 1, 1
    page.locator(f"#walk-source-{place}").click()
    page.locator("#walk-head").select_option(str(head + 1))
    weights = numbers(page, "[data-step=softmax] td.share")
    assert weights == pytest.approx(seen.weights[-1, head, place], abs=0.006)
    pooled = texts(page, "[data-step=pool] .strip:last-child .reading")[0].split()[:6]
    wanted = seen.inside.record["model"]["pooled"][0, :6].tolist()
    assert [number(each) for each in pooled] == pytest.approx(wanted, abs=0.02)
    shown = dict(
        zip(texts(page, "[data-step=decide] th bdi"), numbers(page, "[data-step=decide] td.share"), strict=True)
    )
    assert shown == pytest.approx(dict(seen.probabilities), abs=0.006)
    scores = numbers(page, "[data-step=scores][data-part=label] td").reshape(3, -1)
    assert scores[:, -1] == pytest.approx(np.sum(seen.logits, 0), abs=0.03)
    page.locator("#walk-layer").select_option("1")
    assert "feed.after" in steps(page)


@pytest.mark.parametrize(("architecture", "norm"), [("transformer", "post"), ("transformer-pointer", "pre")])
def test_a_language_model_is_walked_to_the_next_token(
    open_page: Open, tmp_path: Path, architecture: str, norm: str
) -> None:
    model = writer(architecture, norm=norm)
    seen = model.look(TEXT)
    assert seen.weights is not None
    page = page_of(open_page, model, tmp_path / "page.html")
    assert tabs_of(page) == ["writing", "look", "walk", "positions"]
    go_to(page, "walk")
    place, head = 3, 2
    page.locator(f"#walk-target-{place}").click()
    page.locator("#walk-head").select_option(str(head + 1))
    weights = numbers(page, "[data-step=softmax] td.share")
    assert weights == pytest.approx(seen.weights[-1, head, place], abs=0.006)
    assert not weights[place + 1 :].any()  # the future is hidden
    expect(page.locator("[data-step=mask] .keys .hidden")).to_have_count(len(seen.tokens) - place - 1)
    shares = numbers(page, "[data-step=next] td.share")[:10]
    assert shares == pytest.approx(seen.alternatives[place].probabilities, abs=0.006)
    marked = page.locator("[data-step=next] tr[aria-current]")
    assert number(marked.locator("td.share").inner_text()) == pytest.approx(
        seen.alternatives[place].probability, abs=0.006
    )
    expect(page.locator("[data-step=logits]")).to_contain_text("pointer" if "pointer" in architecture else "embedding")
    go_to(page, "positions")
    assert ink(page, ".positions canvas") > 0


@pytest.mark.parametrize("positions", ["learned", "none"])
def test_positions_are_shown_if_there_are_any(open_page: Open, tmp_path: Path, positions: str) -> None:
    page = page_of(open_page, untrained(positions=positions), tmp_path / "page.html")
    assert ("positions" in tabs_of(page)) == (positions != "none")
    go_to(page, "walk")
    expect(page.locator("[data-step=position]")).to_contain_text(
        "positions = none" if positions == "none" else "learned for this position"
    )


def test_a_recurrent_model_shows_what_applies_and_says_what_does_not(open_page: Open, tmp_path: Path) -> None:
    page = page_of(open_page, writer("rnn"), tmp_path / "page.html")
    assert tabs_of(page) == ["writing"]
    expect(page.locator("#looked")).to_contain_text("no heads to switch")
    page.locator("#language-ko").click()
    expect(page.locator("#looked")).to_contain_text("어텐션이 없습니다")


@pytest.mark.parametrize("task", ["classifier", "writer"])
def test_on_a_phone_in_korean(open_page: Open, tmp_path: Path, task: str) -> None:
    model = untrained() if task == "classifier" else writer()
    page = page_of(open_page, model, tmp_path / "page.html", locale="ko-KR", color_scheme="dark", **NARROW)
    for tab in tabs_of(page):
        go_to(page, tab)
        assert fits(page), tab
        told = page.locator("#view h2, #view h3, #view .muted, #view .explanation").all_text_contents()
        assert all(any("가" <= letter <= "힣" for letter in each) for each in told if each.strip()), told


def test_what_is_switched_off_is_told(open_page: Open, tmp_path: Path) -> None:
    model = untrained()
    with model.changed(off={"layers.1.self_attention": [0]}):
        page = page_of(open_page, model, tmp_path / "page.html")
    go_to(page, "walk")
    expect(page.locator("[data-step=sum]")).to_contain_text("switched off")
    go_to(page, "look")
    expect(page.locator(".overview .head.off")).to_have_count(1)
