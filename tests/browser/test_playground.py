"""The playground: what it computes is `regard.attend`, whatever is typed; and nothing but text is made of what is typed."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

import regard
from regard.attention.positions import sinusoidal_positions
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, fits, texts

QUERY, KEY, VALUE = [[1, 0, 2], [-1.5, 3, 0.25]], [[1, 1, 0], [0, -2, 1], [0.5, 0, 3]], [[1, 0], [10, -4], [0, 7.5]]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("playground") / "playground.html"
    regard.playground(made)
    return made


def address(path: Path, **choices: str) -> str:
    def rows(matrix: list[list[float]]) -> str:
        return ";".join(" ".join(map(str, row)) for row in matrix)

    asked = {"q": rows(QUERY), "k": rows(KEY), "v": rows(VALUE), **choices}
    return f"{path.as_uri()}#{urlencode(asked)}"


def outputs(page: Page) -> tuple[np.ndarray, np.ndarray]:
    found = page.evaluate("(({ weights, outputs }) => [weights, outputs])(work().found)")
    return np.array(found[0]), np.array(found[1])


FOLLOW = """(hash) => new Promise((done) => {
    addEventListener("hashchange", () => done(), { once: true });
    location.hash = hash;
})"""


@pytest.mark.parametrize("mask", ["none", "causal", "own"])
def test_it_is_the_definition(open_page: Open, path: Path, mask: str) -> None:
    hidden = {"none": [], "causal": [(0, 1), (0, 2), (1, 2)], "own": [(0, 0), (0, 1), (0, 2), (1, 1)]}[mask]
    may_look = torch.ones(2, 3, dtype=torch.bool)
    for place in hidden:
        may_look[place] = False
    vectors = [torch.tensor(matrix, dtype=torch.float64) for matrix in (QUERY, KEY, VALUE)]
    page = None
    for beta, hard, scale in product((0.01, 1, 2.5), (False, True), (False, True)):
        chosen = {"beta": str(beta), "mask": mask, "hidden": ";".join(f"{q},{k}" for q, k in hidden)}
        given = address(path, **chosen, **({"hard": "1"} if hard else {}), **({} if scale else {"scale": "0"}))
        if page is None:
            page = open_page(given)
        else:
            page.evaluate(FOLLOW, given.partition("#")[2])
        mixed, weights = regard.attend(*vectors, may_look, temperature=1 / beta, hard=hard, scale=scale)
        found = outputs(page)
        np.testing.assert_allclose(found[0], weights, atol=1e-12, err_msg=str((beta, hard, scale)))
        np.testing.assert_allclose(found[1], mixed, atol=1e-9, err_msg=str((beta, hard, scale)))


def test_positions_are_the_papers(open_page: Open, path: Path) -> None:
    page = open_page(address(path))
    found = page.evaluate("[...Array(7).keys()].map((position) => positionVector(position, 6))")
    np.testing.assert_allclose(found, sinusoidal_positions(7, 6), atol=1e-6)


def test_order_matters_only_with_positions(open_page: Open, path: Path) -> None:
    page = open_page(path)
    page.locator("#shuffle").click()
    expect(page.locator("#remark")).to_contain_text("are a set")
    page.locator("#positions").check()
    page.locator("#shuffle").click()
    expect(page.locator("#remark")).to_contain_text("so did the outputs")


def test_what_is_typed_is_worked_out_and_addressed(open_page: Open, path: Path) -> None:
    page = open_page(path)
    page.locator("#query-0").fill("2 -1")
    page.locator("#key-0").fill("3 4")
    expect(page.locator(".steps tr:nth-child(2) .worked")).to_have_text("2·3 + (−1)·4 = 2")
    page.locator("#cell-0-1").click()
    expect(page.locator("#mask")).to_have_value("own")
    before = outputs(page)
    assert before[0][0, 1] == 0
    page.reload()
    np.testing.assert_array_equal(outputs(page)[1], before[1])
    page.locator("#query-0").fill("2 <img src=x onerror=alert(1)>")
    expect(page.locator("#query-0-wrong")).to_have_text("“<img” is not a number.")
    assert page.locator("#results").evaluate("each => each.classList.contains('stale')")


def test_a_phone_and_korean(open_page: Open, path: Path) -> None:
    page = open_page(path, **NARROW, locale="ko-KR", color_scheme="dark")
    assert fits(page)
    assert texts(page, "legend") == ["쿼리", "키", "값"]
    page.locator("#preset-1").click()
    assert fits(page)
    page.locator("#hard").click()
    expect(page.locator("#output b")).to_have_text("(10, 0)")
