"""The site, built as `make docs` builds it: every link leads somewhere, and search works from the file system."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, expect

ROOT = Path(__file__).parent.parent.parent
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "site/build.py", "--quick", "-o", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_link_leads_somewhere(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if "_static" not in page.parts]
    assert len(pages) > 30
    missing = []
    for page in pages:
        missing += [
            f"{page.relative_to(site)}: {address}"
            for address in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text(encoding="utf-8"))
            if not re.match(r"[a-z]+:", address) and not (page.parent / unquote(address)).exists()
        ]
    assert not missing


def test_it_is_read_and_searched_without_a_server(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    expect(page.get_by_role("heading", name="regard", level=1)).to_be_visible()
    page.get_by_placeholder("Search").first.fill("padding")
    page.keyboard.press("Enter")
    expect(page.locator("#search-results li a").first).to_be_visible(timeout=30_000)
    assert all(url.startswith(("file:", "data:")) for url in asked)
    page.close()
