"""The same attention in a terminal: a map with one row per token written and one shaded block per source token, and
below it each word with the source words that it looked at most."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.tasks.translation.attention import Attention
from regard.tasks.translation.warnings import alignment_layer
from regard.view.words import SPECIAL, texts_of

SHADES = ((0.7, "█"), (0.4, "▓"), (0.2, "▒"), (0.05, "░"), (0.0, "·"))
"""A weight takes the first block whose limit it reaches."""
BLOCK_WIDTH = 2
"""Terminal columns per source token: a block looks square, and a Korean syllable fits above it."""
LONGEST_LABEL = 16
TALLEST_HEADER = 10
LEAST_SHARE = 0.1
"""Of a word's attention, for a source word to be listed beside it."""
ACCENT = "cyan"
MEANING = {
    "cross": "rows: tokens written, columns: source",
    "encoder": "rows and columns: source",
    "decoder": "rows: tokens written, columns: tokens before them",
}

WARNINGS = {
    "unseen": "Hardly looked at in layer {1}: “{0}”. It may be missing from the translation.",
    "spelled": "The model has no token for a character in “{}” and reads it byte by byte; it can hardly know the word.",
    "repeated": "The translation repeats itself: “{}”.",
}


def draw(maps: Attention, console: Console) -> None:
    """Print the last layer's attention, averaged over its heads; cross-attention if the model has any."""
    kind = maps.kinds[0]
    layers = np.asarray(maps.weights[kind], dtype=np.float64)
    weights = maps.mean(kind)  # [query, key]
    queries, keys = (_shown(tokens) for tokens in maps.axes(kind))
    console.print(Text(_harmless(maps.text)))
    console.print(Text(_harmless(maps.translation), style=f"bold {ACCENT}"))
    console.print()
    label_width = _label_width(queries, console)
    per_table = max(1, (console.width - label_width - 1) // BLOCK_WIDTH)
    for first in range(0, len(keys), per_table):  # what is too wide goes on below
        columns = slice(first, first + per_table)
        console.print(_table(queries, keys[columns], weights[:, columns], label_width))
        console.print()
    heads = f"mean of {layers.shape[1]} heads" if layers.shape[1] > 1 else "one head"
    console.print(Text(f"{kind} attention, layer {len(layers)}, {heads}", "dim"))
    console.print(Text(MEANING[kind], "dim"))
    console.print(Text("   ".join(f"{block} from {limit}" for limit, block in reversed(SHADES)), "dim"))
    console.print()
    if kind == "cross":
        console.print(_alignment(maps, console))
        console.print()
    for warning in _warnings(maps):
        console.print(Text(warning, "yellow"))
    console.print(Text("Attention shows where information may flow; it is not by itself an explanation.", "dim"))


def _alignment(maps: Attention, console: Console) -> Table:
    """Each word written, and the source words that it looked at most, best first."""
    written, read = _words(maps.target_tokens), _words(maps.source_tokens)
    label_width = _label_width(written, console)
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(justify="right", width=label_width, no_wrap=True)
    table.add_column(width=1)
    table.add_column(overflow="fold")
    for word, row in zip(written, maps.words("cross"), strict=True):
        if word in SPECIAL:
            continue
        best = np.argsort(-row, kind="stable")
        seen = [number for number in best if row[number] >= LEAST_SHARE] or best[:1]
        looks = [f"{_apart(read[number])} {100 * row[number]:.0f} %" for number in seen]
        label = Text(_apart(_shorten(word, label_width)), f"bold {ACCENT}")
        table.add_row(label, Text("←", "dim"), Text(_filled(looks, console.width - label_width - 3)))
    return table


def _filled(parts: list[str], width: int) -> str:
    """As many to a line as fit: a line ends behind a comma, not inside of a part."""
    lines = [parts[0]]
    for part in parts[1:]:
        longer = f"{lines[-1]}, {part}"
        lines[-1:] = [longer] if cell_len(longer) < width else [f"{lines[-1]},", part]
    return "\n".join(lines)


def _warnings(maps: Attention) -> Iterator[str]:
    texts = {"source": _words(maps.source_tokens), "target": _words(maps.target_tokens)}
    layer = alignment_layer(len(maps.weights.get("cross", ()))) + 1
    for warning in maps.warnings():
        words = _apart(" ".join(texts[warning["side"]][number] for number in warning["words"]))
        yield WARNINGS[warning["kind"]].format(words, layer)


def _label_width(labels: list[str], console: Console) -> int:
    return min(max(map(cell_len, labels)), LONGEST_LABEL, max(2, console.width // 3))


def _table(queries: list[str], keys: list[str], weights: NDArray[np.float64], label_width: int) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(justify="right", width=label_width, no_wrap=True)
    table.add_column(no_wrap=True)
    for line in _header(keys):
        table.add_row("", Text(line))
    for query, row in zip(queries, weights, strict=True):
        label = _apart(_shorten(query, label_width))
        table.add_row(Text(label), Text("".join(_block(weight) for weight in row), style=ACCENT))
    return table


def _block(weight: float) -> str:
    block = next((block for limit, block in SHADES if weight >= limit), SHADES[-1][1])
    return block * BLOCK_WIDTH if block != "·" else "· "


def _words(tokens: list[str]) -> list[str]:
    return [_harmless(text) or "␣" for text in texts_of(tokens)]


def _harmless(text: str) -> str:
    """Without what a terminal would obey, such as an escape, or cannot show: half of a surrogate pair."""
    return "".join("�" if unicodedata.category(letter) in ("Cc", "Cs") else letter for letter in " ".join(text.split()))


def _shown(tokens: list[str]) -> list[str]:
    """Without "▁": a token that goes on with a word starts with a hyphen instead, so that words stay apart."""
    if not any(token.startswith("▁") for token in tokens):
        return [token or "␣" for token in tokens]
    return [_without_mark(token) for token in tokens]


def _without_mark(token: str) -> str:
    if token.startswith("▁"):
        return token.strip("▁") or "␣"
    special = token.startswith("<") and token.endswith(">")
    return token if special else f"-{token}"


def _shorten(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def _apart(text: str) -> str:
    """Right-to-left text in Unicode's isolates, so that a terminal that turns it round leaves all around it in place."""
    if any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in text):
        return f"\u2068{text}\u2069"
    return text


def _header(keys: list[str]) -> list[str]:
    """Tokens written downwards, each above its column."""
    stacks = []
    for key in keys:
        letters: list[str] = []
        for letter in key:
            if letters and cell_len(letter) == 0:  # an accent stays on the letter that it marks
                letters[-1] += letter
            else:
                letters.append(letter)
        stacks.append(letters if len(letters) <= TALLEST_HEADER else [*letters[: TALLEST_HEADER - 1], "…"])
    height = max(len(stack) for stack in stacks)
    rows = zip(*([""] * (height - len(stack)) + stack for stack in stacks), strict=True)
    return ["".join(set_cell_size(_apart(letter), BLOCK_WIDTH) for letter in row) for row in rows]
