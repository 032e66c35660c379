"""The terminal's map fits the terminal, lines up under wide letters, and shades what weighs most darkest; below it
stand the words that each word looked at, and what to mistrust."""

from __future__ import annotations

import io
import re
import unicodedata
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from rich.cells import cell_len
from rich.console import Console

from regard.tasks.translation.attention import Attention
from regard.tasks.translation.terminal import LEAST_SHARE, draw
from tests.view.pages import at_random, seen


def cross(source: list[str], target: list[str], weights: ArrayLike | None = None, **changes: Any) -> Attention:
    """Cross-attention alone, at random unless given."""
    given = at_random(2, 2, len(target), len(source)) if weights is None else np.asarray(weights)
    return seen(source, target, weights={"cross": given}, **changes)


KOREAN = cross(["▁갈색", "▁개", "가", "▁달리", "다", "</s>"], ["▁A", "▁brown", "▁dog", "▁runs", "</s>"])
ARABIC = cross(["▁الكلب", "▁البني", "▁يركض", "</s>"], ["▁كلب", "▁بني", "ّ", "▁كلب", "▁بني", "ّ", "</s>"])
LONG = cross([f"▁word{index}" for index in range(40)], ["▁a" + "very" * 9 + "longword", "▁b"])
WIDTHS = pytest.mark.parametrize("width", [12, 20, 24, 40, 80, 200])
MAPS = pytest.mark.parametrize("maps", [KOREAN, ARABIC, LONG], ids=["korean", "arabic", "long"])


