"""The terminal's map fits the terminal, lines up under wide letters, and shades what weighs most darkest."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import ArrayLike
from rich.cells import cell_len
from rich.console import Console

from regard.view.page import AttentionPage
from regard.view.terminal import draw


def page(source: list[str], target: list[str], weights: ArrayLike | None = None, kind: str = "cross") -> AttentionPage:
    """Cross-attention, at random unless given."""
    if weights is None:
        scores = np.random.default_rng(0).exponential(size=(2, 2, len(target), len(source)))
        weights = scores / scores.sum(-1, keepdims=True)
    return AttentionPage("a run", source, target, "a translation", "a source", {kind: weights})


KOREAN = page(["▁갈색", "▁개", "가", "▁달리", "다", "</s>"], ["▁A", "▁brown", "▁dog", "▁runs", "</s>"])
LONG = page([f"▁word{index}" for index in range(40)], ["▁a" + "very" * 9 + "longword", "▁b"])


def drawn(maps: AttentionPage, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    draw(maps, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def rows(lines: list[str]) -> list[str]:
    """Lines of the map itself: they hold blocks, and the caption below it comes after them."""
    end = next(index for index, line in enumerate(lines) if "attention," in line or line.startswith("cross"))
    return [line for line in lines[:end] if any(block in line for block in "█▓▒░·")]


def sharp(queries: int, keys: int) -> AttentionPage:
    weights = np.zeros((1, 1, queries, keys))
    weights[0, 0, range(queries), range(queries)] = 1
    pieces = [f"▁{letter}" for letter in "abcdefghij"]
    return page(pieces[:keys], pieces[:queries], weights)


def test_the_darkest_block_is_where_the_weight_is() -> None:
    found = rows(drawn(sharp(3, 4)))
    assert [row.replace(" ", "") for row in found] == ["a██···", "b·██··", "c··██·"]


def test_the_last_layer_and_the_mean_of_its_heads_are_drawn() -> None:
    weights = np.zeros((2, 2, 1, 2))
    weights[0, :, 0, 0] = 1  # the first layer looks left, which must not show
    weights[1, 0, 0, 1] = 1  # one head of the last layer looks right
    weights[1, 1, 0] = 0.5  # the other at both: 0.25 and 0.75 in the mean
    assert rows(drawn(page(["▁a", "▁b"], ["▁c"], weights)))[0].endswith("▒▒██")


@pytest.mark.parametrize("width", [12, 20, 24, 80, 200])
@pytest.mark.parametrize("maps", [KOREAN, LONG])
def test_nothing_is_wider_than_the_terminal_and_no_weight_is_lost(maps: AttentionPage, width: int) -> None:
    lines = drawn(maps, width)
    assert max(map(cell_len, lines)) <= width
    blocks = sum(row.count("·") + sum(map(row.count, "█▓▒░")) / 2 for row in rows(lines))
    assert blocks == len(maps.source_tokens) * len(maps.target_tokens)


def test_wide_letters_stand_above_their_columns() -> None:
    lines = drawn(page(["▁a", "▁개", "▁b", "▁갈", "▁c"], ["▁x"]))
    header, row = next(line for line in lines if "개" in line), rows(lines)[0]
    first = cell_len(row) - 2 * 5
    places = [cell_len(header[: header.index(letter)]) for letter in "a개b갈c"]
    assert places == [first + 2 * column for column in range(5)]


def test_words_stay_apart_without_the_mark() -> None:
    text = "\n".join(drawn(page(["▁a"], ["▁renn", "t", "</s>"])))
    assert "▁" not in text
    assert "renn" in text
    assert "-t" in text
    assert "-</s>" not in text


def test_pieces_are_text_and_not_markup() -> None:
    maps = replace(page(["▁[/red]", "[bold]"], ["▁[/]", "▁[red]"]), source_text="[/]", translation="[blink]x")
    lines = drawn(maps)
    assert "[/]" in lines[0]
    assert "[blink]x" in lines[1]
    assert any("[red]" in line for line in lines)


def test_a_model_without_cross_attention_is_drawn_too() -> None:
    text = "\n".join(drawn(page(["▁a", "▁b"], [], np.full((1, 2, 2, 2), 0.5), "encoder")))
    assert "encoder attention" in text
