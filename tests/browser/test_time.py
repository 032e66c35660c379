"""What runs in time: decoding, token by token, and the movie of a training."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import regard
from regard.decoding.options import Search
from regard.tasks.translation.attention import Attention, SearchHypothesis
from regard.view.arrays import pack_probabilities
from regard.view.inside import side_of
from regard.view.scenes import render, write_page
from tests.browser.conftest import SENTENCE, Open
from tests.browser.reading import go_to, number, texts, until
from tests.view.pages import SOURCE, TARGET, at_random
from tests.view.pages import seen as imagined

WRITTEN = ["", "Ein Ein", "Ein Hund rennt"]
METRICS: list[dict[str, float]] = [{}, {"loss": 5.0, "bleu": 12.5}, {"loss": 4.0}]  # BLEU is not measured every time
MOMENTS = ["before training", "update 1,000", "update 2,000"]
CROSS = [at_random(2, 3, len(TARGET), len(SOURCE), seed=seed) for seed in range(len(WRITTEN))]


def shown_beams(page: Page, selector: str) -> list[tuple[str, list[float]]]:
    """Of each hypothesis its text, and log probability, sum and score."""
    found: list[Any] = page.locator(selector).evaluate_all(
        """(rows) => rows.map((row) => [row.querySelector(".text").textContent,
            [...row.querySelectorAll(".number")].map((cell) => cell.textContent)])"""
    )
    return [(text.strip(), [number(each) for each in values]) for text, values in found]


def check_beams(shown: list[tuple[str, list[float]]], paths: list[SearchHypothesis]) -> None:
    assert len(shown) == len(paths)
    for (text, values), path in zip(shown, paths, strict=True):
        assert text == (f"{path.text} end".strip() if path.token == "</s>" else path.text)
        np.testing.assert_allclose(values, [path.log_probability, path.total, path.score], atol=0.0051)


def test_decoding_shows_the_beams_of_the_search(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    go_to(page, "steps")
    path = []
    for position, step in enumerate(seen.steps):
        page.locator("#step-slider").fill(str(position))
        check_beams(shown_beams(page, ".steps .beams:not(.finished) .beam"), step.kept)
        check_beams(shown_beams(page, ".steps .beams.finished .beam"), step.finished)
        path += shown_beams(page, ".steps .beam.final")
    # The path that won is one hypothesis per token, each going on with the one before, and spells the translation.
    assert len(path) == len(seen.target_tokens)
    assert all(later.startswith(text) for (text, _), (later, _) in pairwise(path))
    assert path[-1][0] == f"{seen.translation} end"
    assert len(page.locator(".river .labels .final.token").all()) == len(seen.target_tokens)


def test_decoding_is_stepped_by_slider_keys_and_buttons(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    go_to(page, "steps")
    count = len(seen.steps)
    position, now = page.locator(".steps .position"), page.locator(".steps .written .now")
    expect(position).to_have_text(f"Position 1 of {count}")
    page.locator("#step-slider").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(position).to_have_text(f"Position 3 of {count}")
    expect(now).to_have_text(seen.target_tokens[2].replace("▁", ""))
    page.locator("#step-next").click()
    expect(position).to_have_text(f"Position 4 of {count}")
    page.locator("#step-previous").click()
    page.locator("#step-previous").press("Enter")
    expect(position).to_have_text(f"Position 2 of {count}")
    page.locator(".steps .written span").nth(4).click()
    expect(position).to_have_text(f"Position 5 of {count}")
    page.locator(".river .count").nth(1).click()
    expect(position).to_have_text(f"Position 2 of {count}")
    page.locator("#step-slider").press("End")
    page.locator("#step-next").click()  # beyond the end is the end
    expect(position).to_have_text(f"Position {count} of {count}")


def test_decoding_is_stepped_in_the_output_and_in_the_river(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    go_to(page, "steps")
    position, tokens = page.locator(".steps .position"), page.locator(".steps .written [role=button]")
    expect(page.locator(".steps .written [tabindex='0']")).to_have_count(1)
    tokens.first.focus()
    for key in ["ArrowRight", "ArrowRight", "ArrowLeft"]:
        page.keyboard.press(key)
    expect(position).to_contain_text("Position 2 of")
    expect(tokens.nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(position).to_contain_text(f"Position {len(seen.target_tokens)} of")
    page.keyboard.press("Home")
    river = page.locator(".steps .river")
    expect(river.locator("[tabindex]")).to_have_count(0)
    river.focus()
    for key in ["ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"]:
        page.keyboard.press(key)
    expect(position).to_contain_text("Position 3 of")
    assert river.get_attribute("aria-valuenow") == "3"
    expect(tokens.nth(2)).to_have_class(re.compile("now"))


@pytest.mark.parametrize(
    ("options", "title", "score"),
    [
        ({}, "beam search", "log P(Y) / ((5 + |Y|) / 6)α"),
        ({"alpha": 1.5}, "beam search", "log P(Y) / ((5 + |Y|) / 6)α"),
        ({"beam": 2, "length_penalty": "mean"}, "beam search", "log P(Y) / |Y|"),
        ({"beam": 1, "length_penalty": "none"}, "greedy search", "log P(Y)"),
        ({"sample": True, "top_k": 7, "length_penalty": "mean"}, "sampling", "log P(Y) / |Y|"),
    ],
)
def test_decoding_explains_the_search_that_was_made(
    open_page: Open, tmp_path: Path, demo: regard.Translator, options: dict[str, Any], title: str, score: str
) -> None:
    given = demo.attention(SENTENCE, **options)
    write_page(tmp_path / "page.html", [given])
    page = open_page(tmp_path / "page.html")
    go_to(page, "steps")
    explained = page.locator(".steps .explained")
    expect(explained.locator("h2")).to_have_text(f"How {title} works")
    expect(explained.locator(".equation")).to_have_text(f"score(Y) = {score}")
    search = Search(**given.search)  # type: ignore[arg-type]
    assert (f"α = {search.alpha}" in (explained.text_content() or "")) == (search.length_penalty == "paper")
    assert ("the 7 most probable" in (explained.text_content() or "")) == search.sample
    page.locator("#step-slider").fill("3")
    divided = explained.locator(".muted").text_content() or ""
    assert bool(divided) == (search.length_penalty != "none")
    if divided:
        assert number(divided.rpartition("by ")[2].rstrip(".")) == pytest.approx(search.penalty(4), abs=0.0051)


@pytest.mark.parametrize("beside", [None, "", "Yesterday I read <b>it</b>."])
def test_decoding_says_that_another_engine_wrote_something_else(
    open_page: Open, tmp_path: Path, seen: Attention, beside: str | None
) -> None:
    write_page(tmp_path / "page.html", [replace(seen, beside=beside)])
    page = open_page(tmp_path / "page.html")
    go_to(page, "steps")
    note = page.locator(".steps .beside")
    expect(note).to_have_count(int(beside is not None))
    if beside is not None:
        expect(note).to_contain_text("Another engine wrote this translation")
        expect(note).to_contain_text(f"“{beside}”")


def test_many_samples_are_not_called_one_hypothesis(open_page: Open, tmp_path: Path, demo: regard.Translator) -> None:
    write_page(tmp_path / "page.html", [demo.attention(SENTENCE, sample=True, nbest=3)])
    page = open_page(tmp_path / "page.html")
    go_to(page, "steps")
    expect(page.locator(".steps")).to_contain_text("3 outputs go on, each drawn by itself")
    expect(page.locator(".steps")).not_to_contain_text("One hypothesis only")


def test_decoding_says_nothing_of_a_search_it_does_not_know(open_page: Open, tmp_path: Path, seen: Attention) -> None:
    scene = {**seen.to_dict(walk=False), "search": None}
    (tmp_path / "page.html").write_text(render([scene]), encoding="utf-8")
    page = open_page(tmp_path / "page.html")
    go_to(page, "steps")
    expect(page.locator(".steps .explained h2")).to_have_text("How beam search works")
    expect(page.locator(".steps .explained .equation")).to_have_count(0)
    assert "penalty" not in (page.locator(".steps .explained").text_content() or "")


def test_decoding_names_the_words_that_were_looked_at(open_page: Open, demo_page: Path, seen: Attention) -> None:
    page = open_page(demo_page)
    go_to(page, "steps")
    words = seen.to_dict(walk=False)["source"]["words"]
    for position in range(len(seen.target_tokens)):
        page.locator("#step-slider").fill(str(position))
        row = np.asarray(seen.weights["cross"][-1], dtype=np.float64).mean(0)[position]
        shares = {word["text"].replace("</s>", "end"): row[word["first"] : word["end"]].sum() for word in words}
        names, said = texts(page, ".steps .looked bdi"), texts(page, ".steps .looked small")
        assert names[0] == max(shares, key=lambda name: shares[name])
        np.testing.assert_allclose([number(text) for text in said], [shares[name] for name in names], atol=0.00052)


def test_decoding_plays_to_its_end(open_page: Open, demo_page: Path) -> None:
    page = open_page(demo_page)
    go_to(page, "steps")
    last = int(page.locator("#step-slider").get_attribute("max") or 0)
    page.locator("#step-slider").fill(str(last - 1))
    page.locator("#step-play").click()
    expect(page.locator("#step-play")).to_have_text("Pause")
    expect(page.locator("#step-slider")).to_have_value(str(last))
    expect(page.locator("#step-play")).to_have_text("Play")


@pytest.fixture(scope="module")
def movie_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = imagined()
    movie = {
        "kind": "cross",
        "probes": [{"source": side_of(given.text, SOURCE), "target": side_of(given.translation, TARGET)}],
        "frames": [
            {"update": 1000 * number, "metrics": METRICS[number],
             "probes": [{"weights": pack_probabilities(cross), "text": text}]}
            for number, (cross, text) in enumerate(zip(CROSS, WRITTEN, strict=True))
        ],
    }  # fmt: skip
    path = tmp_path_factory.mktemp("movie") / "page.html"
    path.write_text(render([given.to_dict()], movie=movie), encoding="utf-8")
    return path


def read_weight(page: Page) -> tuple[int, int, float]:
    """The row, the column and the number of the cell at the middle of the movie's map."""
    page.mouse.move(2, 2)
    page.locator(".movie canvas").hover()
    said = page.locator(".movie .reading").text_content() or ""
    query, key, share = re.fullmatch(r"(\S+) → (\S+): (.*)", said).groups()  # type: ignore[union-attr]
    names = [[token.replace("▁", "").replace("</s>", "⟨end⟩") for token in side] for side in (TARGET, SOURCE)]
    return names[0].index(query), names[1].index(key), number(share)


