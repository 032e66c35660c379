"""Rows of a table: TSV, CSV or JSONL, with what is wrong told by line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import shorten

from regard.config import ParallelText
from regard.data.corpus import LONGEST_LINE, read_lines
from regard.errors import DataError, did_you_mean


def is_table(path: Path) -> bool:
    """Whether a file's name says that it is no TSV, but a CSV or JSONL."""
    return path.name.removesuffix(".gz").removesuffix(".xz").endswith((".csv", ".jsonl"))


def read_rows(path: Path, wanted: Sequence[str], see: str, *, quoted: bool = False) -> Iterator[tuple[int, list[str]]]:
    """Line number, and the cells of the columns that are asked for, by number or name; `see` names the settings that ask."""
    name = path.name.removesuffix(".gz").removesuffix(".xz")
    if name.endswith(".jsonl"):
        yield from _json_rows(path, wanted, see)
        return
    cells = _quoted(path, "," if name.endswith(".csv") else "\t") if quoted or name.endswith(".csv") else _tabs(path)
    if "0" in wanted:
        raise DataError(f"columns count from 1, not 0; see {see}")
    places: list[int] | None = [int(each) - 1 for each in wanted] if all(map(str.isdecimal, wanted)) else None
    for line, row in cells:
        if places is None:
            places = [_place(each, row, path, see) for each in wanted]
        elif len(row) <= max(places):
            raise DataError(
                f"{path}, line {line} has {len(row)} columns, but column {max(places) + 1} is asked for; see {see}"
            )
        else:
            yield line, [row[place] for place in places]


def read_columns(path: Path, data: ParallelText) -> Iterator[tuple[int, list[str]]]:
    """All cells of a CSV; of JSONL those named by the two languages, put into the columns that `[data]` tells."""
    if not path.name.removesuffix(".gz").removesuffix(".xz").endswith(".jsonl"):
        yield from _quoted(path, ",")
        return
    places = (data.source_column, data.target_column)
    for line, pair in _json_rows(path, (data.source_language, data.target_language), "data.source_language"):
        cells = [""] * max(places)
        for place, cell in zip(places, pair, strict=True):
            cells[place - 1] = " ".join(cell.split())
        yield line, cells


def _place(column: str, header: Sequence[str], path: Path, see: str) -> int:
    if column.isdecimal():
        return int(column) - 1
    names = [each.strip() for each in header]
    if column not in names:
        hint = did_you_mean(column, names)
        raise DataError(
            f"{path} has no column {column!r}.{hint} Its first row holds: {shorten(', '.join(names), 200)}. "
            f"Without names in the first row, give columns by number: {see}"
        )
    return names.index(column)


def _tabs(path: Path) -> Iterator[tuple[int, list[str]]]:
    return ((number, line.split("\t")) for number, line in enumerate(read_lines(path), start=1) if line)


def _quoted(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """A quoted cell may hold separators, doubled quotes and line ends."""
    csv.field_size_limit(LONGEST_LINE)  # a quote that is left open would gather the rest of the file
    reader = csv.reader((f"{line}\n" for line in read_lines(path)), delimiter=separator, strict=True)
    begin = 1
    try:
        for row in reader:
            if row:
                yield begin, row
            begin = reader.line_num + 1
    except csv.Error as error:
        returns = "new-line character" in str(error)  # which here can only be the other one
        why = (
            "a carriage return stands in a cell without quotes" if returns else f"{error}. Is a double quote left open?"
        )
        raise DataError(f"{path}, line {begin} cannot be read: {why}") from None


def _json_rows(path: Path, wanted: Sequence[str], see: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{path}, line {number} is not JSON: {error}") from None
        cells = []
        for name in wanted:
            if not isinstance(row, dict) or name not in row:
                names = list(row) if isinstance(row, dict) else []
                holds = f"it holds {shorten(', '.join(names), 200)}" if names else "it is no object"
                raise DataError(f"{path}, line {number} has no {name!r}: {holds}; see {see}")
            cells.append(_cell(row[name]))
        yield number, cells


def _cell(value: object) -> str:
    """What JSON holds as the cell of a table: a number or true as it is written, null as nothing. Half a surrogate pair,
    which no file can hold, is a question mark."""
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode("utf-8")
