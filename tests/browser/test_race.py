"""The page of a race in a browser: its numbers, its hover values, on a phone and in the dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from regard.experiments.race.page import write_race
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, attributes, fits, texts, until
from tests.view.races import BUCKETS, ENTRANTS, comparison, sample

RACE = Path(__file__).parents[2] / "docs" / "race-multi30k.html"


@pytest.fixture(scope="module")
def race_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("race") / "race.html"
    write_race(path, comparison())
    return path


def test_every_number_has_its_place(open_page: Open, race_page: Path) -> None:
    page = open_page(race_page)
    expect(page.locator(".sentence")).to_contain_text("transformer is ahead: BLEU 26.00")
    assert texts(page, "#scores tbody td:first-child") == list(ENTRANTS)
    assert texts(page, "#scores tbody td:nth-child(2)") == [
        "20.00[19.0, 21.0]",
        "23.00[22.0, 24.0]",
        "26.00[25.0, 27.0]",
    ]
    # The difference of a pair stands twice, once with each sign.
    first = texts(page, ".pairs >> nth=0 >> tbody td strong")
    assert first == ["−3.00", "−6.00", "+3.00", "−3.00", "+6.00", "+3.00"]
    for signature in ("of:BLEU", "of:chrF2"):
        expect(page.locator("footer")).to_contain_text(signature)
    assert texts(page, "section h2") == [
        "Who is best", "Could it be chance?", "Short and long texts", "How they learned", "What they cost",
        "The same texts", "Where they looked",
    ]  # fmt: skip
    assert len(texts(page, "section > .look-for")) == 7, "each says what to look for"


def test_charts_have_a_mark_for_every_value(open_page: Open, race_page: Path) -> None:
    page = open_page(race_page)
    until(page, "document.querySelectorAll('.chart .axis').length === 7")
    marks = page.locator(".chart").evaluate_all("(all) => all.map((each) => each.querySelectorAll('.mark').length)")
    of_curve = len(ENTRANTS) * 2
    assert marks == [len(ENTRANTS), len(ENTRANTS), len(ENTRANTS) * len(BUCKETS), *[of_curve] * 4]
    # Whiskers are centred on their marks here, and longer values stand higher.
    heights = attributes(page, ".chart >> nth=0 >> .mark", "transform")
    ups = [float(height.rstrip(")").split(" ")[1]) for height in heights]
    assert ups == sorted(ups, reverse=True)
    # One colour for each entrant, wherever it stands.
    colours = page.locator(".series").evaluate_all(
        "(all) => all.map((each) => [each.textContent, getComputedStyle(each).color])"
    )
    assert len({tuple(pair) for pair in colours}) == len(ENTRANTS)


def test_pointing_reads_a_value(open_page: Open, race_page: Path) -> None:
    page = open_page(race_page)
    chart = page.locator(".chart").nth(2)
    mark = chart.locator("[data-series='1'] .mark").nth(2)
    mark.scroll_into_view_if_needed()
    mark.hover()
    expect(chart.locator(".readout")).to_have_text("conv 21–35 tokens: BLEU 23.0 [22.0, 24.0], 50 texts")
    chart.locator("svg").first.focus()
    page.keyboard.press("ArrowLeft")
    expect(chart.locator(".readout")).to_contain_text("conv 11–20 tokens")


def test_looks_of_a_chosen_sentence(open_page: Open, race_page: Path) -> None:
    page = open_page(race_page)
    expect(page.locator(".looks figure")).to_have_count(len(ENTRANTS))
    expect(page.locator(".looks .nothing")).to_have_text(
        "It has no attention: what it read reaches the answer through its states alone."
    )
    page.locator("#sentence").select_option(index=0)
    expect(page.locator(".looks figure").nth(1).locator(".cell")).to_have_count(25)
    page.locator(".looks figure").nth(1).locator("[data-query='4'][data-key='4']").hover()
    expect(page.locator(".looks figure").nth(1).locator(".readout")).to_have_text("⟨end⟩ → ⟨end⟩ 0.840")


def test_a_map_is_whole_where_there_is_room_and_its_labels_always_are(open_page: Open, tmp_path: Path) -> None:
    source = " ".join(
        f"{word}{number}" for number, word in enumerate(["아주조금더기다렸습니다", "Donaudampfschifffahrt", "보는"] * 9)
    )
    write_race(tmp_path / "race.html", comparison(samples=[sample(ENTRANTS, source, 28)]))
    page = open_page(tmp_path / "race.html")
    for scroller in page.locator(".looks .scroller").all():
        assert scroller.evaluate("(it) => it.scrollWidth <= it.clientWidth")
    outside = """(maps) => maps.flatMap((map) => [...map.querySelectorAll("text")].filter((label) => {
        const [inner, outer] = [label.getBoundingClientRect(), map.getBoundingClientRect()];
        return inner.left < outer.left - 1 || inner.top < outer.top - 1 || inner.right > outer.right + 1;
    }).map((label) => label.textContent))"""
    assert page.locator(".looks svg:has(.cell)").evaluate_all(outside) == []


def test_the_race_of_the_docs_speaks_korean(open_page: Open) -> None:
    page = open_page(RACE, locale="ko-KR")
    expect(page.locator(".sentence")).to_contain_text("rnn-attention 1위: BLEU 40.24")
    expect(page.locator(".facts")).to_contain_text("번역")
    assert page.locator("#scores thead th").count() == page.locator("#scores tbody tr").first.locator("td").count() == 7
    expect(page.locator(".looks .cell").first).to_be_visible()
    assert fits(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone(open_page: Open, race_page: Path, scheme: str) -> None:
    page = open_page(race_page, color_scheme=scheme, **NARROW)
    until(page, "document.querySelectorAll('.chart .axis').length === 7")
    assert fits(page)
    sizes = page.locator(".chart text").evaluate_all("(all) => all.map((each) => each.getBoundingClientRect().height)")
    assert min(sizes) >= 10, "letters keep their size"


def test_one_entrant_alone(open_page: Open, tmp_path: Path) -> None:
    write_race(tmp_path / "race.html", comparison(("conv",), samples=[]))
    page = open_page(tmp_path / "race.html")
    expect(page.locator("section")).to_have_count(6)
    expect(page.locator(".sentence")).to_have_text("conv: BLEU 20.00")


def test_it_speaks_korean(open_page: Open, race_page: Path) -> None:
    page = open_page(race_page)
    page.locator("#language-ko").click()
    expect(page.locator(".sentence")).to_contain_text("transformer 1위: BLEU 26.00, conv보다 3.00 높습니다")
    assert texts(page, "section h2")[:2] == ["누가 가장 좋은가", "우연일 수 있는가"]
    expect(page.locator(".look-for").last).to_contain_text("regard race")
    page.locator("#language-en").click()
    expect(page.locator("section")).to_have_count(7)
    expect(page.locator(".looks figure")).to_have_count(len(ENTRANTS))


def test_a_race_where_less_is_better_and_one_metric_counts(open_page: Open, tmp_path: Path) -> None:
    given = comparison(curve="perplexity", lower=True, task="text-generation", facts={})
    for lane in given["entrants"]:
        lane["scores"] = [{**lane["scores"][0], "name": "perplexity"}]
    for each in given["samples"]:
        each["reference"] = each["source"]
    write_race(tmp_path / "race.html", given)
    page = open_page(tmp_path / "race.html")
    expect(page.locator(".sentence")).to_contain_text("rnn is ahead: perplexity 20.00, 3.00 less than conv")
    expect(page.locator(".pairs")).to_have_count(1)
    expect(page.locator(".sample .reference")).to_have_count(0)
    expect(page.locator("header")).not_to_contain_text("beam")