def test_the_movie_shows_every_frame(open_page: Open, movie_page: Path) -> None:
    page = open_page(movie_page)
    go_to(page, "movie")
    pictures = []
    for frame, text in enumerate(WRITTEN):
        page.locator("#movie-slider").fill(str(frame))
        until(page, f"movieState.at === {frame}")
        expect(page.locator("#movie-text")).to_have_text(text or "(nothing)")
        expect(page.locator("#movie-text .nothing")).to_have_count(0 if text else 1)
        expect(page.locator(".movie .position")).to_have_text(MOMENTS[frame])
        row, column, share = read_weight(page)
        assert share == pytest.approx(CROSS[frame][-1].mean(0)[row, column], abs=0.00052)
        pictures.append(page.evaluate("document.querySelector('.movie canvas').toDataURL()"))
    assert len(set(pictures)) == len(WRITTEN)
    page.locator("#movie-layer").select_option("1")
    page.locator("#movie-head").select_option("3")
    row, column, share = read_weight(page)
    assert share == pytest.approx(CROSS[-1][0, 2][row, column], abs=0.00052)
    page.locator("#movie-head").select_option("max")
    row, column, share = read_weight(page)
    assert share == pytest.approx(CROSS[-1][0].max(0)[row, column], abs=0.00052)


