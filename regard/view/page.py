"""Attention → JSON → one HTML file that needs nothing else, neither files nor network."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import accumulate
from pathlib import Path
from typing import Any

from regard.errors import UsageError
from regard.files import replacing
from regard.view.attention import Attention

VIEWS = ("look", "walk", "steps", "positions", "movie", "live", "compare")
STYLES = ("page", *VIEWS)
SCRIPTS = ("data", "dom", "heat", "band", "walk_text", *VIEWS, "main")
FRAME_HEIGHT = 900
MOST_WALKED = 4_000_000
"""Numbers of walks through the computation that a page carries at most: some 11 MB."""


def render(
    scenes: Sequence[Mapping[str, Any]], movie: Mapping[str, Any] | None = None, live: Mapping[str, Any] | None = None
) -> str:
    """The page as text: `scenes` are what `Attention.to_dict` gave, one per part of the text.

    `movie` is how attention formed (see movie.py); `live` is what the page should know of the server behind it.
    """
    content = {"scenes": list(scenes), "movie": movie, "live": live}
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Half a surrogate pair, which a command line can smuggle in but UTF-8 cannot hold, is escaped as JSON does.
    data = data.encode("utf-8", "backslashreplace").decode("utf-8")
    parts = {
        "/*STYLE*/": "\n".join(asset(f"{name}.css") for name in STYLES),
        # Without any "<" a sentence can neither end the script element nor open a comment in it.
        "/*DATA*/": data.replace("<", "\\u003c"),
        "/*SCRIPT*/": "\n".join(asset(f"{name}.js") for name in SCRIPTS),
    }
    page = fill("page.html", parts)
    return page if live is not None else page.replace(" connect-src 'self';", "", 1)  # a file asks nobody


def fill(name: str, parts: Mapping[str, str]) -> str:
    """A page with parts in place of their marks, from first to last: no part is searched for marks."""
    page = ""
    rest = asset(name)
    for mark, part in parts.items():
        before, _, rest = rest.partition(mark)
        page += before + part
    return page + rest


def scenes_of(seen: Sequence[Attention], *, walk: bool = True) -> list[dict[str, Any]]:
    """What a page shows of a text's parts. Only as many of a long text's parts can be walked through as have room."""
    sizes = accumulate(each.walk_size for each in seen)
    return [each.to_dict(walk=walk and size <= MOST_WALKED) for each, size in zip(seen, sizes, strict=True)]


def write_page(path: Path, seen: Sequence[Attention], movie: Mapping[str, Any] | None = None) -> None:
    """Write the page of a text's parts, making its folder if need be."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(
            f"a page is HTML, so {path} should end in .html; a picture is made by Attention.plot in Python"
        )
    page = render(scenes_of(seen), movie)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the attention page to {path}: {error.strerror or error}") from None


def in_a_frame(seen: Attention) -> str:
    """The page inside another one, such as a notebook."""
    page = html.escape(render(scenes_of([seen])), quote=True)
    return f'<iframe srcdoc="{page}" style="width: 100%; height: {FRAME_HEIGHT}px; border: 0"></iframe>'


def asset(name: str) -> str:
    """A file that pages are made of."""
    return (files("regard.view") / "assets" / name).read_text(encoding="utf-8")
