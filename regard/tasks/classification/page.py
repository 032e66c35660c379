"""What a classifier's decision looked at: the numbers, and how they look in a terminal and on a page.

C labels · L layers · H heads · T tokens · W words
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from regard.view.arrays import pack_probabilities
from regard.view.document import as_json, check_name, write_document
from regard.view.report import Both, both, render_report
from regard.view.words import SPACE, SPECIAL, Word, merge, text_of, words_of

SCRIPTS = ("data", "dom", "heat", "classification")
MOST_BARS = 12  # labels shown; a classifier may know hundreds
MOST_NGRAMS = 12
MOST_WINDOWS = 8
MOST_MAPPED = 4_000_000
"""Attention weights that a page carries at most: some 11 MB."""
DEEP = 0.5  # darker shades carry text in the colour of the paper
BAR = 30  # terminal columns
STYLES = ((0.6, "bold reverse"), (0.25, "bold"), (0.08, ""))
"""A word takes the first style whose share of the greatest number it reaches; a weaker one is dim."""
FOR, AGAINST = "cyan", "yellow underline"
NOTE = (
    "Attention says from where information can have come into the decision: the looks of all layers, followed from the "
    "pooled vector down to the words. Gradient × input says how the label's log-odds would move if a word's vector "
    "grew or shrank: + speaks for the label, − against it, and +0.7 doubles its odds. Both are hints, no proof: "
    "neither is what would happen without the word.",
    "어텐션은 판단에 들어온 정보가 어느 단어에서 왔을 수 있는지를 나타냅니다. 풀링된 벡터에서 단어까지 모든 층의 시선을 "
    "거슬러 올라간 값입니다. 기울기 × 입력은 단어의 벡터가 커지거나 작아질 때 라벨의 로그 오즈가 얼마나 움직이는지를 "
    "나타냅니다. +는 라벨에 유리하고 −는 불리하며, +0.7이면 오즈가 두 배가 됩니다. 둘 다 단서일 뿐 증거가 아니며, "
    "그 단어가 없었다면 어떻게 되었을지를 말해 주지는 않습니다.",
)
TITLES: dict[str, Both] = {
    "attention": ("Attention: looked at", "어텐션: 본 곳"),
    "gradient": ("Gradient × input: for and against", "기울기 × 입력: 찬성과 반대"),
    "ngrams": ("N-grams: for and against", "n-gram: 찬성과 반대"),
}


@dataclass(frozen=True, repr=False)
class Explanation:
    """One text, or one window of a long one, and what spoke for the label it was given."""

    title: str
    text: str
    label: str
    probabilities: Mapping[str, float]
    """Of every label and of the whole text, the most probable first."""
    tokens: list[str]
    """That were read; "▁" begins a word."""
    weights: NDArray[np.floating[Any]]
    """Every attention weight: [L, H, T, T], rows sum to 1."""
    attention: NDArray[np.float64]
    """[T], sums to 1: from which tokens attention can have carried what was pooled (rollout from the pooled vector)."""
    gradient: NDArray[np.float64]
    """[T]: gradient × input of each token, in log-odds of the label."""
    log_odds: float
    """Of the label, as this window alone has it."""
    ngrams: NDArray[np.float64] | None = None
    """[T]: what n-grams add, shared among their tokens, in log-odds; None if the model has no bag of n-grams."""
    ngram_contributions: Sequence[tuple[str, float]] = ()
    """Those n-grams and what each adds to the log-odds, the strongest first."""
    window: int = 1
    windows: int = 1
    gap: int | None = None
    """The token before which a part of the text was left out."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What to tell of the model."""

    def __repr__(self) -> str:
        return f"Explanation({self.text[:40]!r} → {self.label!r})"

    @property
    def words(self) -> list[Word]:
        """The words that the tokens make up; none reaches across what was left out."""
        gap = len(self.tokens) if self.gap is None else self.gap
        after = words_of(self.tokens[gap:]) if gap < len(self.tokens) else []
        return [*words_of(self.tokens[:gap]), *(Word(gap + word.first, gap + word.end) for word in after)]

    def by_word(self, name: str) -> list[tuple[Word, float]]:
        """`attention`, `gradient` or `ngrams` of each word: the sum of its tokens."""
        values: NDArray[np.float64] = getattr(self, name)
        return [(word, float(values[word.first : word.end].sum())) for word in self.words]

    def word_weights(self) -> NDArray[np.float64]:
        """Every attention weight between words: [L, H, W, W], rows sum to 1."""
        return merge(np.asarray(self.weights, dtype=np.float64), self.words, self.words)

    def spelled(self, word: Word) -> str:
        """A word as one reads it."""
        return text_of(self.tokens[word.first : word.end]) or "␣"

    @property
    def names(self) -> list[str]:
        """Which of attention, gradient and n-grams there are."""
        return ["attention", "gradient", *(["ngrams"] if self.ngrams is not None else [])]


