"""`make docs`: the site, from the repository's own pages, and a gallery of pages that this package makes.

python site/build.py            → build/site/index.html
python site/build.py --quick    without the gallery's pages
"""

from __future__ import annotations

import argparse
import lzma
import os
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
    opens: str = ""
    """The address within the page, such as `#walk`."""
    before: tuple[str, ...] = ()
    """A command that must run first."""


MOODS = "runs/moods"
EXHIBITS = (
    Exhibit("live", "A translator inside the page · 페이지 안의 번역 모델",
            "Type a German sentence: the model runs in your browser. Switch heads off and see what becomes of the translation.",
            ("view", "demo", SENTENCE, "--live")),
    Exhibit("attention", "A translation, from inside · 번역 들여다보기",
            "Where every word looked in every layer and head.", ("view", "demo", SENTENCE)),
    Exhibit("attention", "A walk through the model · 모델 따라가기",
            "One token on its way from its embedding to the next token, step by step, with the model's own numbers.",
            ("view", "demo", SENTENCE), "#walk"),
    Exhibit("movie", "A movie of a training · 학습 과정 영상",
            "How the self-attention of a small classifier formed while it was trained.",
            ("view", MOODS), "#movie",
            ("train", "bundled:moods.toml", "--run", MOODS, "--set", "training.probes=3", "--set", "training.probe_every=5")),
    Exhibit("race", "A race · 아키텍처 비교",
            "Recurrence, convolution and attention trained on the same reviews: curves, scores and what is beyond chance.",
            ("race", "bundled:moods.toml")),
    Exhibit("patterns", "What each head does across a corpus · 헤드별 어텐션 패턴",
            "How far away each head looks, at which words, and its strongest weights in 200 sentences.",
            ("heads", "demo", "--corpus", "test.de", "--sentences", "200")),
    Exhibit("painting", "A painting, from inside · 그림 들여다보기",
            "A caption painted code by code: where each word's attention lies in the picture, and what leaving a word out costs.",
            ("view", "painter", "a red boot left of a blue bag")),
    Exhibit("painter", "A painter inside the page · 페이지 안의 화가",
            "Type a caption, in English or Korean: the model paints it in your browser, and shows where each word is looked at.",
            ("view", "painter", "a red boot left of a blue bag", "--live")),
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
        for picture in (*(ROOT / "docs").glob("*.png"), *(ROOT / "docs").glob("*.gif")):
            shutil.copy(picture, made / "docs")  # where the README looks for them, whose pictures are markup
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
    work = made.parent / "work"
    work.mkdir()
    write_sentences(work / "test.de")
    lines = []
    for name, title, about, command, opens, before in EXHIBITS:
        page = folder / f"{name}.html"
        print(f"gallery: {title}", flush=True)
        told = [each for each in (before, (*command, "-o", page.name)) if each]
        for words in () if page.exists() else told:  # a page may be shown twice, opened elsewhere
            run = [sys.executable, "-m", "regard", *words[:-1], page if words[-1] == page.name else words[-1]]
            subprocess.run(
                run, check=True, cwd=work, stdout=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": str(ROOT)}
            )
        shown = "<br>".join(f"<code>{' '.join(map(quoted, ('regard', *words)))}</code>" for words in told)
        lines.append(
            f'<li><a href="gallery/{page.name}{opens}"><strong>{title}</strong></a><br>{about}<br>{shown}</li>'
        )
    return f'<div class="doors"><ul>{"".join(lines)}</ul></div>'


def quoted(word: str) -> str:
    """A word of a command, in a span that a line does not end within."""
    return f"<span>&quot;{word}&quot;</span>" if " " in word else f"<span>{word}</span>"


def write_sentences(path: Path) -> None:
    """German sentences of the bundled corpus that `demo` was not trained on."""
    with lzma.open(ROOT / "regard" / "bundled" / "tatoeba-de-en.tsv.xz", "rt", encoding="utf-8") as lines:
        rows = (line.rstrip("\n").split("\t") for line in lines)
        path.write_text("".join(f"{source}\n" for split, source, _ in rows if split == "test"), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the site into build/site.")
    parser.add_argument("--quick", action="store_true", help="leave out the gallery's pages")
    parser.add_argument("-o", "--output", type=Path, default=SITE, help="folder, which is replaced")
    given = parser.parse_args()
    build(given.output, given.quick)
