"""A lesson that ran, as one self-contained page: prose, code, and what the code printed and drew."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from regard.learn.executing import Ran
from regard.learn.figures import INK, Drawn, Link
from regard.learn.lesson import NAMES, Lesson, Prose
from regard.learn.progress_file import read_progress
from regard.view.document import document
from regard.view.report import Both

COURSE: Both = ("regard · the course", "regard · 어텐션 강좌")
SOLVED: Both = ("{done} of {all} exercises solved", "연습 문제 {all}개 중 {done}개를 풀었습니다")
BY_HAND: Both = (
    "To answer an exercise, take the lesson along: <code>regard learn copy {number}</code> writes a file for you to edit, and "
    "<code>regard learn run FILE</code> runs it. <code>--notebook</code> writes a Jupyter notebook. A number or a word can also be "
    "checked at once: <code>regard learn check {number}.1 ANSWER</code>.",
    "연습 문제를 풀려면 강의를 복사하세요. <code>regard learn copy {number}</code>는 고쳐 쓸 파일을 만들고, "
    "<code>regard learn run FILE</code>은 그 파일을 실행합니다. <code>--notebook</code>을 붙이면 Jupyter 노트북을 만듭니다. "
    "숫자나 단어 답은 <code>regard learn check {number}.1 답</code>으로 바로 확인할 수 있습니다.",
)
NEXT: Both = ("Next: <code>regard learn open {number}</code>", "다음 강의: <code>regard learn open {number}</code>")

RELATIVE = re.compile(r'<a href="(?![a-z]+:|#)[^"]*">(.*?)</a>')
"""A link to another file of the repository, which does not lie beside the page; what cells wrote is linked otherwise."""


def render_lesson(lesson: Lesson, parts: Iterable[Prose | Ran]) -> str:
    """The page as text."""
    language = lesson.language == "ko"
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    content = "".join(markdown.render(part.text) if isinstance(part, Prose) else _cell(part) for part in parts)
    content = RELATIVE.sub(r"\1", content)
    content = content.replace("<table>", "<table tabindex='0'>")  # one that is too wide is scrolled, also with keys
    names = lesson.exercises
    done = sum(name in read_progress().solved for name in names)
    state = SOLVED[language].format(done=done, all=len(names))
    after = NEXT[language].format(number=lesson.number + 1) if lesson.number < len(NAMES) else ""
    by_hand = f"<p class='by-hand'>{BY_HAND[language].format(number=lesson.number)}</p>"
    content = re.sub(r"(<h1>.*?</h1>)", lambda title: title[1] + by_hand, content, count=1, flags=re.DOTALL)
    body = (
        f"<main class='lesson' lang='{lesson.language}'><p class='muted'>{COURSE[language]} · {state}</p>{content}"
        f"<footer><p>{after}</p></footer></main>"
    )
    page = document(f"{lesson.title} · regard", body, ["lesson"], [])
    return page.replace('<html lang="en">', f'<html lang="{lesson.language}">', 1)


def _cell(ran: Ran) -> str:
    code: str = highlight(ran.cell.code, PythonLexer(), HtmlFormatter(nowrap=True))
    printed = f"<pre class='output'>{html.escape(ran.printed)}</pre>" if ran.printed else ""
    return (
        f"<div class='cell'><pre class='code' tabindex='0'><code>{code}</code></pre>{printed}{_shown(ran.shown)}</div>"
    )


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Drawn) and value.svg:
        return f"<figure>{value.svg.replace(INK, 'currentColor')}</figure>"
    if isinstance(value, Link):
        return f"<p class='link'>{value._repr_html_()}</p>"
    return f"<pre class='output'>{html.escape(repr(value))}</pre>"
