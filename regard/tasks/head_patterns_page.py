"""What each head does across a corpus: the numbers, and how they look in a terminal and on a page.

Heads and layers count from 0 in the numbers, and from 1 wherever people read them.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.tasks.heads_page import TITLES
from regard.view.document import check_name, write_document
from regard.view.report import both, render_report
from regard.view.words import SPECIAL

__all__ = ["NEAR", "Example", "HeadPattern", "HeadPatterns", "check_name"]

NEAR = 4
"""Distances in tokens that are told one by one, before and after."""
SPECIAL_NAMES = {"<s>": ("⟨start⟩", "⟨시작⟩"), "</s>": ("⟨end⟩", "⟨끝⟩"), "<pad>": ("⟨padding⟩", "⟨채움⟩")}
NOTE = (
    "Each number is a mean over all queries of the corpus. The distance is counted in tokens: key minus query; 0 is the same "
    "position (of a decoder that looks at what was written, the token read last). Marks of begin and end are counted apart. A word "
    "receives the weights of its tokens together. Attention shows where information may flow; regard heads without --corpus "
    "measures what the score loses without a head.",
    "모든 숫자는 말뭉치의 모든 쿼리에 대한 평균입니다. 거리는 토큰 단위로 키의 위치에서 쿼리의 위치를 뺀 값이며, 0은 같은 위치입니다(이미 쓴 것을 보는 "
    "디코더에서는 마지막으로 읽은 토큰). 시작과 끝 표시는 따로 셉니다. 단어의 가중치는 그 단어를 이루는 토큰의 가중치를 더한 값입니다. 어텐션은 정보가 "
    "흐를 수 있는 곳을 보여 줄 뿐입니다. 헤드가 없을 때 점수가 얼마나 떨어지는지는 --corpus 없이 regard heads로 측정합니다.",
)


@dataclass(frozen=True)
class Example:
    """One look of one head: the query word and the key word among the words around them."""

    weight: float
    queries: list[str]
    query: int
    keys: list[str]
    key: int


@dataclass(frozen=True)
class HeadPattern:
    """One head across all sentences; shares sum to 1."""

    kind: str
    layer: int
    head: int
    special: float
    """The share of its weight on the marks of begin and end."""
    distances: list[float]
    """Shares by key minus query: all further before than `NEAR`, −NEAR … NEAR, and all further after."""
    entropy: float
    """Mean over the queries, in bits; 0: each query looks at one token."""
    words: list[tuple[str, float]]
    """Which words received the largest shares."""
    examples: list[Example]
    """The strongest looks, each pair of words once."""

    @property
    def name(self) -> str:
        """As people count: `2.3`."""
        return f"{self.layer + 1}.{self.head + 1}"

    @property
    def mostly(self) -> tuple[str, str]:
        """What the largest share of its weight lies on, in English and Korean."""
        place = max(range(len(self.distances)), key=self.distances.__getitem__)
        share = self.distances[place]
        if self.special > share:
            return f"begin or end {self.special:.0%}", f"시작·끝 {self.special:.0%}"
        return f"{DISTANCES[place]}: {share:.0%}", f"{DISTANCES[place]}: {share:.0%}"


DISTANCES = [
    f"< −{NEAR}", *(f"{each:+d}".replace("-", "−") if each else "0" for each in range(-NEAR, NEAR + 1)), f"> +{NEAR}"
]  # fmt: skip


@dataclass(frozen=True)
class HeadPatterns:
    """Of every head, what it attends to in a corpus."""

    model: str
    corpus: str
    sentences: int
    skipped: int
    """Texts that the model could not read, such as too long ones; each was named."""
    heads: list[HeadPattern]

    def find(self, kind: str, layer: int, head: int) -> HeadPattern:
        """One head; layers and heads count from 0."""
        return next(each for each in self.heads if (each.kind, each.layer, each.head) == (kind, layer, head))

    def to_dict(self) -> dict[str, Any]:
        """For JSON; layers and heads count from 1."""
        heads = [{**asdict(each), "layer": each.layer + 1, "head": each.head + 1} for each in self.heads]
        return {
            "model": self.model,
            "corpus": self.corpus,
            "sentences": self.sentences,
            "skipped": self.skipped,
            "heads": heads,
        }

    def draw(self, console: Console) -> None:
        """A line for each head in a terminal."""
        console.print(Text(f"{self.model} on {self.sentences:,} texts of {self.corpus}"))
        table = Table(box=None, pad_edge=False, header_style="dim")
        for column in ("attention", "head", "mostly at", "entropy", "words that receive most"):
            table.add_column(column, justify="right" if column in ("head", "entropy") else "left")
        last = ""
        for each in self.heads:
            words = ", ".join(f"{word_name(word)} {share:.0%}" for word, share in each.words[:4])
            kind = TITLES[each.kind][0] if each.kind != last else ""
            table.add_row(kind, each.name, each.mostly[0], f"{each.entropy:.2f}", Text(words))
            last = each.kind
        console.print(table)
        console.print(Text(NOTE[0], "dim"))

    def write(self, path: str | Path, command: str = "") -> None:
        """As one HTML file that needs nothing else; `command` made it."""
        check_name(Path(path))
        write_document(Path(path), render_patterns(self, command))


def word_name(word: str) -> str:
    return SPECIAL_NAMES[word][0] if word in SPECIAL else word or "␣"


def render_patterns(found: HeadPatterns, command: str = "") -> str:
    """A table of all heads, each of which leads to its own words and sentences."""
    facts = [
        (("corpus", "말뭉치"), found.corpus),
        (("texts", "글 수"), f"{found.sentences:,}"),
        *([(("left out", "제외된 글"), f"{found.skipped:,}")] if found.skipped else []),
    ]
    kinds = list(dict.fromkeys(each.kind for each in found.heads))
    overview = "".join(f"<section><h2>{both(TITLES[kind])}</h2>{_overview(found, kind)}</section>" for kind in kinds)
    overview = f"<div class='kinds'>{overview}</div>"
    details = "".join(_detail(each) for each in found.heads)
    heading = ("What each head does across a corpus", "말뭉치에서 본 헤드별 어텐션 패턴")
    return render_report(found.model, heading, facts, overview + details, both(NOTE), command, ["heads", "patterns"])


def _overview(found: HeadPatterns, kind: str) -> str:
    """Layers downwards, heads across: each a histogram of distances."""
    heads = [each for each in found.heads if each.kind == kind]
    layers = sorted({each.layer for each in heads})
    rows = "".join(
        f"<tr><th scope='row'>{both((f'layer {layer + 1}', f'{layer + 1}층'))}</th>"
        + "".join(f"<td>{_tile(each)}</td>" for each in heads if each.layer == layer)
        + "</tr>"
        for layer in layers
    )
    return f"<div class='scroller' tabindex='0'><table class='tiles'><tbody>{rows}</tbody></table></div>"


def _tile(each: HeadPattern) -> str:
    bars = "".join(f"<i style='--share: {part:.3f}'></i>" for part in _parts(each.distances))
    shown = f"<span class='bars' aria-hidden='true'>{bars}</span><small>{both(each.mostly)}</small>"
    return f"<a href='#{_anchor(each)}'><b>{each.name}</b>{shown}</a>"


def _parts(shares: Sequence[float]) -> list[float]:
    """Of the largest of them, for the length of bars."""
    most = max(shares, default=0.0) or 1.0
    return [share / most for share in shares]


def _shares(rows: Sequence[tuple[str, float]]) -> str:
    """A bar for each name, which is markup."""
    parts = _parts([share for _, share in rows])
    cells = (
        f"<tr><th scope='row'>{name}</th><td><i style='--share: {part:.3f}'></i>{share:.1%}</td></tr>"
        for (name, share), part in zip(rows, parts, strict=True)
    )
    return f"<table class='shares'><tbody>{''.join(cells)}</tbody></table>"


def _anchor(each: HeadPattern) -> str:
    return f"{each.kind}-{each.name}"


def _detail(each: HeadPattern) -> str:
    title = (f"{TITLES[each.kind][0]}, head {each.name}", f"{TITLES[each.kind][1]}, 헤드 {each.name}")
    facts = (
        f"<dl class='facts'><div><dt>{both(('entropy', '엔트로피'))}</dt><dd>{both((f'{each.entropy:.2f} bits', f'{each.entropy:.2f}비트'))}</dd></div>"
        f"<div><dt>{both(('marks of begin and end', '시작과 끝 표시'))}</dt><dd>{each.special:.1%}</dd></div></dl>"
    )
    places = _shares(list(zip(map(html.escape, DISTANCES), each.distances, strict=True)))
    words = _shares([(_word(word), share) for word, share in each.words])
    return (
        f"<section class='head' id='{_anchor(each)}'><h2>{both(title)}</h2>{facts}<div class='sides'>"
        f"<div><h3>{both(('By distance', '거리별'))}</h3>{places}</div>"
        f"<div><h3>{both(('By word', '단어별'))}</h3>{words}</div>"
        f"<div><h3>{both(('Strongest weights', '가장 큰 가중치'))}</h3><ol class='examples'>{''.join(_examples(each))}</ol></div>"
        "</div></section>"
    )


def _word(word: str) -> str:
    return both(SPECIAL_NAMES[word]) if word in SPECIAL else f"<bdi>{html.escape(word or '␣')}</bdi>"


def _examples(each: HeadPattern) -> Iterator[str]:
    """Both words in their sentence, or each in its own."""
    for example in each.examples:
        share = f"{min(example.weight, 0.999):.1%}" if example.weight < 1 else "100%"
        if each.kind == "cross":
            sides = (
                f"{_marked(example.queries, {example.query: 'query'})}<br>{_marked(example.keys, {example.key: 'key'})}"
            )
        elif each.kind == "encoder":
            marks = {example.key: "key", example.query: "query"}
            if example.key == example.query:
                marks = {example.key: "query key"}
            sides = _marked(example.queries, marks) if example.keys == example.queries else _both_sides(example)
        else:
            sides = _both_sides(example)
        yield f"<li><b>{share}</b><span>{sides}</span></li>"


def _both_sides(example: Example) -> str:
    return f"{_marked(example.queries, {example.query: 'query'})}<br>{_marked(example.keys, {example.key: 'key'})}"


def _marked(words: Sequence[str], marks: dict[int, str]) -> str:
    shown = (
        f"<mark class='{marks[place]}'>{_word(word)}</mark>" if place in marks else _word(word)
        for place, word in enumerate(words)
    )
    return f"<span dir='auto'>{' '.join(shown)}</span>"
