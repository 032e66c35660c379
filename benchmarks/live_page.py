"""How long does the model inside a page take? A sentence of 12 words, greedy and with a beam of 5, in headless Chromium, drawing included.

    python benchmarks/live_page.py [--model demo] [--text "…"] [--rounds 5]

Needs Chromium on the path, and playwright (`pip install -e '.[dev]'`). Each round translates another sentence, since answers are kept.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Page, sync_playwright

import regard

TEXT = "Ich habe {} mit meinem alten Freund ein sehr interessantes Buch gelesen."
WORDS = ("gestern", "heute", "oft", "dann", "bald", "wieder", "morgens", "abends", "lange")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"
)
ANSWERED = "(text) => !page.live.running && page.live.asked?.text === text"


def seconds(page: Page, beam: int, text: str) -> float:
    page.fill("#live-beam", str(beam))
    page.fill("#live-text", text)
    began = time.perf_counter()
    page.keyboard.press("Enter")
    page.wait_for_function(ANSWERED, arg=text, polling=10)
    return time.perf_counter() - began


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--model", default="demo")
    asked.add_argument("--text", default=TEXT, help="{} stands for a word that differs from round to round")
    asked.add_argument("--rounds", type=int, default=5, choices=range(1, len(WORDS) + 1))
    given = asked.parse_args()
    if not (chromium := shutil.which("chromium")):
        sys.exit("there is no chromium on the path")
    print(f"load {os.getloadavg()[0]:.1f} before")
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "live.html"
        regard.view(given.model, output=file, live=True)
        print(f"{file.stat().st_size:,} bytes")
        with playwright.chromium.launch(executable_path=chromium, args=FLAGS.split()) as browser:
            page = browser.new_page()
            page.goto(file.as_uri())
            print(f"the first answer, weights unpacked: {seconds(page, 5, given.text.format(WORDS[-1])):.2f} s")
            for beam in (1, 5):
                took = [seconds(page, beam, given.text.format(word)) for word in WORDS[: given.rounds]]
                print(f"beam {beam}: median {statistics.median(took):.2f} s, longest {max(took):.2f}")


if __name__ == "__main__":
    main()