def test_the_movie_shows_what_was_measured_and_when(open_page: Open, movie_page: Path) -> None:
    page = open_page(movie_page, reduced_motion="reduce")
    go_to(page, "movie")
    assert texts(page, ".movie .curves dt") == ["training loss", "BLEU"]
    for frame, wanted in enumerate(
        [["–", "–"], ["5.00 update 1,000", "12.5 update 1,000"], ["4.00 update 2,000", "12.5 update 1,000"]]
    ):
        page.locator("#movie-slider").fill(str(frame))
        until(page, f"movieState.at === {frame}")
        assert texts(page, ".movie .curves dd") == wanted
    dots = page.locator(".movie .curves svg").evaluate_all(
        "(all) => all.map((each) => each.querySelectorAll('circle').length)"
    )
    assert dots == [2, 1]


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_the_map_of_the_movie_is_read_with_the_keyboard(open_page: Open, tmp_path: Path, direction: str) -> None:
    source = SOURCE if direction == "ltr" else ["▁כלב", "▁חום", "▁ר", "ץ", ".", "</s>"]
    given = imagined(source)
    movie = {
        "kind": "cross",
        "probes": [{"source": side_of(given.text, source), "target": side_of(given.translation, TARGET)}],
        "frames": [{"update": 0, "metrics": {}, "probes": [{"weights": pack_probabilities(CROSS[0]), "text": ""}]}],
    }
    (tmp_path / "page.html").write_text(render([given.to_dict()], movie=movie), encoding="utf-8")
    page = open_page(tmp_path / "page.html")
    go_to(page, "movie")
    canvas, reading = page.locator(".movie canvas"), page.locator(".movie .reading")
    canvas.focus()
    forward = "ArrowRight" if direction == "ltr" else "ArrowLeft"
    for key in ["ArrowDown", forward, forward]:
        canvas.press(key)
    weights = CROSS[0][-1].mean(0)
    expect(reading).to_have_text(f"Hund → {source[2].replace('▁', '')}: {100 * weights[1, 2]:.1f} %")
    # The first key stands where its line of text begins, and the pointer finds what the keyboard found.
    box = canvas.bounding_box()
    assert box is not None
    inset = page.evaluate("document.querySelector('.movie canvas').width / devicePixelRatio") * 0.35
    x = box["x"] + (inset if direction == "ltr" else box["width"] - inset)
    page.mouse.move(x, box["y"] + box["height"] - 10)
    said = re.fullmatch(r"⟨end⟩ → (\S+): (.*) %", reading.text_content() or "")
    assert said is not None
    column = [token.replace("▁", "") for token in source].index(said[1])
    assert column < len(source) // 2
    assert float(said[2]) == pytest.approx(100 * weights[-1, column], abs=0.052)