def draw_decision(seen: Explanation, console: Console) -> None:
    """The text in a terminal, coloured by what spoke for the label and against it, and the probabilities as bars."""
    if seen.window == 1:
        _draw_bars(seen, console)
    if seen.windows > 1:
        console.print(Text(f"window {seen.window} of {seen.windows}", "dim"))
    for name in seen.names:
        console.print(Text(TITLES[name][0], "dim"))
        console.print(_coloured(seen, name))
        console.print()
    ranked = sorted(seen.by_word("gradient"), key=lambda each: -each[1])
    for word, speakers in (("for", ranked[:5]), ("against", ranked[::-1][:5])):
        sign = 1 if word == "for" else -1
        listed = [f"{seen.spelled(each)} {signed(value)}" for each, value in speakers if sign * value >= 0.005]
        console.print(Text(_harmless(f"{word} {seen.label}: {', '.join(listed) or 'nothing'}")))
    if seen.ngram_contributions:
        listed = [f"“{ngram}” {signed(value)}" for ngram, value in seen.ngram_contributions[:5]]
        console.print(Text(_harmless(f"n-grams: {', '.join(listed)}")))


def _aligned(label: str, width: int) -> str:
    """To the right in so many cells of a terminal, of which a Korean syllable takes two."""
    shown = set_cell_size(label, width) if cell_len(label) > width else label
    return " " * (width - cell_len(shown)) + shown + " "


def _draw_bars(seen: Explanation, console: Console) -> None:
    shown = list(seen.probabilities.items())[:MOST_BARS]
    width = min(24, max(cell_len(_harmless(label)) for label, _ in shown))
    for label, probability in shown:
        bar = "█" * round(BAR * probability)
        name = (_aligned(_harmless(label), width), "bold" if label == seen.label else "")
        console.print(Text.assemble(name, (f"{bar:<{BAR}}", FOR), f" {percent(probability)}"))
    if more := len(seen.probabilities) - len(shown):
        console.print(Text(f"and {more:,} less probable labels", "dim"))
    console.print()


def _coloured(seen: Explanation, name: str) -> Text:
    line = Text()
    for word, value, depth in _shaded(seen, name):
        if word.first == seen.gap:
            line.append(" […]", "dim")
        style = next((style for least, style in STYLES if depth >= least), None)
        colour = "dim" if style is None else f"{style} {FOR if value >= 0 else AGAINST}"
        line.append(" " if line and _spaced(seen, word) else "")
        line.append(_harmless(seen.spelled(word)), colour)
    return line.append(" […]", "dim") if seen.gap == len(seen.tokens) else line


def _shaded(seen: Explanation, name: str) -> Iterator[tuple[Word, float, float]]:
    """Each word, its number, and how near that is to the greatest."""
    values = seen.by_word(name)
    most = max((abs(value) for _, value in values), default=0.0) or 1.0
    return ((word, value, abs(value) / most) for word, value in values)


def _spaced(seen: Explanation, word: Word) -> bool:
    return seen.tokens[word.first].startswith(SPACE) or seen.tokens[word.first - 1] in SPECIAL


def _harmless(text: str) -> str:
    """Without what a terminal would obey, such as an escape."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)


def signed(value: float) -> str:
    """A number with its sign; what rounds to nothing has none."""
    text = f"{value:+.2f}".replace("-", "−")
    return "0.00" if text[1:] == "0.00" else text


def percent(share: float) -> str:
    """A probability; one that only rounds to certainty does not claim it."""
    return f"{min(99.9, 100 * share):.1f} %" if share < 1 else "100 %"


def write_decisions(path: Path, seen: Sequence[Explanation], command: str = "") -> None:
    """Write the page of a text's windows, making its folder if need be."""
    check_name(path)
    write_document(path, render_decisions(seen, command))


