"""`make docs`: the site, from the repository's own pages, and a gallery of pages that this package makes.

python site/build.py            → build/site/index.html
python site/build.py --quick    without the gallery's pages
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"
SENTENCE = "Ich habe gestern ein interessantes Buch gelesen."


class Exhibit(NamedTuple):
    """A page of the gallery, and the command that makes it."""

    name: str
    title: str
    about: str
    command: tuple[str, ...]


EXHIBITS = (
    Exhibit("attention", "A translation, from inside · 번역 들여다보기",
            "Where every word looked in every layer and head, and the whole computation with the model's own numbers.",
            ("view", "demo", SENTENCE)),
    Exhibit("playground", "A playground · 놀이터",
            "Attention of a few vectors that you type: sharpness, soft or hard, masks, order, with every number of the formula.",
            ("view", "--playground")),
    Exhibit("scaling", "Why 1/√d_k? · 왜 √d_k로 나눕니까?",
            "Variance, saturation and gradient of the softmax over the width of a head.", ("bench", "scaling")),
    Exhibit("positions", "What positions say · 위치 인코딩",
            "Dot products of encodings over distance, and how well a position can be read after each layer.", ("bench", "positions")),
    Exhibit("parameters", "What length costs · 길이와 매개변수",
            "Parameters and operations over the length: MLP, recurrence, convolution, attention.", ("bench", "parameters")),
)  # fmt: skip

REDIRECT = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>regard</title>
<meta http-equiv="refresh" content="0; url=site/index.html"><a href="site/index.html">regard</a></html>
"""


def build(output: Path, quick: bool) -> None:
    """Pages are checked as they are read: a link that leads nowhere ends the build."""
    with tempfile.TemporaryDirectory() as folder:  # what a build before this one made does not stay
        made = Path(folder) / "site"
        options = ("-q", "-W", "--keep-going", "-b", "html", "-d", f"{folder}/doctrees")
        subprocess.run(
            [sys.executable, "-m", "sphinx", *options, "-c", ROOT / "site", ROOT, made], check=True, cwd=ROOT
        )
        gallery = made / "site" / "gallery.html"
        gallery.write_text(
            gallery.read_text(encoding="utf-8").replace("<!-- gallery -->", "" if quick else exhibits(made)),
            encoding="utf-8",
        )
        (made / "index.html").write_text(REDIRECT, encoding="utf-8")
        shutil.rmtree(output, ignore_errors=True)
        output.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(made, output)
    print(f"wrote {output / 'index.html'}")


def exhibits(made: Path) -> str:
    """Make every page of the gallery → the list of them in HTML."""
    folder = made / "site" / "gallery"
    folder.mkdir()
    lines = []
    for name, title, about, command in EXHIBITS:
        page = folder / f"{name}.html"
        print(f"gallery: {title}", flush=True)
        subprocess.run(
            [sys.executable, "-m", "regard", *command, "-o", page], check=True, cwd=ROOT, stdout=subprocess.DEVNULL
        )
        shown = " ".join(f'"{word}"' if " " in word else word for word in ("regard", *command, "-o", page.name))
        lines.append(
            f'<li><a href="gallery/{page.name}"><strong>{title}</strong></a><br>{about}<br><code>{shown}</code></li>'
        )
    return f'<div class="doors"><ul>{"".join(lines)}</ul></div>'


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the site into build/site.")
    parser.add_argument("--quick", action="store_true", help="leave out the gallery's pages")
    parser.add_argument("-o", "--output", type=Path, default=SITE, help="folder, which is replaced")
    given = parser.parse_args()
    build(given.output, given.quick)
