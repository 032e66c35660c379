"""Labelled text → a prepared folder: TSV, CSV or JSONL, the tokenizer, and for each text its ids and the number of its label.

A text and its label are kept as a pair whose target is one id.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from regard.config import ClassificationRecipe, LabelledText
from regard.data.cleaning import Seen, told_shared
from regard.data.corpus import locate
from regard.data.encoding import text_prints
from regard.data.ids import PairWriter, smallest_type
from regard.data.pairs import counted, sample_size, take_sample, write_tokenizer
from regard.data.progress import progress
from regard.data.sampling import held_out
from regard.data.tables import read_rows
from regard.data.tokenizer import Tokenizer, train_text_tokenizer
from regard.errors import DataError, did_you_mean, shown
from regard.notes import note

SETTINGS = ("text", "label", "split", "quoted", "replace", "hold_out", "max_tokens")
CHUNK = 1_000  # texts encoded together
SEE = "data.text, data.label and data.split"
SHOWN = 20  # labels in a message


class Example(NamedTuple):
    """A text and what it is called."""

    text: str
    label: str
    line: int


def read_split(data: LabelledText, split: str) -> Iterator[Example]:
    """The examples of `train`, `valid` or a test set, as the recipe says where they are."""
    if split == "valid" and not data.valid:
        return held_out(read_examples(_file_of(data, "train"), data, "train"), data.hold_out, wanted=True)
    if split == "train" and not data.valid:
        return held_out(read_examples(_file_of(data, "train"), data, "train"), data.hold_out, wanted=False)
    return read_examples(_file_of(data, split), data, split)


def _file_of(data: LabelledText, split: str) -> Path:
    files = {"train": data.train, "valid": data.valid or data.train}.get(split) or data.test[split]
    return locate(files[0], data)


def read_examples(path: Path, data: LabelledText, split: str) -> Iterator[Example]:
    """The rows of one file that belong to a split; what is wrong is said with the line."""
    seen: dict[str, None] = {}
    found = False
    for line, cells in read_rows(path, _wanted(data), SEE, quoted=data.quoted):
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


def _wanted(data: LabelledText) -> list[str]:
    """Columns: text, label, and the split if there is a column of it."""
    return [data.text, data.label, *([data.split] if data.split else [])]


def clean(text: str, data: LabelledText) -> str:
    """A text as the model is to see it: on one line, with what the recipe replaces."""
    for old, new in data.replace.items():
        text = text.replace(old, new)
    return " ".join(text.split())


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


def build(
    folder: Path, recipe: ClassificationRecipe, workers: int | None, show: bool, tokenizer: Tokenizer | None = None
) -> tuple[dict[str, Any], Report]:
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
        tokenizer = tokenizer or train_text_tokenizer(sample, recipe.tokenizer)
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
