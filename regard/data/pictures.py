"""Labelled pictures of a recipe, one after another: from folders, from a table, or from IDX files.

N pictures · H height · W width · C channels
"""

from __future__ import annotations

import gzip
import lzma
import math
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.config import Data, LabelledPictures
from regard.data.corpus import locate, open_text
from regard.data.images import MOST_PIXELS, SUFFIXES
from regard.data.sampling import held_out
from regard.data.tables import read_rows
from regard.errors import DataError, did_you_mean, visible
from regard.files import below

TABLES = (".tsv", ".csv", ".jsonl", ".txt")
SHOWN = 20  # names in a message
IDX_BYTES = 0x08  # the only type of number that pictures come in


class Example(NamedTuple):
    """A picture that is not decoded yet, and what it is called."""

    picture: Path | NDArray[np.uint8]
    """A file, or what an IDX file holds [H, W] or [H, W, C]."""
    label: str
    name: str
    """For messages: the file, and of an IDX file the picture's number."""


def find(name: str, data: Data) -> Path:
    """Where a recipe's file or folder is."""
    folder = Path(data.folder) / name
    if (data.folder or Path(name).is_absolute()) and folder.is_dir():
        return folder
    return locate(name, data)


def files_of(path: Path, data: LabelledPictures) -> Iterator[Path]:
    """All files that an input of the recipe stands for, in a fixed order."""
    if path.is_dir():
        yield from (file for label in _labels_of(path) for file in pictures_in(path / label))
        return
    yield path
    if _is_table(path):
        yield from (picture for _, picture, *_ in _table(path, data))


def read_split(data: LabelledPictures, split: str) -> Iterator[Example]:
    """The examples of `train`, `valid` or a test set, as the recipe says where they are."""
    if split in ("train", "valid") and not data.valid:
        return held_out(_read(data, data.train, "train"), data.hold_out, wanted=split == "valid")
    return _read(data, data.files_of(split), split)


def _read(data: LabelledPictures, files: Sequence[str], split: str) -> Iterator[Example]:
    return read_examples([find(file, data) for file in files], data, split)


def read_examples(paths: Sequence[Path], data: LabelledPictures, split: str) -> Iterator[Example]:
    """Those of a folder, of a table's rows that belong to the split, or of two IDX files."""
    if len(paths) == 2:
        pictures, labels = paths
        return _idx_examples(pictures, labels, data)
    if paths[0].is_dir():
        return _folder_examples(paths[0])
    if _is_table(paths[0]):
        return _table_examples(paths[0], data, split)
    raise DataError(
        f"{paths[0]} is no folder, and no table: its name would end in .tsv, .csv or .jsonl; IDX files come in pairs,"
        " pictures and labels"
    )


def _is_table(path: Path) -> bool:
    return path.name.removesuffix(".gz").removesuffix(".xz").lower().endswith(TABLES)


def _folder_examples(folder: Path) -> Iterator[Example]:
    found = False
    for label in _labels_of(folder):
        for file in pictures_in(folder / label):
            if not is_text(label):
                raise DataError(f"the folder {folder / label} should name a label, but its name is no UTF-8; rename it")
            found = True
            yield Example(file, label, str(file))
    if not found:
        loose = sum(1 for _ in pictures_in(folder))
        beside = f"; the {loose:,} pictures in it are in no folder that names their label" if loose else ""
        raise DataError(
            f"{folder} has no folders with pictures ({', '.join(SUFFIXES)}) in them, one for each label{beside}"
        )