def drawn(maps: Attention, width: int = 80) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    draw(maps, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().splitlines()


def rows(lines: list[str]) -> list[str]:
    """Lines of the map itself: they hold blocks, and the caption comes after them."""
    end = next(index for index, line in enumerate(lines) if line.startswith("cross"))
    return [line for line in lines[:end] if any(block in line for block in "█▓▒░·")]


def aligned(lines: list[str]) -> dict[str, list[tuple[str, int]]]:
    """The alignment read back: {written: [(source, percent), …]}, lines that go on put together."""
    text = "\n".join(lines).partition("rows: ")[2].partition("\n\n")[2].partition("\n\n")[0]
    joined = re.sub(r"[\u2068\u2069]", "", re.sub(r" *\n(?! *\S+ ←)\s*", " ", text))
    found = [line.partition(" ← ") for line in joined.splitlines()]
    return {
        written.strip(): [(source, int(share)) for source, share in re.findall(r"(\S+) (\d+) %", looks)]
        for written, _, looks in found
    }


def sharp(queries: int, keys: int) -> Attention:
    weights = np.zeros((1, 1, queries, keys))
    weights[0, 0, range(queries), range(queries)] = 1
    tokens = [f"▁{letter}" for letter in "abcdefghij"]
    return cross(tokens[:keys], tokens[:queries], weights)


def test_the_darkest_block_is_where_the_weight_is() -> None:
    found = rows(drawn(sharp(3, 4)))
    assert [row.replace(" ", "") for row in found] == ["a██···", "b·██··", "c··██·"]


def test_the_last_layer_and_the_mean_of_its_heads_are_drawn() -> None:
    weights = np.zeros((2, 2, 1, 2))
    weights[0, :, 0, 0] = 1  # the first layer looks left, which must not show
    weights[1, 0, 0, 1] = 1  # one head of the last layer looks right
    weights[1, 1, 0] = 0.5  # the other at both: 0.25 and 0.75 in the mean
    lines = drawn(cross(["▁a", "▁b"], ["▁c"], weights))
    assert rows(lines)[0].endswith("▒▒██")
    assert aligned(lines) == {"c": [("b", 75), ("a", 25)]}


@WIDTHS
@MAPS
def test_nothing_is_wider_than_the_terminal_and_no_weight_is_lost(maps: Attention, width: int) -> None:
    lines = drawn(maps, width)
    assert max(map(cell_len, lines)) <= width
    blocks = sum(row.count("·") + sum(map(row.count, "█▓▒░")) / 2 for row in rows(lines))
    assert blocks == len(maps.source_tokens) * len(maps.target_tokens)


def test_wide_letters_stand_above_their_columns() -> None:
    lines = drawn(cross(["▁a", "▁개", "▁b", "▁갈", "▁c"], ["▁x"]))
    header, row = next(line for line in lines[3:] if "개" in line), rows(lines)[0]
    first = cell_len(row) - 2 * 5
    places = [cell_len(header[: header.index(letter)]) for letter in "a개b갈c"]
    assert places == [first + 2 * column for column in range(5)]


def test_right_to_left_letters_turn_nothing_else_round() -> None:
    """Every one of them stands inside an isolate that is opened and closed on its own line."""
    for line in drawn(ARABIC)[3:]:
        outside = re.sub(r"\u2068[^\u2068\u2069]*\u2069", "", line)
        assert not any(unicodedata.bidirectional(letter) in ("R", "AL", "FSI", "PDI") for letter in outside)
    assert "\u2068" not in "\n".join(drawn(KOREAN))  # where nothing turns, nothing needs to be kept apart


def test_words_stay_apart_without_the_mark() -> None:
    text = "\n".join(drawn(cross(["▁a"], ["▁renn", "t", "</s>"])))
    assert "▁" not in text
    assert "-t" in text
    assert "-</s>" not in text


def test_tokens_are_text_and_not_markup() -> None:
    maps = cross(["▁[/red]", "[bold]"], ["▁[/]", "▁[red]"], text="[/]", translation="[blink]x")
    lines = drawn(maps)
    assert "[/]" in lines[0]
    assert "[blink]x" in lines[1]
    assert set(aligned(lines)) == {"[/]", "[red]"}


def test_a_terminal_is_given_nothing_to_obey_and_nothing_without_utf_8() -> None:
    maps = cross(["▁", "<0x1B>", "[2J"], ["▁b"], text="half a pair \ud83d and \x1b[31m", translation="a\x07\nb")
    lines = drawn(maps)
    assert lines[:2] == ["half a pair � and �[31m", "a� b"]
    assert aligned(lines) == {"b": [("�[2J", 100)]}
    assert "\n".join(lines).replace("\n", "").isprintable()


@pytest.mark.parametrize("width", [40, 80])
def test_each_word_names_the_source_words_it_looked_at_most(width: int) -> None:
    lines = drawn(KOREAN, width)
    shares = KOREAN.words("cross")  # [words written, words read]
    read = ["갈색", "개가", "달리다", "</s>"]
    assert aligned(lines) == {
        word: [
            (read[number], round(100 * shares[row, number]))
            for number in np.argsort(-shares[row])
            if shares[row, number] >= LEAST_SHARE
        ]
        for row, word in enumerate(["A", "brown", "dog", "runs"])
    }
    assert not any(line.strip().startswith("%") for line in lines)


def test_a_word_that_looks_everywhere_names_one() -> None:
    everywhere = np.full((1, 1, 2, 20), 0.05)
    found = aligned(drawn(cross([f"▁{number}" for number in range(20)], ["▁a", "▁b"], everywhere)))
    assert found == {"a": [("0", 5)], "b": [("0", 5)]}


@WIDTHS
def test_what_to_mistrust_is_said_in_sentences(width: int) -> None:
    weights = np.zeros((1, 1, 4, 4))
    weights[..., 0] = 1  # nobody looks at "dog"; that nobody looks at "." or at the end is no news
    maps = cross(["▁A", "▁dog", ".", "</s>"], ["▁ein", "▁ein", "▁ein", "</s>"], weights)
    text = " ".join(" ".join(drawn(maps, width)).split())
    assert "looked at in layer 1: “dog”" in text
    assert "repeats itself: “ein ein ein”" in text
    assert text.count("looked at") == 1


def test_what_is_well_needs_no_warning() -> None:
    text = "\n".join(drawn(sharp(4, 4)))
    assert "looked at" not in text
    assert "repeats" not in text


def test_a_model_without_cross_attention_is_drawn_too() -> None:
    lone = seen(["▁a", "▁b"], [], weights={"encoder": np.full((1, 2, 2, 2), 0.5)})
    text = "\n".join(drawn(lone))
    assert "encoder attention" in text
    assert "←" not in text
