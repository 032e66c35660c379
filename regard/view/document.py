"""One HTML file that needs nothing else, neither files nor network: what all pages have in common."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from regard.errors import UsageError
from regard.files import replacing

DRAWN = "<noscript><p>This page draws with JavaScript. The numbers are in it, as JSON.</p></noscript>"


def check_name(path: Path, otherwise: str = "") -> None:
    """Say that a file's name is of no use before its content is computed."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"a page is HTML, so {path} should end in .html{otherwise}")


def write_document(path: Path, page: str) -> None:
    """Write a page whole or not at all, making its folder if need be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_bytes(page.encode("utf-8", "replace"))  # half a surrogate pair is a question mark
    except OSError as error:
        raise UsageError(f"cannot write the page to {path}: {error.strerror or error}") from None


def document(
    title: str,
    body: str,
    styles: Iterable[str],
    scripts: Iterable[str],
    data: Any = None,
    asks: bool = False,
    threads: bool = False,
) -> str:
    """A page as text: `body` is markup, `data` what its scripts read; styles and scripts are names of assets.

    It `asks` the server that it came from, or nobody, and starts `threads` of a program inside it, or none: the browser holds
    it to that.
    """
    page = fill("page.html", {
        "<!--TITLE-->": html.escape(title.encode("utf-8", "replace").decode("utf-8")),
        "/*STYLE*/": "\n".join(asset(f"{name}.css") for name in ("page", *styles)),
        "<!--BODY-->": body,
        "/*DATA*/": as_json(data),
        "/*SCRIPT*/": "\n".join(asset(f"{name}.js") for name in scripts),
    })  # fmt: skip
    page = page if threads else page.replace(" worker-src blob:;", "", 1)
    return page if asks else page.replace(" connect-src 'self';", "", 1)


def as_json(data: Any) -> str:
    """JSON that can stand within a page."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Half a surrogate pair, which a command line can smuggle in but UTF-8 cannot hold, is escaped as JSON does; without
    # any "<" a sentence can neither end the script element nor open a comment in it.
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("<", "\\u003c")


def fill(name: str, parts: Mapping[str, str]) -> str:
    """An asset with parts in place of their marks, from first to last: no part is searched for marks."""
    page = ""
    rest = asset(name)
    for mark, part in parts.items():
        before, _, rest = rest.partition(mark)
        page += before + part
    return page + rest


def asset(name: str) -> str:
    """A file that pages are made of."""
    return (files("regard.view") / "assets" / name).read_text(encoding="utf-8")