def is_text(name: str) -> bool:
    """Whether a file's name, which may be any bytes, can be written down."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def empty_labels(data: LabelledPictures, split: str) -> list[str]:
    """Folders that should name a label, but hold no picture."""
    (name, *more) = data.files_of(split)
    folder = find(name, data)
    if more or not folder.is_dir():
        return []
    return [visible(label) for label in _labels_of(folder) if next(pictures_in(folder / label), None) is None]


def _labels_of(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(each.name for each in entries if each.is_dir() and not each.name.startswith("."))


def pictures_in(folder: Path) -> Iterator[Path]:
    """By name, so that every system reads the same order; also in folders below."""
    with os.scandir(folder) as entries:
        names = sorted(
            (each.name, each.is_dir(follow_symlinks=False)) for each in entries if not each.name.startswith(".")
        )
    for name, inner in names:
        if inner:
            yield from pictures_in(folder / name)
        elif name.lower().endswith(SUFFIXES):
            yield folder / name


def _table_examples(path: Path, data: LabelledPictures, split: str) -> Iterator[Example]:
    seen: dict[str, None] = {}
    found = False
    for line, picture, label, of in _table(path, data):
        if data.split and of != split:
            if len(seen) < SHOWN:
                seen[of] = None
            continue
        found = True
        if not label:
            raise DataError(f"{path}, line {line} has no label: column {data.label!r} is empty; see data.label")
        yield Example(picture, label, f"{picture} ({path.name}, line {line})")
    if not found:
        raise DataError(
            f"{path} has no row of the split {split!r}; column {data.split!r} holds: {', '.join(seen)}"
            if seen
            else f"{path} has no rows"
        )


def _table(path: Path, data: LabelledPictures) -> Iterator[tuple[int, Path, str, str]]:
    """Line, picture, label and split. A path leads nowhere but below the table's folder: a table may be a stranger's."""
    wanted = [data.picture, data.label, *([data.split] if data.split else [])]
    for line, cells in read_rows(path, wanted, "data.picture, data.label and data.split", quoted=data.quoted):
        if not cells[0].strip():
            raise DataError(f"{path}, line {line} has no picture: column {data.picture!r} is empty; see data.picture")
        try:
            picture = below(path.parent, cells[0].strip())
        except DataError as error:
            raise DataError(f"{path}, line {line}: {error}") from None
        yield line, picture, " ".join(cells[1].split()), cells[2].strip() if len(cells) > 2 else ""


def _idx_examples(pictures: Path, labels: Path, data: LabelledPictures) -> Iterator[Example]:
    with open_text(pictures) as of_pictures, open_text(labels) as of_labels:
        count, *shape = _idx_header(of_pictures, pictures, (3, 4))
        (labelled,) = _idx_header(of_labels, labels, (1,))
        if count != labelled:
            raise DataError(f"{pictures} has {count:,} pictures, but {labels} has {labelled:,} labels")
        if not count:
            raise DataError(f"{pictures} has no pictures")
        size = math.prod(shape)
        if not 0 < size <= 4 * MOST_PIXELS:
            raise DataError(f"{pictures} says that its pictures are {' × '.join(map(str, shape))}")
        for number in range(count):
            (label,) = _exactly(of_labels, 1, labels)
            pixels = np.frombuffer(_exactly(of_pictures, size, pictures), dtype=np.uint8).reshape(shape)
            yield Example(pixels, _called(label, data, labels), f"{pictures}, picture {number}")


def _called(label: int, data: LabelledPictures, path: Path) -> str:
    if not data.names:
        return str(label)
    if label >= len(data.names):
        raise DataError(f"{path} has a label {label}, but data.names calls only {len(data.names)} of them, from 0 on")
    return data.names[label]


def _idx_header(file: IO[bytes] | gzip.GzipFile, path: Path, axes: tuple[int, ...]) -> list[int]:
    """The sizes of its axes."""
    zeros, kind, count = struct.unpack(">HBB", _exactly(file, 4, path))
    if zeros or kind != IDX_BYTES or count not in axes:
        what = "labels" if axes == (1,) else "pictures"
        near = "; pictures come first, labels second" if not zeros and kind == IDX_BYTES and count in (1, 3, 4) else ""
        raise DataError(f"{path} is no IDX file of {what} as bytes{near}")
    return list(struct.unpack(f">{count}I", _exactly(file, 4 * count, path)))


def _exactly(file: IO[bytes] | gzip.GzipFile, size: int, path: Path) -> bytes:
    try:
        content = file.read(size)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{path} is damaged or cut short: {error}") from None
    if len(content) < size:
        raise DataError(f"{path} is cut short: {size - len(content):,} bytes of a picture or a label are missing")
    return content


def require_label(example: Example, labels: dict[str, int]) -> int:
    """The number of a label, which must be one that training knows."""
    if example.label not in labels:
        raise DataError(
            f"{example.name} has the label {example.label!r}, which data.train lacks.{did_you_mean(example.label, labels)}"
        )
    return labels[example.label]
