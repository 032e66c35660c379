"""Pages in a real browser: Debian's chromium, driven by Playwright. Without a browser these tests are skipped, except
in CI, which sets REGARD_NEEDS_BROWSER.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

import regard
from regard.tasks.translation.attention import Attention
from regard.view.scenes import write_page

# A window of its own for every context, as chromium opens it, loads two pages into the address bar that nobody sees, and
# they cost more than the page under test. The last --disable-features counts, so those of Playwright are named again.
NEEDLESS = (
    "WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,DestroyProfileOnBrowserClose,HttpsUpgrades,LensOverlay,"
    "MediaRouter,OptimizationHints,PaintHolding,ThirdPartyStoragePartitioning"
)
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync "
    f"--disable-features={NEEDLESS}"
)
PATIENCE = 20_000  # milliseconds, on a machine that is busy with other things
SENTENCE = "Ich habe gestern ein interessantes Buch gelesen."

expect.set_options(timeout=PATIENCE)

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        if os.environ.get("REGARD_NEEDS_BROWSER"):
            pytest.fail("REGARD_NEEDS_BROWSER is set, and there is no chromium")
        pytest.skip("there is no chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS.split())
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """`open_page(path or address)`: the page. In the end no script may have failed, and nobody else was asked for
    anything; `refusals` says that the test will make the server refuse something, of which a browser complains."""
    opened: list[tuple[str, Page, list[str], list[str]]] = []

    def open_(place: Path | str, refusals: bool = False, **options: Any) -> Page:
        address = place.as_uri() if isinstance(place, Path) else place
        context = browser.new_context(**{"locale": "en-US", "viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        failures: list[str] = []
        requests: list[str] = []

        def complain(text: str) -> None:
            if not (refusals and text.startswith("Failed to load resource")):
                failures.append(text)

        page.on("pageerror", lambda error: failures.append(str(error)))
        page.on("console", lambda message: complain(message.text) if message.type in ("error", "warning") else None)
        page.on("request", lambda request: requests.append(request.url))
        if isinstance(place, Path):
            context.set_offline(True)
        opened.append((address.partition("#")[0], page, failures, requests))
        page.goto(address)
        return page

    yield open_
    for address, page, failures, requests in opened:
        page.context.close()
        assert not failures, failures
        strangers = [url for url in requests if not url.startswith((address, "data:", "blob:"))]
        assert not strangers, strangers


@pytest.fixture(scope="session")
def demo() -> regard.Translator:
    return regard.load("demo")


@pytest.fixture(scope="session")
def seen(demo: regard.Translator) -> Attention:
    """What a real model did: all its numbers, to hold against those of its page."""
    return demo.attention(SENTENCE)


@pytest.fixture(scope="session")
def demo_page(seen: Attention, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(path, [seen])
    return path
