"""Reading parallel text: finds or fetches the files, unpacks them and yields pairs, one line at a time.

Only "\\n" ends a line, so that two aligned files stay aligned whatever else a sentence holds.
"""

from __future__ import annotations

import gzip
import lzma
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import resources
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO

from regard.config import Data, ParallelText
from regard.config.paths import BUNDLED
from regard.data.download import download
from regard.errors import DataError, did_you_mean
from regard.files import kind_of

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
LONGEST_LINE = 2**24
"""Bytes: a thick book on one line. What is longer would take many times its size in memory."""
CONVERT = "convert it with iconv -f {} -t UTF-8 FILE > NEW"
NO_TEXT = {
    rb"\xff\xfe\x00\x00|\x00\x00\xfe\xff": f"UTF-32, not UTF-8; {CONVERT.format('UTF-32')}",
    rb"\xff\xfe|\xfe\xff": f"UTF-16, not UTF-8; {CONVERT.format('UTF-16')}",
    rb"\x1f\x8b": "what gzip packed, not text: unpack it, or let its name end in .gz",
    rb"\xfd7zXZ\x00": "what xz packed, not text: unpack it, or let its name end in .xz",
    rb"BZh[1-9]1AY&SY": "what bzip2 packed, not text: unpack it",
    rb"PK\x03\x04": "a zip archive, not text: unpack it",
    rb"\x28\xb5\x2f\xfd": "what zstd packed, not text: unpack it",
}
"""What begins like this is no text in UTF-8."""
BEGINNING = 20  # lines that tell a table from a text
BLOCK = 2**20  # bytes read at once


def locate(path: str, data: Data) -> Path:
    """Where a recipe's file is: in the package (`bundled:NAME`), in the data folder, or downloaded into it.

    What a model file says of data has neither folder nor download nor a path that leads elsewhere (see checkpoint.py),
    so that it opens nothing before a person names a folder.
    """
    if path.startswith(BUNDLED):
        return _bundled(path.removeprefix(BUNDLED))
    if not data.folder and not Path(path).is_absolute():
        raise DataError(f"nobody said in which folder {path} is; name it with `data`")
    found = Path(data.folder) / path
    if found.is_file():
        return found
    if path in data.download:
        return download(data.download[path], Path(data.folder), path)
    if os.path.lexists(found):
        raise DataError(f"cannot read {found}: it is {kind_of(found)}, not a file")
    near = sorted(other.name for other in found.parent.iterdir() if other.is_file()) if found.parent.is_dir() else []
    raise DataError(f"no file {found}.{did_you_mean(found.name, near)} Say where the data is with `data`")


def _bundled(name: str) -> Path:
    folder = Path(str(resources.files("regard"))) / "bundled"
    if Path(name).name != name or not (folder / name).is_file():
        names = sorted(each.name for each in folder.iterdir() if each.is_file()) if folder.is_dir() else []
        known = f" Bundled are: {', '.join(names)}" if names else ""
        raise DataError(f"nothing named {name!r} is bundled with regard.{did_you_mean(name, names)}{known}")
    return folder / name


def open_text(path: Path) -> IO[bytes] | gzip.GzipFile:
    """The bytes of a text file, unpacked if its name ends in .gz or .xz."""
    try:
        if path.suffix == ".gz":
            return gzip.open(path, "rb")
        return lzma.open(path, "rb") if path.suffix == ".xz" else path.open("rb")
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None


@dataclass(frozen=True)
class Lines(Iterator[str]):
    """Lines to read once, and what messages call the place where they stand."""

    lines: Iterator[str]
    name: str

    def __next__(self) -> str:
        return next(self.lines)


def read_lines(file: str | Path | Iterable[bytes], name: str = "") -> Lines:
    """The lines of UTF-8 text without their ends, from a file (plain, .gz or .xz) or from bytes such as those of standard
    input; `name` is what messages call it. Only a line feed ends a line."""
    if isinstance(file, str | Path):
        return Lines(_lines_of_file(Path(file)), name or str(file))
    return Lines(decode_lines(file, name or "the input"), name or "the input")


