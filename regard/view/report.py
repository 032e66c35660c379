"""A page of facts and tables in English and Korean that needs nothing else: heads, choices and layers are told alike."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from regard.view.document import document, fill

Both: TypeAlias = tuple[str, str]  # English, Korean


def both(texts: Both) -> str:
    """Markup of which the page shows one language."""
    if texts[0] == texts[1]:
        return html.escape(texts[0])
    return "".join(
        f"<span lang='{code}'>{html.escape(text)}</span>" for code, text in zip(("en", "ko"), texts, strict=True)
    )


def render_report(
    title: str,
    heading: Both,
    facts: Iterable[tuple[Both, str]],
    sections: str,
    note: str,
    command: str,
    styles: Sequence[str],
    scripts: Sequence[str] = (),
) -> str:
    """`sections` and `note` are markup, all else is text; `command` made the page, if anything did."""
    made = f"<br><code>{html.escape(command)}</code>" if command else ""
    body = fill("report.html", {
        "<!--NAME-->": html.escape(title),
        "<!--HEADING-->": both(heading),
        "<!--FACTS-->": "".join(f"<div><dt>{both(name)}</dt><dd>{html.escape(value)}</dd></div>" for name, value in facts),
        "<!--SECTIONS-->": sections,
        "<!--NOTE-->": note + made,
    })  # fmt: skip
    return document(f"{title} · regard", body, styles, (*scripts, "report"))
