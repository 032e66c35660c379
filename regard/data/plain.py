"""Plain text → a prepared folder: the tokenizer, and one stream of ids in which every line has its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from regard.config import LanguageRecipe, PlainText
from regard.data.cleaning import Seen, told_shared
from regard.data.corpus import locate, read_lines
from regard.data.encoding import text_prints
from regard.data.ids import PairWriter, smallest_type
from regard.data.pairs import counted, sample_size, take_sample, write_tokenizer
from regard.data.progress import progress
from regard.data.tokenizer import BYTES, END, UNKNOWN, Tokenizer, train_text_tokenizer
from regard.errors import DataError

SETTINGS = ("documents", "max_tokens")
CHUNK = 1_000  # lines encoded together
LONG = 5  # words of a line that hardly stands in two texts by chance


def read_split(data: PlainText, split: str) -> Iterator[str]:
    """The lines of `train`, `valid` or a test set."""
    files = {"train": data.train, "valid": data.valid}.get(split) or data.test[split]
    return read_documents(files, data)


def read_documents(files: Sequence[str], data: PlainText) -> Iterator[str]:
    """The lines of files that follow each other; where each line is a document of its own, blank ones are none."""
    for file in files:
        yield from documents_in(locate(file, data), data)


def documents_in(path: Path, data: PlainText) -> Iterator[str]:
    """The same of one file, wherever it is."""
    lines = (line.strip() for line in read_lines(path))
    return lines if data.documents == "stream" else filter(None, lines)


def count_words(line: str) -> int:
    """Words between spaces, and the end of the line."""
    return len(line.split()) + 1


@dataclass
class Counts:
    """How much text there is. A word is what stands between spaces; the end of a line counts as one."""

    lines: int = 0
    words: int = 0
    tokens: int = 0
    byte_tokens: int = 0
    unknown: int = 0
    sentences: int = 0
    """Lines long enough to be no coincidence …"""
    shared: int = 0
    """… and those of them that the training text holds as well."""

    def add(self, texts: Sequence[str], ids: np.ndarray) -> None:
        self.lines += len(texts)
        self.words += sum(map(count_words, texts))
        self.tokens += len(ids)
        self.byte_tokens += int(((ids >= BYTES.start) & (ids < BYTES.stop)).sum())
        self.unknown += int((ids == UNKNOWN).sum())


@dataclass(frozen=True)
class Report:
    """What was read."""

    words: bool
    """Whether tokens are words, and those that are missing unknown."""
    train: Counts
    valid: Counts

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Report:
        """Read what `dataclasses.asdict` made of a report."""
        return cls(stored["words"], Counts(**stored["train"]), Counts(**stored["valid"]))

    def lines(self) -> list[str]:
        """The report for people."""
        told = []
        for name, counts in (("train", self.train), ("valid", self.valid)):
            rare = f"{counts.unknown:,} of them unknown"
            spelled = f"{counts.byte_tokens / max(1, counts.tokens):.3%} of them single bytes of unseen characters"
            told.append(f"{name}: {counts.lines:,} lines, {counts.words:,} words with the lines' ends")
            told.append(f"  {counts.tokens:,} tokens, {rare if self.words else spelled}")
            told += told_shared(counts.shared, counts.sentences, f"lines of {LONG} words or more")
        return told

    def check(self) -> None:
        """Refuse a corpus of which nothing is left."""
        for name, counts in (("train", self.train), ("valid", self.valid)):
            if counts.words == counts.lines:
                raise DataError(f"data.{name} holds no text")


def build(
    folder: Path, recipe: LanguageRecipe, workers: int | None, show: bool, tokenizer: Tokenizer | None = None
) -> tuple[dict[str, Any], Report]:
    """Write the folder → what its manifest says of each split, and the report. `workers` is of other kinds of text."""
    data = recipe.data
    with progress(show) as bar:
        lines = counted(read_documents(data.train, data), bar, "Reading train", None)
        sample, total = take_sample(filter(None, lines), sample_size(recipe.tokenizer))
        if not sample:
            raise DataError("data.train holds no text")
        task = bar.add_task("Learning tokens", total=None)
        tokenizer = tokenizer or train_text_tokenizer(sample, recipe.tokenizer)
        del sample
        write_tokenizer(folder, tokenizer)
        bar.update(task, total=1, completed=1)
        splits: dict[str, Any] = {}
        counts: dict[str, Counts] = {}
        trained_on = Seen()
        for split, files, size in (("train", data.train, total), ("valid", data.valid, None)):
            documents = counted(read_documents(files, data), bar, f"Encoding {split}", size)
            splits[split], counts[split] = _write(folder, split, documents, tokenizer, trained_on)
    return splits, Report(recipe.tokenizer.kind == "words", **counts)


def _write(
    folder: Path, split: str, documents: Iterable[str], tokenizer: Tokenizer, trained_on: Seen
) -> tuple[dict[str, Any], Counts]:
    counts, stream = Counts(), iter(documents)
    with PairWriter(folder, split, smallest_type(tokenizer.size("source"))) as writer:
        while chunk := list(islice(stream, CHUNK)):
            encoded = [[*ids, END] for ids in tokenizer.encode_all(chunk, "source")]
            flat = np.fromiter(chain.from_iterable(encoded), dtype=np.int64)
            counts.add(chunk, flat)
            prints = text_prints([line for line in chunk if count_words(line) > LONG])
            if split == "train":
                trained_on.add(prints)
            else:
                counts.sentences += len(prints)
                counts.shared += int(trained_on.holds(prints).sum())
            writer.add(flat, np.array([(len(ids), 0) for ids in encoded], dtype=np.int32))
        return writer.finish(), counts