def _lines_of_file(path: Path) -> Iterator[str]:
    with open_text(path) as file:
        yield from LineReader(str(path), whole_file=True).read(iter(partial(file.readline, LONGEST_LINE + 1), b""))


def decode_lines(file: Iterable[bytes], name: str) -> Iterator[str]:
    """Bytes → lines without their ends; a mistake is reported with its line."""
    endless = hasattr(file, "readline")
    return LineReader(name).read(iter(partial(file.readline, LONGEST_LINE + 1), b"") if endless else file)  # type: ignore[attr-defined]


class LineReader:
    """Decodes one text, whose lines are of bounded length, and counts what a line may hold but text hardly does."""

    def __init__(self, name: str, *, whole_file: bool = False) -> None:
        self.name, self.whole_file, self.lines, self.returns = name, whole_file, 0, 0

    def read(self, raw: Iterable[bytes]) -> Iterator[str]:
        """Lines without their ends; the first that is no text is named."""
        try:
            for self.lines, line in enumerate(raw, start=1):
                if self.lines == 1:
                    self._require_text(line)
                    line = line.removeprefix(BYTE_ORDER_MARK)
                if len(line) > LONGEST_LINE:
                    raise DataError(
                        f"{self.name}, line {self.lines} is longer than {LONGEST_LINE:,} bytes; cut it into lines, for"
                        " example with fold -s"
                    )
                text = line.decode("utf-8").removesuffix("\n").removesuffix("\r")
                if "\r" in text:
                    self.returns += text.count("\r")
                    if self.lines == 1:
                        self._require_line_feeds()
                yield text
            self._require_line_feeds()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.name}, line {self.lines} is not UTF-8: byte 0x{error.object[error.start]:02x} at position"
                f" {error.start + 1}. If it is in another encoding, {CONVERT.format('ENCODING')}, where ENCODING is WINDOWS-1252 for"
                " many Western texts, CP949 for Korean"
            ) from None
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise DataError(f"{self.name} is damaged or cut short after line {self.lines}: {error}") from None

    def _require_text(self, line: bytes) -> None:
        """Refuse what begins like something else than text in UTF-8."""
        for beginning, what in NO_TEXT.items():
            if re.match(beginning, line):
                raise DataError(f"{self.name} holds {what}")
        if line.count(0) > len(line) // 4:
            order = "BE" if line[:1] == b"\0" else "LE"  # which half of an ASCII character is the empty one
            raise DataError(
                f"{self.name} holds UTF-16 or no text: its first line is full of NUL bytes; {CONVERT.format(f'UTF-16{order}')}"
            )

    def _require_line_feeds(self) -> None:
        """Refuse a file whose lines end otherwise: they would be taken for a few long ones. Of what is typed or sent, each
        line gets its answer all the same."""
        if self.whole_file and self.returns > max(2, self.lines // 10):  # a sentence may hold one by mistake
            raise DataError(
                f"{self.name} has {self.returns:,} carriage returns inside of its first {self.lines:,} lines: only a line feed"
                " ends a line. Convert its line ends, for example with tr '\\r' '\\n'"
            )


def read_pairs(files: tuple[str, ...], data: ParallelText, split: str) -> Iterator[tuple[str, str]]:
    """Source and target sentences of one TSV, CSV or JSONL, or of two line-aligned files."""
    if len(files) not in (1, 2):
        raise DataError(f"data.{split} names {len(files)} files; give one TSV, or a source and a target file")
    paths = [locate(file, data) for file in files]
    if len(paths) == 2:
        return _aligned(*paths)
    return _columns(paths[0], data, split)


def decode_pairs(lines: Iterable[str], name: str) -> Iterator[tuple[str, str]]:
    """`source TAB target` lines → pairs."""
    for number, line in enumerate(lines, start=1):
        cells = line.split("\t")
        if len(cells) != 2:
            raise DataError(f"{name}, line {number} has {len(cells)} tab-separated columns instead of 2")
        yield cells[0].strip(), cells[1].strip()


def _columns(path: Path, data: ParallelText, split: str) -> Iterator[tuple[str, str]]:
    needed = max(data.source_column, data.target_column, data.split_column)
    seen: dict[str, None] = {}
    found = False
    for number, cells in _cells(path, data):
        if len(cells) < needed:
            raise DataError(
                f"{path}, line {number} has {len(cells)} {_separator(path)}-separated columns, but column {needed} is asked for;"
                " see data.source_column, data.target_column and data.split_column"
            )
        if data.split_column:
            name = cells[data.split_column - 1].strip()
            if name != split:
                if len(seen) < 20:  # enough for a message, even if the wrong column was named
                    seen[name] = None
                continue
        found = True
        yield cells[data.source_column - 1].strip(), cells[data.target_column - 1].strip()
    if not found and seen:
        raise DataError(
            f"{path} has no row of the split {split!r}; column {data.split_column} holds: {', '.join(seen)}"
        )
    if not found:
        raise DataError(f"{path} is empty")


def _separator(path: Path) -> str:
    from regard.data import tables

    return "comma" if tables.is_table(path) else "tab"


def _cells(path: Path, data: ParallelText) -> Iterator[tuple[int, list[str]]]:
    """The rows of a TSV or CSV by column; of JSONL source and target, called by their languages."""
    from regard.data import tables  # late: it reads lines as this file does

    if not tables.is_table(path):
        return ((number, line.split("\t")) for number, line in enumerate(read_lines(path), start=1))
    return tables.read_columns(path, data)


def _aligned(source: Path, target: Path) -> Iterator[tuple[str, str]]:
    number = 0
    for path in (source, target):
        _refuse_table(path, source, target)
    sources, targets = read_lines(source), read_lines(target)
    for number, (left, right) in enumerate(zip_longest(sources, targets), start=1):
        if left is None or right is None:
            longer = number + sum(1 for _ in (targets if left is None else sources))
            counts = (number - 1, longer) if left is None else (longer, number - 1)
            raise _unaligned(source, target, *counts)
        yield left.strip(), right.strip()
    if not number:
        raise DataError(f"{source} and {target} are empty")


def _refuse_table(path: Path, source: Path, target: Path) -> None:
    """Two tables would silently be taken for source and target, whole rows of them."""
    from regard.data import tables

    beginning = list(islice(read_lines(path), BEGINNING))
    if tables.is_table(path) or (beginning and all("\t" in line for line in beginning)):
        why = (
            "is a table by its name"
            if tables.is_table(path)
            else "has a tab in every line, like a TSV of source and target"
        )
        raise DataError(
            f"{path} {why}; but of two files the first is read as source"
            " and the second as target, line by line. Name several tables as corpora, each by itself:"
            f' [[data.corpus]] with name = "a" and train = ["{source.name}"], then another with train = ["{target.name}"]'
        )


def require_aligned(files: tuple[str, ...], data: ParallelText) -> None:
    """Refuse two files of different length, without decoding a line."""
    source, target = (locate(file, data) for file in files)
    counts = [_count_lines(path) for path in (source, target)]
    if counts[0] != counts[1]:
        raise _unaligned(source, target, *counts)


def _count_lines(path: Path) -> int:
    count, ended = 0, True
    try:
        with open_text(path) as file:
            for block in iter(partial(file.read, BLOCK), b""):
                count, ended = count + block.count(b"\n"), block.endswith(b"\n")
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{path} is damaged or cut short: {error}") from None
    return count + (not ended)


def _unaligned(source: Path, target: Path, sources: int, targets: int) -> DataError:
    return DataError(
        f"{source} has {sources:,} lines, but {target} has {targets:,}; aligned files need the same number"
    )