def render_decisions(seen: Sequence[Explanation], command: str = "") -> str:
    """One HTML file that needs nothing else: probabilities, the shaded text, and a map for every head."""
    first = seen[0]
    sure = percent(first.probabilities[first.label])
    heading = (f"{first.label}: {sure}", f"{first.label}: {sure}")
    known = {"labels": "라벨 수", "parameters": "파라미터", "training texts": "학습 텍스트", "updates": "업데이트"}
    facts = [((name, known.get(name, name)), value) for name, value in first.facts.items()]
    room = MOST_MAPPED
    sections = [_bars(first)]
    for each in seen:
        mapped = each.weights.size <= room
        room -= each.weights.size if mapped else 0
        sections.append(_window(each, mapped))
    if first.windows > len(seen):
        rest = first.windows - len(seen)
        sections.append(f"<p class='muted'>{both((f'{rest:,} more windows are not shown.', f'나머지 창 {rest:,}개는 보이지 않습니다.'))}</p>")  # fmt: skip
    return render_report(
        first.title, heading, facts, "".join(sections), both(NOTE), command,
        styles=["heads", "look", "classification"], scripts=SCRIPTS,
    )  # fmt: skip


def _bars(seen: Explanation) -> str:
    rows = []
    for label, probability in list(seen.probabilities.items())[:MOST_BARS]:
        rows.append(
            f"<tr><th scope='row'>{html.escape(label)}</th><td><i style='--part: {probability:.4f}'></i></td>"
            f"<td>{percent(probability)}</td></tr>"
        )
    more = len(seen.probabilities) - len(rows)
    rest = (f"and {more:,} less probable labels", f"그 밖의 라벨 {more:,}개")
    after = f"<p class='muted'>{both(rest)}</p>" if more else ""
    title = both(("How probable each label is", "라벨별 확률"))
    return f"<section><h2>{title}</h2><table class='bars'>{''.join(rows)}</table>{after}</section>"


def _window(seen: Explanation, mapped: bool) -> str:
    number = (f"Window {seen.window} of {seen.windows}", f"창 {seen.windows}개 가운데 {seen.window}번째")
    title = f"<h2>{both(number)}</h2>" if seen.windows > 1 else ""
    texts = "".join(
        f"<div><h2>{both(TITLES[name])}</h2><p class='shaded'>{_markup(seen, name)}</p></div>" for name in seen.names
    )
    return f"<section class='decision'>{title}<div class='texts'>{texts}</div>{_ngrams(seen)}{_maps(seen, mapped)}</section>"


def _markup(seen: Explanation, name: str) -> str:
    parts = []
    for word, value, depth in _shaded(seen, name):
        if word.first == seen.gap:
            parts.append(_gap())
        side = "against" if value < 0 else "for"
        number = f"{100 * value:.1f} %" if name == "attention" else signed(value)
        classes = f"{side} deep" if depth > DEEP else side
        shown = both(("start", "시작")) if seen.tokens[word.first] in SPECIAL else html.escape(seen.spelled(word))
        space = " " if parts and _spaced(seen, word) else ""
        parts.append(f"{space}<span class='{classes}' style='--depth: {depth:.3f}' title='{number}'>{shown}</span>")
    return "".join(parts) + (_gap() if seen.gap == len(seen.tokens) else "")


def _gap() -> str:
    return f" <i class='nothing'>[{both(('left out', '생략'))} …]</i>"


def _ngrams(seen: Explanation) -> str:
    if not seen.ngram_contributions:
        return ""
    most = abs(seen.ngram_contributions[0][1]) or 1.0
    rows = []
    for ngram, value in seen.ngram_contributions[:MOST_NGRAMS]:
        side = "against" if value < 0 else "for"
        rows.append(
            f"<tr><th scope='row'>{html.escape(ngram)}</th><td><i class='{side}' style='--part: {abs(value) / most:.3f}'></i></td>"
            f"<td>{signed(value)}</td></tr>"
        )
    title = both(("The strongest n-grams, in log-odds", "가장 강한 n-gram(로그 오즈)"))
    return f"<h2>{title}</h2><table class='bars'>{''.join(rows)}</table>"


def _maps(seen: Explanation, mapped: bool) -> str:
    title = both(("Every layer and head: who looked at whom", "모든 층과 헤드: 누가 누구를 보았나"))
    if not mapped:
        left = ("This page has no room for the weights of so many words.", "단어가 너무 많아 가중치를 담지 못했습니다.")
        return f"<h2>{title}</h2><p class='muted'>{both(left)}</p>"
    words = [seen.spelled(word) for word in seen.words]
    data = as_json({"words": words, "weights": pack_probabilities(seen.word_weights())})
    return f"<h2>{title}</h2><div class='maps look'><script type='application/json'>{data}</script></div>"
