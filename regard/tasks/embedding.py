"""Meaning in vectors, for a model of any task: `regard.embed` and `regard.neighbours`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from regard.data.progress import progress
from regard.errors import UsageError
from regard.files import replacing
from regard.notes import note
from regard.tasks.neighbours import Neighbours, WordVectors
from regard.tasks.registry import own_options
from regard.tasks.texts import LOOK_AHEAD
from regard.tasks.vectors import Embedded, TextVectors
from regard.tasks.verbs import door, row_of
from regard.view.document import check_name
from regard.view.map import MOST_POINTS, VectorMap

FORMATS = (".npy", ".jsonl")
MAPPED_NEIGHBOURS = 10  # of each word that was asked for, marked on the map


class Embeddings(Iterator[Embedded]):
    """The vectors of texts, one after the other, in bounded memory. In the end it is told which texts were not as others."""

    def __init__(self, vectors: TextVectors, texts: Iterable[str], pool: str | None, look_ahead: int) -> None:
        self.pool, self.width = vectors.check_pool(pool), vectors.width
        """How the states of a text became one vector, and of how many numbers."""
        self.count = self.empty = self.cut = self.windowed = 0
        self._found = vectors.embed_stream(texts, pool=self.pool, look_ahead=look_ahead)
        self._about_long: Callable[[int, int], str] | None = vectors.about_long

    def __repr__(self) -> str:
        return f"Embeddings({self.pool!r}, width {self.width:,}, {self.count:,} read)"

    def __next__(self) -> Embedded:
        try:
            each = next(self._found)
        except StopIteration:
            self._tell()
            raise
        self.count += 1
        self.empty += each.windows == 0
        self.cut += each.cut
        self.windowed += each.windows > 1
        return each

    def _tell(self) -> None:
        if self._about_long is None:
            return
        if self.empty:
            note(f"{self.empty:,} text(s) without any token: their vectors are zeros")
        if told := self._about_long(self.cut, self.windowed):
            note(told)
        self._about_long = None


def embed(
    model: str | Path,
    texts: Iterable[str],
    *,
    pool: str | None = None,
    output: str | Path | None = None,
    page: str | Path | None = None,
    labels: Iterable[str] | None = None,
    look_ahead: int = LOOK_AHEAD,
    command: str = "",
    **options: Any,
) -> Embeddings:
    """One vector for each of any number of texts, in order and in bounded memory: `Embeddings`, to iterate over.

    With `output`, a file .npy or .jsonl, or with `page`, an HTML file with a map of them, all are read at once, and the files
    are there, whole, when it returns. `labels`, one for each text, colour the map; `command` is what the page says it was made
    by. `pool` and what else a task understands: see `Translator.embed` and the docs.
    """
    _check_files(output, page, labels)
    row = row_of(model)
    own = own_options(row, "embed", options, str(model))
    vectors: TextVectors = door(row, "embed", model)(model, **own)
    found = Embeddings(vectors, texts, pool, look_ahead)
    if output is None and page is None:
        return found
    drawn = VectorMap(vectors.recipe.name, "texts", {"task": row.name, "pool": found.pool})
    total = len(texts) if isinstance(texts, list | tuple) else None
    with progress() as bar, _writing(output, found.width) as write:
        for each, label in _labelled(bar.track(found, total=total, description="Embedding"), labels):
            write(each)
            if page is not None and each.windows:
                drawn.add(each.text, each.vector, label)
        if page is not None:
            drawn.write(page, command)
    return found


def _check_files(output: str | Path | None, page: str | Path | None, labels: Iterable[str] | None) -> None:
    if output is not None and Path(output).suffix not in FORMATS:
        raise UsageError(f"vectors are written as {' or '.join(FORMATS)}, so {output} should end in one of them")
    if page is not None:
        check_name(Path(page))
    elif labels is not None:
        raise UsageError("`labels` colour the map, which `page` writes; give both")
    for each in (output, page):
        if each is not None and not Path(each).resolve().parent.is_dir():
            raise UsageError(f"there is no folder {Path(each).parent} to write {each} to")


def _labelled(found: Iterable[Embedded], labels: Iterable[str] | None) -> Iterator[tuple[Embedded, str]]:
    """Each text with its label; there must be as many."""
    if labels is None:
        yield from ((each, "") for each in found)
        return
    read, count = iter(labels), 0
    for count, each in enumerate(found, start=1):
        label = next(read, None)
        if label is None:
            raise UsageError(f"there are {count - 1:,} `labels` for more texts; each text needs one")
        yield each, label
    if next(read, None) is not None:
        raise UsageError(f"there are more `labels` than the {count:,} texts; each text needs one")


@contextmanager
def _writing(output: str | Path | None, width: int) -> Iterator[Callable[[Embedded], object]]:
    """Something to tell each vector to; in the end the file is there whole, or not at all."""
    if output is None:
        yield lambda each: None
        return
    path = Path(output)
    with replacing(path) as temporary, temporary.open("wb") as file:
        if path.suffix == ".jsonl":
            yield lambda each: file.write(in_json(each).encode("utf-8", "replace") + b"\n")
            return
        count = 0

        def write(each: Embedded) -> None:
            nonlocal count
            count += 1
            file.write(each.vector.astype("<f4").tobytes())

        file.write(_header(0, width))
        yield write
        file.seek(0)
        file.write(_header(count, width))


HEADER = 128  # bytes: what comes before the numbers, the same for any count of rows


def _header(rows: int, width: int) -> bytes:
    """Of a .npy file of version 1.0: how many rows there are is known only in the end."""
    told = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {width}), }}".encode("ascii")
    magic = np.lib.format.magic(1, 0)
    room = HEADER - len(magic) - 2
    return magic + room.to_bytes(2, "little") + told.ljust(room - 1) + b"\n"


def in_json(each: Embedded) -> str:
    """A line of JSON."""
    return json.dumps(each.to_dict(), ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Neighbourhood:
    """The neighbours of some words, and the words that they are among."""

    model: str
    found: tuple[Neighbours, ...]
    words: WordVectors = field(repr=False)

    def __iter__(self) -> Iterator[Neighbours]:
        return iter(self.found)

    def __getitem__(self, place: int) -> Neighbours:
        return self.found[place]

    def __len__(self) -> int:
        return len(self.found)

    def lines(self) -> list[str]:
        """For people."""
        heads = [f"{each.word} ({' '.join(each.tokens)})" if len(each.tokens) > 1 else each.word for each in self.found]
        blocks = [[head, *(f"  {line}" for line in each.lines())] for head, each in zip(heads, self.found, strict=True)]
        return list(chain.from_iterable(blocks))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"model": self.model, "words": len(self.words.words), "found": [each.to_dict() for each in self.found]}

    def write(self, path: str | Path, command: str = "") -> None:
        """A map of the words as one HTML file, the words asked for and their neighbours in colours; `command` made it."""
        drawn = VectorMap(Path(self.model).name, "words", {"side": self.words.side})
        near = {each.word: each.word for each in self.found}  # those asked for come first, each in a colour of its own
        for each in self.found:
            for word, _ in each.nearest[:MAPPED_NEIGHBOURS]:
                near.setdefault(word, each.word)
        frequent = {word: place for place, word in enumerate(self.words.words[:MOST_POINTS])}
        for word in dict.fromkeys([*near, *frequent]):
            if len(drawn) == MOST_POINTS:
                break
            drawn.add(word, self.words.vector(word), near.get(word, ""))
        drawn.write(path, command)


def neighbours(
    model: str | Path,
    word: str | Sequence[str],
    count: int = 10,
    *,
    words: str | Path | Iterable[str] | None = None,
    page: str | Path | None = None,
    command: str = "",
    **options: Any,
) -> Neighbourhood:
    """The words nearest to one or to each of several, in a model's embedding.

    They are sought among the words of its training text that are one token, where that text is found, else in the vocabulary;
    or among all words of `words`, a file or lines of any text. `page` is an HTML file with a map of them. Of translation,
    `side` is source or target.
    """
    from regard.data.corpus import read_lines

    if page is not None:
        check_name(Path(page))
    row = row_of(model)
    lines = read_lines(words) if isinstance(words, str | Path) else words
    own = own_options(row, "neighbours", {**options, "words": lines}, str(model))
    vectors: WordVectors = door(row, "neighbours", model)(model, **own)
    if not vectors.words:
        raise UsageError("there are no words to look among; name other text with `words`")
    asked = [word] if isinstance(word, str) else list(word)
    found = Neighbourhood(str(model), tuple(vectors.neighbours(each, count) for each in asked), vectors)
    if strange := [each.word for each in found if each.word not in vectors.known]:
        sides = "; `side` chooses whose words are meant" if row.understands("neighbours", "side") else ""
        note(
            f"not among the {len(vectors.words):,} words that were compared ({vectors.side}), so that the vector may say "
            f"little: {', '.join(strange)}{sides}"
        )
    if page is not None:
        found.write(page, command)
    return found