def test_the_movie_plays(open_page: Open, movie_page: Path) -> None:
    page = open_page(movie_page)
    go_to(page, "movie")
    page.locator("#movie-speed").select_option("4")
    page.locator("#movie-play").click()
    expect(page.locator("#movie-text")).to_have_text(WRITTEN[-1])
    expect(page.locator("#movie-slider")).to_have_value(str(len(WRITTEN) - 1))
    expect(page.locator("#movie-play")).to_have_text("Play")


def test_who_wants_little_motion_sees_whole_frames(open_page: Open, movie_page: Path) -> None:
    page = open_page(movie_page, reduced_motion="reduce")
    go_to(page, "movie")
    expect(page.locator("#movie-play")).to_have_text("Play")
    assert page.evaluate("movieState.playing") is False
    expect(page.locator(".movie .position")).to_have_text(MOMENTS[0])
    # One picture of the screen later the next frame is there, without any between.
    page.evaluate("""() => {
        const slider = document.querySelector("#movie-slider");
        slider.value = 2;
        slider.dispatchEvent(new Event("input"));
        return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }""")
    assert page.evaluate("movieState.at") == 2
    row, column, share = read_weight(page)
    assert share == pytest.approx(CROSS[2][-1].mean(0)[row, column], abs=0.00052)
