"""Labelled text → a prepared folder: TSV, CSV or JSONL, the tokenizer, and for each text its ids and the number of its label.

A text and its label are kept as a pair whose target is one id.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np

from regard.config import ClassificationRecipe, LabelledText
from regard.data.cleaning import Seen, told_shared
from regard.data.corpus import LONGEST_LINE, locate, read_lines
from regard.data.encoding import text_prints
from regard.data.ids import PairWriter, smallest_type
from regard.data.pairs import counted, sample_size, take_sample, write_tokenizer
from regard.data.progress import progress
from regard.data.tokenizer import Tokenizer, train_text_tokenizer
from regard.errors import DataError, did_you_mean, shown
from regard.notes import note

SETTINGS = ("text", "label", "split", "quoted", "replace", "hold_out", "max_tokens")
CHUNK = 1_000  # texts encoded together
SHOWN = 20  # labels in a message
GOLDEN = 0.618033988749895  # its multiples are spread evenly between whole numbers


class Example(NamedTuple):
    """A text and what it is called."""

    text: str
    label: str
    line: int


def read_split(data: LabelledText, split: str) -> Iterator[Example]:
    """The examples of `train`, `valid` or a test set, as the recipe says where they are."""
    if split == "valid" and not data.valid:
        return _held_out(data, wanted=True)
    if split == "train" and not data.valid:
        return _held_out(data, wanted=False)
    return read_examples(_file_of(data, split), data, split)


def _file_of(data: LabelledText, split: str) -> Path:
    files = {"train": data.train, "valid": data.valid or data.train}.get(split) or data.test[split]
    return locate(files[0], data)


def _held_out(data: LabelledText, wanted: bool) -> Iterator[Example]:
    """Every n-th row of each label of the training text, or the rest, whether labels are sorted, mixed or take turns.

    Labels begin at different places, so that of many rare ones some are held out, too; in place of a label's first row its
    second one is, since every label must be learned.
    """
    share = data.hold_out
    due: dict[str, float] = {}
    for example in read_examples(_file_of(data, "train"), data, "train"):
        first = example.label not in due
        before = due.get(example.label, len(due) * GOLDEN % 1)
        held_out = int(before + share) > int(before)
        due[example.label] = before if first and held_out else before + share
        if (held_out and not first) == wanted:
            yield example


def read_examples(path: Path, data: LabelledText, split: str) -> Iterator[Example]:
    """The rows of one file that belong to a split; what is wrong is said with the line."""
    seen: dict[str, None] = {}
    found = False
    for line, cells in _rows(path, data):
        if data.split and (name := cells[2].strip()) != split:
            if len(seen) < SHOWN:
                seen[name] = None
            continue
        found = True
        label = " ".join(cells[1].split())
        if not label:
            raise DataError(f"{path}, line {line} has no label: column {data.label!r} is empty; see data.label")
        yield Example(clean(cells[0], data), label, line)
    if not found:
        raise DataError(
            f"{path} has no row of the split {split!r}; column {data.split!r} holds: {', '.join(seen)}"
            if seen
            else f"{path} has no rows"
        )


def clean(text: str, data: LabelledText) -> str:
    """A text as the model is to see it: on one line, with what the recipe replaces."""
    for old, new in data.replace.items():
        text = text.replace(old, new)
    return " ".join(text.split())


def _rows(path: Path, data: LabelledText) -> Iterator[tuple[int, list[str]]]:
    """Line number, and the cells asked for: text, label, and the split if there is a column of it."""
    wanted = [data.text, data.label, *([data.split] if data.split else [])]
    name = path.name.removesuffix(".gz").removesuffix(".xz")
    if name.endswith(".jsonl"):
        yield from _json_rows(path, wanted)
        return
    cells = (
        _quoted(path, "," if name.endswith(".csv") else "\t") if data.quoted or name.endswith(".csv") else _tabs(path)
    )
    if "0" in wanted:
        raise DataError("columns count from 1, not 0; see data.text, data.label and data.split")
    places: list[int] | None = [int(each) - 1 for each in wanted] if all(map(str.isdecimal, wanted)) else None
    for line, row in cells:
        if places is None:
            places = [_place(each, row, path) for each in wanted]
        elif len(row) <= max(places):
            raise DataError(
                f"{path}, line {line} has {len(row)} columns, but column {max(places) + 1} is asked for;"
                " see data.text, data.label and data.split"
            )
        else:
            yield line, [row[place] for place in places]


def _place(column: str, header: Sequence[str], path: Path) -> int:
    if column.isdecimal():
        return int(column) - 1
    names = [each.strip() for each in header]
    if column not in names:
        hint = did_you_mean(column, names)
        raise DataError(
            f"{path} has no column {column!r}.{hint} Its first row holds: {shorten(', '.join(names), 200)}. "
            "Without names in the first row, give columns by number: data.text, data.label"
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


def _json_rows(path: Path, wanted: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
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
                raise DataError(f"{path}, line {number} has no {name!r}: {holds}; see data.text and data.label")
            cells.append(_cell(row[name]))
        yield number, cells


def _cell(value: object) -> str:
    """What JSON holds as the cell of a table: a number or true as it is written, null as nothing. Half a surrogate pair,
    which no file can hold, is a question mark."""
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode("utf-8")


@dataclass
class Counts:
    """What became of the texts of one split."""

    read: int = 0
    empty: int = 0
    long: int = 0
    tokens: int = 0
    rare: int = 0
    """Tokens that stand for what the vocabulary lacks."""
    labels: dict[str, int] = field(default_factory=dict)
    shared: int = 0
    """Texts that the training text holds as well."""

    @property
    def kept(self) -> int:
        return self.read - self.empty


@dataclass(frozen=True)
class Report:
    """What was read, kept and will be shortened, and how often each label occurs."""

    max_tokens: int
    words: bool
    """Whether tokens are words, and what the vocabulary lacks is unknown; it is spelled in bytes otherwise."""
    labels: list[str]
    train: Counts
    valid: Counts

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Report:
        """Read what `dataclasses.asdict` made of a report."""
        splits = {name: Counts(**stored[name]) for name in ("train", "valid")}
        return cls(stored["max_tokens"], stored["words"], list(stored["labels"]), **splits)

    def lines(self) -> list[str]:
        """The report for people."""
        return [
            line for name, counts in (("train", self.train), ("valid", self.valid)) for line in self._of(name, counts)
        ]

    def check(self) -> None:
        """Refuse a corpus from which nothing can be learned."""
        for name, counts in (("train", self.train), ("valid", self.valid)):
            if not counts.kept:
                why = f"all {counts.read:,} are empty" if counts.read else "there is none; see data.hold_out"
                raise DataError(f"no text of data.{name} can be used: {why}")
        if len(self.labels) < 2:
            raise DataError(f"every text of data.train has the label {self.labels[0]!r}; there is nothing to learn")

    def _of(self, name: str, counts: Counts) -> list[str]:
        lines = [f"{name}: {counts.kept:,} of {counts.read:,} texts kept; {counts.empty:,} are empty"]
        most = counts.labels.get(max(counts.labels, key=lambda each: counts.labels[each]), 0)
        told = sorted(counts.labels.items(), key=lambda each: -each[1])
        shown = ", ".join(f"{label} {count / counts.kept:.1%}" for label, count in told[:SHOWN])
        more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
        lines.append(
            f"  labels: {shown}{more}; always answering the first would be right {most / counts.kept:.1%} of the time"
        )
        rare = "unknown" if self.words else "single bytes of unseen characters"
        lines.append(f"  {counts.tokens:,} tokens, {counts.tokens / counts.kept:.1f} per text,"
                     f" {counts.rare / max(1, counts.tokens):.3%} of them {rare}")  # fmt: skip
        lines.append(f"  {counts.long:,} texts ({counts.long / counts.kept:.1%}) are longer than data.max_tokens ="
                     f" {self.max_tokens:,}; see data.long")  # fmt: skip
        return lines + told_shared(counts.shared, counts.kept, "texts")


def build(folder: Path, recipe: ClassificationRecipe, workers: int | None, show: bool) -> tuple[dict[str, Any], Report]:
    """Write the folder → what its manifest says of each split, and the report. `workers` is of other kinds of text."""
    data = recipe.data
    with progress(show) as bar:
        seen: Counter[str] = Counter()

        def texts() -> Iterator[str]:
            for example in counted(read_split(data, "train"), bar, "Reading train", None):
                seen[example.label] += 1
                yield example.text

        sample, total = take_sample(texts(), sample_size(recipe.tokenizer))
        labels = sorted(seen, key=lambda label: (not label.isdecimal(), int(label) if label.isdecimal() else 0, label))
        task = bar.add_task("Learning tokens", total=None)
        tokenizer = train_text_tokenizer(sample, recipe.tokenizer)
        del sample
        write_tokenizer(folder, tokenizer)
        bar.update(task, total=1, completed=1)
        splits: dict[str, Any] = {}
        counts: dict[str, Counts] = {}
        trained_on = Seen()
        for split, size in (("train", total), ("valid", None)):
            examples = counted(read_split(data, split), bar, f"Encoding {split}", size)
            splits[split], counts[split] = _write(folder, split, examples, tokenizer, labels, data, trained_on)
    _suspect_header(seen, data)
    return splits, Report(data.max_tokens, tokenizer.words, labels, **counts)


def _suspect_header(seen: Counter[str], data: LabelledText) -> None:
    """Names of columns are no text: whose columns are told by number, the first row might hold them."""
    first = next(iter(seen))
    if seen[first] == 1 and seen.total() > SHOWN and data.label.isdecimal():
        note(
            f"only the first row of data.train has the label {shown(first)}. If that row holds the names of columns, give"
            f" columns by name: data.label = {json.dumps(first, ensure_ascii=False)}"
        )


def _write(
    folder: Path,
    split: str,
    examples: Iterable[Example],
    tokenizer: Tokenizer,
    labels: list[str],
    data: LabelledText,
    trained_on: Seen,
) -> tuple[dict[str, Any], Counts]:
    numbers = {label: number for number, label in enumerate(labels)}
    kind = smallest_type(max(tokenizer.size("source"), len(labels)))
    counts, stream, file = Counts(labels=dict.fromkeys(labels, 0)), iter(examples), str(_file_of(data, split))
    with PairWriter(folder, split, kind) as writer:
        while chunk := list(islice(stream, CHUNK)):
            known = [(require_label(each, numbers, file), each) for each in chunk]
            encoded = tokenizer.encode_all([each.text for each in chunk], "source")
            counts.read += len(chunk)
            kept = [(ids, number) for ids, (number, _) in zip(encoded, known, strict=True) if ids]
            counts.empty += len(chunk) - len(kept)
            if not kept:
                continue
            for _, number in kept:
                counts.labels[labels[number]] += 1
            lengths = np.array([(len(ids), 1) for ids, _ in kept], dtype=np.int32)
            flat = np.fromiter(chain.from_iterable((*ids, number) for ids, number in kept), dtype=np.int64)
            of_text = np.repeat(np.tile([True, False], len(kept)), lengths.ravel())
            counts.long += int((lengths[:, 0] > data.max_tokens).sum())
            counts.tokens += int(lengths[:, 0].sum())
            counts.rare += int((of_text & tokenizer.rare(flat)).sum())
            prints = text_prints([each.text for ids, each in zip(encoded, chunk, strict=True) if ids])
            if split == "train":
                trained_on.add(prints)
            else:
                counts.shared += int(trained_on.holds(prints).sum())
            writer.add(flat, lengths)
        return writer.finish(), counts


def require_label(example: Example, numbers: Mapping[str, int], where: str) -> int:
    """The number of a label, which must be one that training knows."""
    if example.label not in numbers:
        known = ", ".join(list(numbers)[:SHOWN])
        raise DataError(
            f"{where}, line {example.line}: the label {example.label!r} does not occur in the training text, which knows "
            f"{known}.{did_you_mean(example.label, numbers)}"
        )
    return numbers[example.label]
