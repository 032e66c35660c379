"""What a page shows, read as a reader would: texts, numbers, and whether there is ink on a canvas."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE

NARROW = {"viewport": {"width": 360, "height": 740}}


def until(page: Page, expression: str) -> Any:
    """The expression's value once it is true. The page forbids what Playwright's own waiting does."""
    end = time.monotonic() + PATIENCE / 1000
    while not (value := page.evaluate(expression)):
        assert time.monotonic() < end, f"it never came true: {expression}"
        page.wait_for_timeout(20)
    return value


def go_to(page: Page, tab: str) -> None:
    page.locator(f"#tab-{tab}").click()
    expect(page.locator(f"#view > .view.{tab}")).to_have_count(1)


def tabs_of(page: Page) -> list[str]:
    return [
        str(tab).removeprefix("tab-")
        for tab in page.evaluate("[...document.querySelectorAll('[role=tab]')].map((tab) => tab.id)")
    ]


def texts(page: Page, selector: str) -> list[str]:
    return [text.strip() for text in page.locator(selector).all_text_contents()]


def number(text: str) -> float:
    """A number with or without a typographic minus, a percent sign, or words around it."""
    kept = "".join(letter for letter in text.replace("−", "-") if letter in "-.0123456789")
    return float(kept) / (100 if "%" in text else 1)


def numbers(page: Page, selector: str) -> NDArray[np.float64]:
    return np.array([number(text) for text in texts(page, selector)])


def attributes(page: Page, selector: str, name: str) -> list[str]:
    found: list[str] = page.locator(selector).evaluate_all(
        "(all, name) => all.map((each) => each.getAttribute(name))", name
    )
    return found


def ink(page: Page, selector: str) -> int:
    """How many pixels of a canvas are painted."""
    return int(page.evaluate(
        """(selector) => {
            const canvas = document.querySelector(selector), { width, height } = canvas;
            if (!width || !height) return 0;
            const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(0, 0, width, height);
            return data.reduce((sum, value, place) => sum + (place % 4 === 3 && value > 0), 0);
        }""", selector))  # fmt: skip


def fits(page: Page) -> bool:
    """Whether nothing makes the page wider than the screen."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))
