"""The same attention in a terminal: one row per piece written, one shaded block per source piece."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.view.page import AttentionPage

SHADES = ((0.7, "█"), (0.4, "▓"), (0.2, "▒"), (0.05, "░"), (0.0, "·"))
"""A weight takes the first block whose limit it reaches."""
BLOCK_WIDTH = 2
"""Terminal columns per source piece: a block looks square, and a Korean syllable fits above it."""
LONGEST_LABEL = 16
TALLEST_HEADER = 10
ACCENT = "cyan"
MEANING = {
    "cross": "rows: pieces written, columns: source",
    "encoder": "rows and columns: source",
    "decoder": "rows: pieces written, columns: pieces before them",
}


def draw(maps: AttentionPage, console: Console) -> None:
    """Print the last layer's attention, averaged over its heads; cross-attention if the model has any."""
    kind = maps.kinds()[0]
    layers = maps.weights(kind)
    weights: NDArray[np.float64] = layers[-1].mean(0)  # [query, key]
    queries, keys = (_shown(pieces) for pieces in maps.axes(kind))
    console.print(Text(maps.source_text))
    console.print(Text(maps.translation, style=f"bold {ACCENT}"))
    console.print()
    label_width = min(max(map(cell_len, queries)), LONGEST_LABEL, max(2, console.width // 3))
    per_table = max(1, (console.width - label_width - 1) // BLOCK_WIDTH)
    for first in range(0, len(keys), per_table):  # what is too wide goes on below
        columns = slice(first, first + per_table)
        console.print(_table(queries, keys[columns], weights[:, columns], label_width))
        console.print()
    heads = f"mean of {layers.shape[1]} heads" if layers.shape[1] > 1 else "one head"
    console.print(Text(f"{kind} attention, layer {len(layers)}, {heads}", "dim"))
    console.print(Text(MEANING[kind], "dim"))
    console.print(Text("   ".join(f"{block} from {limit}" for limit, block in reversed(SHADES)), "dim"))
    console.print(Text("Attention shows where information may flow; it is not by itself an explanation.", "dim"))


def _table(queries: list[str], keys: list[str], weights: NDArray[np.float64], label_width: int) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(justify="right", width=label_width, no_wrap=True)
    table.add_column(no_wrap=True)
    for line in _header(keys):
        table.add_row("", Text(line))
    for query, row in zip(queries, weights, strict=True):
        label = _shorten(query, label_width)
        table.add_row(Text(label), Text("".join(_block(weight) for weight in row), style=ACCENT))
    return table


def _block(weight: float) -> str:
    block = next((block for limit, block in SHADES if weight >= limit), SHADES[-1][1])
    return block * BLOCK_WIDTH if block != "·" else "· "


def _shown(pieces: list[str]) -> list[str]:
    """Without "▁": a piece that goes on with a word starts with a hyphen instead, so that words stay apart."""
    if not any(piece.startswith("▁") for piece in pieces):
        return [piece or "␣" for piece in pieces]
    return [_without_mark(piece) for piece in pieces]


def _without_mark(piece: str) -> str:
    if piece.startswith("▁"):
        return piece.strip("▁") or "␣"
    special = piece.startswith("<") and piece.endswith(">")
    return piece if special else f"-{piece}"


def _shorten(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1) + "…"


def _header(keys: list[str]) -> list[str]:
    """Pieces written downwards, each above its column."""
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
    return ["".join(set_cell_size(letter, BLOCK_WIDTH) for letter in row) for row in rows]
