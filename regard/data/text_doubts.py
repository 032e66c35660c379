"""What of a parallel text is hardly meant, though it can be read: a header row, languages that changed places, held-out texts that
training holds almost word for word, columns that hold no text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from regard.config import ParallelText
from regard.config.translation import Direction
from regard.data.corpus import locate
from regard.data.languages import FREQUENT, LETTERS, TwoLanguages, code_of
from regard.data.mixture import read_direction
from regard.data.near_duplicates import LEAST_SHARED, HeldOut, look_through
from regard.data.sentences import NAMES
from regard.errors import DataError

LOOKED_AT = 5_000
"""Pairs of a text whose languages are guessed."""
TOLD_APART, SWAPPED = 30, 0.1
"""Of at least so many that can be told, a tenth must seem swapped to be worth a word: names and loan words mislead."""
ODD, FEW_ODD = 0.3, 10
"""A share and a number of a text whose pairs have an empty side, no letters on one, or the same on both, that are worth a word."""
MOST_HELD_OUT = 20_000
"""Of each validation or test text that are compared with the training text."""
SHOWN, LONGEST_NAME = 60, 40
CODES = {*FREQUENT, *LETTERS}
HEADER = {
    "source", "src", "target", "tgt", "trg", "text", "sentence", "sentences", "segment", "translation", "original", "reference",
    "ref", "lang", "language", "column", "input", "output", "id", "원문", "번역", "한국어", "영어",
}  # fmt: skip
"""What columns are called, besides their languages."""


def doubts(data: ParallelText, most: int | None = None) -> Iterator[str]:
    """Of all texts of a recipe that are there, and of the training text of all pairs, or of so many of each."""
    texts = [each for each in data.directions if not each.swapped]
    for direction in texts:
        for split, files in splits_of(direction).items():
            if all(is_there(file, data) for file in files):
                yield from header_row(direction, split, files)
                yield from swapped_languages(direction, split, files)
                yield from odd_columns(direction, split, files)
    yield from near_duplicates(data, texts, most)


def splits_of(direction: Direction) -> dict[str, tuple[str, ...]]:
    """The files of each split that a text has of its own."""
    data = direction.data
    return {name: files for name, files in {"train": data.train, "valid": data.valid, **data.test}.items() if files}


def is_there(file: str, data: ParallelText) -> bool:
    """Without downloading it."""
    if file in data.download:
        return (Path(data.folder) / file).is_file()
    try:
        return locate(file, data).is_file()
    except DataError:
        return False


def setting_of(direction: Direction, split: str) -> str:
    if direction.name:
        return f"data.corpus {direction.name}"
    return f"data.{split}" if split in ("train", "valid") else f"data.test.{split}"


def pairs_of(direction: Direction, split: str, most: int | None) -> Iterator[tuple[str, str]]:
    try:
        yield from islice(read_direction(direction, split), most)
    except DataError:  # which is said where it is read in earnest
        return


def header_row(direction: Direction, split: str, files: tuple[str, ...]) -> Iterator[str]:
    """Whether the first row tells what the columns are, instead of being a pair."""
    if len(files) != 1 or ".jsonl" in files[0] or direction.data.split_column:
        return
    first = next(pairs_of(direction, split, 1), None)
    if first is not None and are_names(first, direction):
        yield (
            f"{setting_of(direction, split)}: {files[0]}, line 1 looks like a header row ({first[0]!r}, {first[1]!r}), but is read as a pair;"
            f" leave it out: tail -n +2 {files[0]}"
        )


def are_names(cells: tuple[str, str], direction: Direction) -> bool:
    """Whether cells are what columns might be called: `source`, `de`, `German text`, `sentence_1`."""
    if cells[0] != cells[1] and all(cell in CODES for cell in cells):
        return True
    known = (
        HEADER | set(NAMES) | {each.lower() for each in direction.languages} | set(map(code_of, direction.languages))
    )
    parts = [
        re.findall(r"[^\W\d_]+", cell.lower())
        for cell in cells
        if len(cell) < LONGEST_NAME and cell[-1:] not in ".!?。"
    ]
    return len(parts) == 2 and all(each and known.issuperset(each) for each in parts)


def swapped_languages(direction: Direction, split: str, files: tuple[str, ...]) -> Iterator[str]:
    """Whether many sources are of the target's language and their targets of the source's."""
    source, target = direction.languages
    two = TwoLanguages(source, target)
    if not two.known:
        return
    right = wrong = 0
    for pair in pairs_of(direction, split, LOOKED_AT):
        told = (two.tell(pair[0]), two.tell(pair[1]))
        right += told == (0, 1)
        wrong += told == (1, 0)
    if right + wrong >= TOLD_APART and wrong > SWAPPED * (right + wrong):
        yield (
            f"{setting_of(direction, split)}: {' and '.join(files)}: {wrong:,} of {right + wrong:,} pairs whose languages can be guessed have"
            f" {target} as source and {source} as target; exchange source_column and target_column, the two files, or the languages"
        )


def odd_columns(direction: Direction, split: str, files: tuple[str, ...]) -> Iterator[str]:
    """Whether many pairs are none: a column of numbers instead of a text, the same column twice, a side that is not there."""
    found = dict.fromkeys(
        (
            "have an empty side",
            "have no letters in the source",
            "have no letters in the target",
            "have two equal sides",
        ),
        0,
    )
    count = 0
    for count, (source, target) in enumerate(pairs_of(direction, split, LOOKED_AT), 1):  # noqa: B007
        letters = [any(map(str.isalpha, side)) for side in (source, target)]
        odd = (not source.strip() or not target.strip(), not letters[0], not letters[1], source == target)
        for kind, so in zip(found, odd, strict=True):
            if so:
                found[kind] += 1
                break
    for kind, number in found.items():
        if number >= FEW_ODD and number > ODD * count:
            yield (
                f"{setting_of(direction, split)}: {' and '.join(files)}: {number:,} of {count:,} pairs {kind}; see the two files, or"
                " source_column and target_column"
            )


def near_duplicates(data: ParallelText, texts: list[Direction], most: int | None) -> Iterator[str]:
    """Whether validation or test texts are much like some of the training text: what they score is then no news."""
    held_out: dict[tuple[str, str], tuple[HeldOut, int]] = {}
    for direction in texts:
        splits = splits_of(direction)
        if not all(is_there(file, data) for file in splits.get("train", ())):
            return  # half of the training text would tell half of the truth
        if direction.data.hold_out and "valid" not in splits:
            splits["valid"] = ()
        for split, files in splits.items():
            if split != "train" and all(is_there(file, data) for file in files) and files != splits["train"]:
                sources = [source for source, _ in pairs_of(direction, split, MOST_HELD_OUT)]
                held_out[setting_of(direction, split), split] = HeldOut(sources), len(sources)
    if not held_out:
        return
    training = (source for direction in texts for source, _ in pairs_of(direction, "train", most))
    look_through([each for each, _ in held_out.values()], training)
    for (setting, split), (each, count) in held_out.items():
        if each.like:
            row, like = min(each.like.items())
            name = "" if setting.endswith(split) else f" ({split})"
            yield (
                f"{setting}{name}: {len(each.like):,} of {count:,} sources stand almost word for word in the training text"
                f" (at least {LEAST_SHARED:.0%} of their 5-grams of characters): what they score says little of new text."
                f" The first is pair {row + 1:,}, like {like[:SHOWN]!r}"
            )
