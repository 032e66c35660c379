"""What a classifier's decision looked at: the numbers, and how they look in a terminal and on a page.

C labels · L layers · H heads · T tokens · W words
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from regard.errors import UsageError
from regard.view.inside import Inside, walk_size
from regard.view.scenes import in_a_frame, write_page
from regard.view.words import SPACE, SPECIAL, Word, merge, text_of, words_of

MOST_BARS = 12  # labels shown; a classifier may know hundreds
MOST_NGRAMS = 12
MOST_WINDOWS = 8
MOST_MAPPED = 4_000_000
"""Attention weights of all windows that a page carries at most: some 11 MB."""
BAR = 30  # terminal columns
STYLES = ((0.6, "bold reverse"), (0.25, "bold"), (0.08, ""))
"""A word takes the first style whose share of the greatest number it reaches; a weaker one is dim."""
FOR, AGAINST = "cyan", "yellow underline"
NOTE = (
    "Attention says from where information can have come into the decision: the looks of all layers, followed from the "
    "pooled vector down to the words. Gradient × input says how the label's log-odds would move if a word's vector "
    "grew or shrank: + speaks for the label, − against it, and +0.7 doubles its odds. Both are hints, no proof: "
    "neither is what would happen without the word."
)
TITLES = {
    "attention": "Attention: looked at",
    "gradient": "Gradient × input: for and against",
    "ngrams": "N-grams: for and against",
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
    weights: NDArray[np.floating[Any]] | None
    """Every attention weight: [L, H, T, T], rows sum to 1; None: no token of this architecture looks at others."""
    attention: NDArray[np.float64] | None
    """[T], sums to 1: from which tokens attention can have carried what was pooled (rollout from the pooled vector); None: the
    model has no attention."""
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
    labels: Sequence[str] = ()
    """In the model's own order, which is that of the logits."""
    logits: Sequence[NDArray[np.float64]] = ()
    """[C] as this window alone has them, of what attention found and of n-grams if the model has them."""
    temperature: float = 1.0
    """What the logits are divided by, so that probabilities are calibrated."""
    inside: Inside = field(default_factory=Inside)
    """Positions, heads that were switched off, and all recorded tensors."""

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
        if self.weights is None:
            raise UsageError("in this model no word looks at others: there is no attention between words")
        return merge(np.asarray(self.weights, dtype=np.float64), self.words, self.words)

    def spelled(self, word: Word) -> str:
        """A word as one reads it."""
        return text_of(self.tokens[word.first : word.end]) or "␣"

    @property
    def names(self) -> list[str]:
        """Which of attention, gradient and n-grams there are."""
        return [name for name in TITLES if getattr(self, name) is not None]

    @property
    def walk_size(self) -> int:
        """How many numbers a walk through the computation takes."""
        return walk_size(self.inside.record)

    def to_dict(self, *, walk: bool = True) -> dict[str, Any]:
        """All that a page draws, as plain JSON values."""
        nothing = {"text": "", "tokens": [], "words": []}
        words = [{"first": word.first, "end": word.end, "text": self.spelled(word)} for word in self.words]
        return {
            "title": self.title,
            "facts": dict(self.facts),
            "parts": self.windows,
            "source": {"text": self.text, "tokens": self.tokens, "words": words},
            "target": nothing,
            "read": nothing,
            "attention": {"encoder": self.inside.attention(self.weights)}
            if self.weights is not None and self.mapped
            else {},
            "alternatives": [],
            "steps": [],
            "search": None,
            "warnings": [],
            "decision": self._decision_values(),
            **self.inside.to_dict(walk=walk),
        }

    @property
    def mapped(self) -> bool:
        """Whether a page has room for the weights, if there are any."""
        return self.weights is None or self.weights.size * min(self.windows, MOST_WINDOWS) <= MOST_MAPPED

    def _decision_values(self) -> dict[str, Any]:
        """The label, and what each word had to do with it."""
        return {
            "label": self.label,
            "probabilities": [[label, share] for label, share in self.probabilities.items()],
            "window": self.window,
            "gap": self.gap,
            "mapped": self.mapped,
            "words": {name: [value for _, value in self.by_word(name)] for name in self.names},
            "ngrams": [[ngram, value] for ngram, value in self.ngram_contributions[:MOST_NGRAMS]],
            "labels": list(self.labels),
            "logits": [each.tolist() for each in self.logits],
            "temperature": self.temperature,
        }

    def save(self, path: str | Path) -> None:
        """Write the page: one HTML file that needs nothing else, neither files nor network."""
        write_page(Path(path), [self])

    def _repr_html_(self) -> str:
        return in_a_frame(self)


def draw_explanation(seen: Explanation, console: Console) -> None:
    """The text in a terminal, coloured by what spoke for the label and against it, and the probabilities as bars."""
    if seen.window == 1:
        _draw_bars(seen, console)
    if seen.windows > 1:
        console.print(Text(f"window {seen.window} of {seen.windows}", "dim"))
    for name in seen.names:
        console.print(Text(TITLES[name], "dim"))
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
