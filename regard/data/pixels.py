"""Labelled pictures → a prepared folder: every picture as the model sees it, in memory-mapped files.

N pictures · H height · W width · C channels
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.config import LabelledPictures, PictureRecipe
from regard.data.ids import SplitWriter, checksum, read_manifest
from regard.data.images import Seen, see
from regard.data.pictures import Example, empty_labels, read_split, require_label
from regard.data.progress import progress
from regard.errors import DataError, visible

SETTINGS = ("picture", "label", "split", "quoted", "names", "size", "colour", "fit", "hold_out")
AHEAD = 64  # pictures for each thread that are being decoded, or wait to be written
NAMED = 5  # files that a report names
SHOWN = 20  # labels


class PixelSet:
    """Pictures and their labels on disk, read as they are asked for."""

    def __init__(self, folder: Path, split: str, shape: tuple[int, int, int]) -> None:
        self._paths = [folder / f"{split}.{part}" for part in ("pixels", "labels")]
        self.pixels: NDArray[np.uint8] = np.memmap(self._paths[0], dtype=np.uint8, mode="r").reshape(-1, *shape)
        self.labels: NDArray[np.int32] = np.memmap(self._paths[1], dtype="<i4", mode="r")  # [N]
        if len(self.pixels) != len(self.labels):
            raise DataError(f"{folder}: {split} has {len(self.pixels):,} pictures and {len(self.labels):,} labels")

    def __len__(self) -> int:
        return len(self.labels)

    def verify(self) -> None:
        """Compare every file with its checksum."""
        expected = read_manifest(self._paths[0].parent)["files"]
        for path in self._paths:
            if checksum(path) != expected[path.name]["sha256"]:
                raise DataError(f"{path} was changed or damaged since it was written; delete its folder")


class PixelWriter(SplitWriter):
    """Writes a split as its pictures come."""

    def __init__(self, folder: Path, split: str) -> None:
        super().__init__(folder, split, ("pixels", "labels"))

    def add(self, pixels: NDArray[np.uint8], label: int) -> None:
        self.append(pixels.tobytes(), np.array(label, dtype="<i4").tobytes())


@dataclass
class Counts:
    """What became of the pictures of one split."""

    read: int = 0
    labels: dict[str, int] = field(default_factory=dict)
    resized: int = 0
    cropped: int = 0
    recoloured: int = 0
    transparent: int = 0
    animated: int = 0
    broken: int = 0
    shared: int = 0
    """Pictures that the training data holds as well."""
    named: dict[str, list[str]] = field(default_factory=dict)
    """By what is told of them, the first few files."""

    @property
    def kept(self) -> int:
        return self.read - self.broken

    def add(self, seen: Seen, name: str) -> None:
        self.resized += seen.resized
        self.cropped += seen.cropped
        self.recoloured += seen.recoloured
        self.transparent += seen.transparent
        self.animated += seen.animated
        if seen.animated:
            self.name("animated", name)

    def name(self, what: str, name: str) -> None:
        told = self.named.setdefault(what, [])
        if len(told) < NAMED:
            told.append(
                visible(name)
            )  # it is written down: half a surrogate pair, of a name that is no text, cannot be


@dataclass(frozen=True)
class Report:
    """What was read, kept and changed, and how often each label occurs."""

    size: int
    fit: str
    colour: bool
    labels: list[str]
    mean: list[float]
    """Of each channel in the training pictures, of 1."""
    deviation: list[float]
    train: Counts
    valid: Counts
    empty: list[str] = field(default_factory=list)
    """Folders of data.train that hold no picture."""

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Report:
        """Read what `dataclasses.asdict` made of a report."""
        return cls(**{**stored, **{name: Counts(**stored[name]) for name in ("train", "valid")}})

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.size, self.size, 3 if self.colour else 1

    def lines(self) -> list[str]:
        """The report for people."""
        return [*self._of("train", self.train), *self._of("valid", self.valid), *self._lonely()]

    def check(self) -> None:
        """Refuse a corpus from which nothing can be learned."""
        for name, counts in (("train", self.train), ("valid", self.valid)):
            if not counts.kept:
                why = f"all {counts.read:,} are broken" if counts.read else "there is none; see data.hold_out"
                first = "".join(f", such as {each}" for each in counts.named.get("broken", [])[:1])
                raise DataError(f"no picture of data.{name} can be used: {why}{first}")
        if len(self.labels) < 2:
            raise DataError(f"every picture of data.train has the label {self.labels[0]!r}; there is nothing to learn")

    def _of(self, name: str, counts: Counts) -> list[str]:
        told = sorted(counts.labels.items(), key=lambda each: -each[1])
        shown = ", ".join(f"{label} {count / counts.kept:.1%}" for label, count in told[:SHOWN])
        more = f" and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
        lines = [
            f"{name}: {counts.kept:,} of {counts.read:,} pictures kept; {counts.broken:,} are broken",
            f"  labels: {shown}{more}",
        ]
        changed = {
            f"resized to {self.size} × {self.size}": counts.resized,
            f"no squares (data.fit = {self.fit!r})": counts.cropped,
            f"made {'colour of grey' if self.colour else 'grey of colour'}": counts.recoloured,
            "transparent, put on white": counts.transparent,
            "animated: only the first picture is taken": counts.animated,
            "in the training data as well": counts.shared,
        }
        lines += [f"  {count:,} are {what}" for what, count in changed.items() if count]
        lines += [f"  {what}: {each}" for what, names in counts.named.items() for each in names]
        return lines

    def _lonely(self) -> Iterator[str]:
        none = [label for label in self.labels if not self.train.labels[label]]
        once = [label for label in self.labels if self.train.labels[label] == 1]
        never = [label for label in self.labels if not self.valid.labels[label]]
        if self.empty:
            yield f"no picture in the folders of: {', '.join(self.empty[:SHOWN])}; these labels are not learned"
        if none:
            yield f"every training picture is broken: {', '.join(none[:SHOWN])}; these labels cannot be learned"
        if once:
            yield f"only one training picture: {', '.join(once[:SHOWN])}"
        if never:
            yield f"not in the validation pictures: {', '.join(never[:SHOWN])}"


def build(folder: Path, recipe: PictureRecipe, workers: int | None, show: bool) -> tuple[dict[str, Any], Report]:
    """Write the folder → what its manifest says of each split, and the report."""
    data = recipe.data
    labels = label_order(Counter(each.label for each in read_split(data, "train")), data)
    splits: dict[str, Any] = {}
    counts: dict[str, Counts] = {}
    moments = Moments(data.channels)
    trained_on: set[bytes] = set()
    with progress(show) as bar:
        for split in ("train", "valid"):
            task = bar.add_task(f"Reading {split}", total=None)
            examples = bar.track(read_split(data, split), task_id=task)
            train = split == "train"
            splits[split], counts[split] = _write(
                folder, split, examples, data, labels, workers, moments if train else None, trained_on
            )
    mean, deviation = moments.found()
    return splits, Report(
        data.size, data.fit, data.colour, labels, mean, deviation, counts["train"], counts["valid"], empty_labels(data, "train")
    )  # fmt: skip


def label_order(seen: Iterable[str], data: LabelledPictures) -> list[str]:
    """By number if they are numbers, as `data.names` has them, or by name."""
    given = {name: place for place, name in enumerate(data.names)}

    def place(label: str) -> tuple[int, int, str]:
        return given.get(label, len(given)), int(label) if label.isdecimal() else 0, label

    return sorted(seen, key=place)


class Moments:
    """Mean and deviation of each channel, counted exactly: sums of bytes and of their squares."""

    def __init__(self, channels: int) -> None:
        self.count, self.sums, self.squares = 0, [0] * channels, [0] * channels

    def add(self, pixels: NDArray[np.uint8]) -> None:
        flat = pixels.reshape(-1, pixels.shape[-1]).astype(np.int64)  # [H × W, C]
        self.count += len(flat)
        self.sums = [before + int(each) for before, each in zip(self.sums, flat.sum(0), strict=True)]
        self.squares = [before + int(each) for before, each in zip(self.squares, (flat * flat).sum(0), strict=True)]

    def found(self) -> tuple[list[float], list[float]]:
        """Of 1; what is always the same deviates by one step of 255, so that nothing is divided by zero."""
        count = max(1, self.count)
        means = [each / count for each in self.sums]
        deviations = [
            max(1.0, (each / count - mean * mean) ** 0.5) for each, mean in zip(self.squares, means, strict=True)
        ]
        return [round(each / 255, 6) for each in means], [round(each / 255, 6) for each in deviations]


def _write(
    folder: Path,
    split: str,
    examples: Iterable[Example],
    data: LabelledPictures,
    labels: list[str],
    workers: int | None,
    moments: Moments | None,
    trained_on: set[bytes],
) -> tuple[dict[str, Any], Counts]:
    numbers = {label: number for number, label in enumerate(labels)}
    counts = Counts(labels=dict.fromkeys(labels, 0))
    with PixelWriter(folder, split) as writer:
        for example, seen in decode(examples, data, workers):
            counts.read += 1
            number = require_label(example, numbers)
            if isinstance(seen, DataError):
                counts.broken += 1
                counts.name("broken", str(seen))
                continue
            counts.add(seen, example.name)
            counts.labels[example.label] += 1
            mark = hashlib.blake2b(seen.pixels.tobytes(), digest_size=8).digest()
            if moments is not None:
                moments.add(seen.pixels)
                trained_on.add(mark)
            elif mark in trained_on:
                counts.shared += 1
                counts.name("also in train", example.name)
            writer.add(seen.pixels, number)
        return writer.finish(), counts


def decode(
    examples: Iterable[Example], data: LabelledPictures, workers: int | None = None
) -> Iterator[tuple[Example, Seen | DataError]]:
    """Every example with its pixels, or with what is wrong with it; in order. Pillow lets threads decode side by side."""
    threads = workers or os.cpu_count() or 1

    def attempt(example: Example) -> Seen | DataError:
        try:
            return see(example.picture, data, example.name)
        except DataError as error:
            return error

    waiting: deque[tuple[Example, Future[Seen | DataError]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for example in examples:
            if isinstance(example.picture, np.ndarray) and not waiting:
                yield example, attempt(example)  # nothing to decode: a thread would only cost time
                continue
            waiting.append((example, pool.submit(attempt, example)))
            if len(waiting) >= threads * AHEAD:
                before, found = waiting.popleft()
                yield before, found.result()
        for before, found in waiting:
            yield before, found.result()
