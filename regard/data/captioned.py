"""Pictures with captions → a prepared folder: every picture as the model sees it, or the garments that scenes are made of.

N pictures · S of a batch · H height · W width · C channels
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from regard.config import CaptionedPictures
from regard.data.ids import checksum, read_manifest
from regard.data.pictures import Example, find, read_examples
from regard.data.pixels import decode
from regard.data.progress import progress
from regard.data.sampling import held_out
from regard.data.wardrobe import GARMENTS, LARGE, Wardrobe
from regard.errors import DataError

SETTINGS = ("picture", "label", "split", "quoted", "names", "size", "colour", "fit", "hold_out", "scenes", "languages")
VALIDATED = 1_000  # scenes that validate
NAMED = 5  # files that a report names
TRAIN, VALID, TEST = 0, 1, 2  # seeds, so that each has scenes of its own


class CaptionedSet(Protocol):
    """What painting trains on. In each pass over it, a picture may be another one."""

    def __len__(self) -> int: ...

    def verify(self) -> None: ...

    def pictures(self, rows: Iterable[int], epoch: int) -> NDArray[np.uint8]:
        """[S, H, W, C]."""
        ...

    def captions(self, rows: Iterable[int], epoch: int) -> list[str]: ...


class MappedFiles:
    """Raw files of a prepared folder."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        self.folder, self.names = folder, tuple(names)

    def verify(self) -> None:
        """Compare every file with its checksum."""
        expected = read_manifest(self.folder)["files"]
        for name in self.names:
            if checksum(self.folder / name) != expected[name]["sha256"]:
                raise DataError(f"{self.folder / name} was changed or damaged since it was written; delete its folder")


class Captioned(MappedFiles):
    """Pictures and their captions on disk, read as they are asked for."""

    def __init__(self, folder: Path, split: str, shape: tuple[int, int, int]) -> None:
        super().__init__(folder, (f"{split}.pixels", f"{split}.captions", f"{split}.ends"))
        self._pixels = np.memmap(folder / self.names[0], dtype=np.uint8, mode="r").reshape(-1, *shape)
        self._text = np.memmap(folder / self.names[1], dtype=np.uint8, mode="r")
        self._ends = np.memmap(folder / self.names[2], dtype="<i8", mode="r")  # [N]

    def __len__(self) -> int:
        return len(self._ends)

    def pictures(self, rows: Iterable[int], epoch: int) -> NDArray[np.uint8]:
        return self._pixels[list(rows)]

    def captions(self, rows: Iterable[int], epoch: int) -> list[str]:
        return [self._text[self._ends[row - 1] if row else 0 : self._ends[row]].tobytes().decode() for row in rows]


class Scenes(MappedFiles):
    """As many scenes as are asked for, made up from garments on disk; in each pass over them other ones."""

    def __init__(self, folder: Path, split: str, count: int, languages: tuple[str, ...], seed: int) -> None:
        super().__init__(folder, (f"{split}.pixels", f"{split}.kinds"))
        pixels = np.memmap(folder / self.names[0], dtype=np.uint8, mode="r").reshape(-1, LARGE, LARGE)
        self.wardrobe = Wardrobe(pixels, np.fromfile(folder / self.names[1], dtype=np.uint8))
        self.count, self.languages, self.seed = count, languages, seed

    def __len__(self) -> int:
        return self.count

    def pictures(self, rows: Iterable[int], epoch: int) -> NDArray[np.uint8]:
        return np.stack([self.wardrobe.draw(self.wardrobe.scene([self.seed, epoch, int(row)])) for row in rows])

    def captions(self, rows: Iterable[int], epoch: int) -> list[str]:
        """In one language after another, and each picture in another one in the next pass."""
        return [
            self.wardrobe.scene([self.seed, epoch, int(row)]).caption(
                self.languages[(int(row) + epoch) % len(self.languages)]
            )
            for row in rows
        ]


@dataclass(frozen=True)
class Report:
    """What was read and kept."""

    size: int
    channels: int
    scenes: int
    languages: list[str]
    train: dict[str, int] = field(default_factory=dict)
    valid: dict[str, int] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Report:
        """Read what `dataclasses.asdict` made of a report."""
        return cls(**stored)

    def lines(self) -> list[str]:
        """The report for people."""
        lines = [
            f"{name}: {counts['kept']:,} of {counts['read']:,} pictures kept; {counts['read'] - counts['kept']:,} are broken"
            for name, counts in (("train", self.train), ("valid", self.valid))
        ]
        if self.scenes:
            lines.append(
                f"{self.scenes:,} scenes of them in each epoch, with captions in {' and '.join(self.languages)}"
            )
        return lines + [f"  broken: {each}" for each in self.broken]

    def check(self) -> None:
        """Refuse a corpus from which nothing can be learned."""
        for name, counts in (("train", self.train), ("valid", self.valid)):
            if not counts["kept"]:
                why = f"all {counts['read']:,} are broken" if counts["read"] else "there is none; see data.hold_out"
                raise DataError(
                    f"no picture of data.{name} can be used: {why}{''.join(f'; {each}' for each in self.broken[:1])}"
                )


def read_split(data: CaptionedPictures, split: str) -> Iterator[Example]:
    """The examples of `train`, `valid` or a test set; without `valid`, every n-th of the training pictures validates."""
    if split not in ("train", "valid") or data.valid:
        return read_examples([find(file, data) for file in data.files_of(split)], data, split)
    examples = read_examples([find(file, data) for file in data.train], data, "train")
    share = data.hold_out
    if data.scenes:
        return held_out(examples, share, wanted=split == "valid")  # of every kind of garment
    return (
        each
        for number, each in enumerate(examples)
        if (int((number + 1) * share) > int(number * share)) == (split == "valid")
    )


def build(folder: Path, data: CaptionedPictures, workers: int | None, show: bool) -> tuple[dict[str, Any], Report]:
    """Write the pictures of both splits → what the manifest says of each, and the report."""
    splits: dict[str, Any] = {}
    counts: dict[str, dict[str, int]] = {}
    broken: list[str] = []
    with progress(show) as bar:
        for split in ("train", "valid"):
            examples = bar.track(read_split(data, split), task_id=bar.add_task(f"Reading {split}", total=None))
            write = (
                _write_garments(folder, split, examples)
                if data.scenes
                else _write(folder, split, examples, data, workers)
            )
            counts[split] = {"read": 0, "kept": 0}
            for problem in write:
                counts[split]["read"] += 1
                counts[split]["kept"] += not problem
                if problem and len(broken) < NAMED:
                    broken.append(problem)
            splits[split] = {"files": {
                path.name: {"bytes": path.stat().st_size, "sha256": checksum(path)} for path in sorted(folder.glob(f"{split}.*"))
            }}  # fmt: skip
    return splits, Report(data.size, data.channels, data.scenes, list(data.languages), **counts, broken=broken)


def _write(
    folder: Path, split: str, examples: Iterable[Example], data: CaptionedPictures, workers: int | None
) -> Iterator[str]:
    """Of each picture, what is wrong with it, or nothing."""
    end = 0
    with (
        (folder / f"{split}.pixels").open("wb") as pixels,
        (folder / f"{split}.captions").open("wb") as captions,
        (folder / f"{split}.ends").open("wb") as ends,
    ):
        for example, seen in decode(examples, data, workers):
            if isinstance(seen, DataError):
                yield str(seen)
                continue
            pixels.write(seen.pixels.tobytes())
            end += captions.write(example.label.encode())
            ends.write(np.int64(end).astype("<i8").tobytes())
            yield ""


def _write_garments(folder: Path, split: str, examples: Iterable[Example]) -> Iterator[str]:
    """Pictures as they are, 28 × 28 and grey, and the number of each one's kind."""
    with (folder / f"{split}.pixels").open("wb") as pixels, (folder / f"{split}.kinds").open("wb") as kinds:
        for each in examples:
            picture, kind = require_garment(each)
            pixels.write(picture.tobytes())
            kinds.write(bytes([kind]))
            yield ""


def require_garment(example: Example) -> tuple[NDArray[np.uint8], int]:
    """A picture as Fashion-MNIST has them [28, 28], and the number of its kind."""
    kind = int(example.label) if example.label.isdecimal() else len(GARMENTS["en"])
    picture = example.picture
    if not isinstance(picture, np.ndarray) or picture.shape != (LARGE, LARGE) or kind >= len(GARMENTS["en"]):
        raise DataError(
            f"{example.name}: data.scenes needs Fashion-MNIST's two IDX files, pictures of {LARGE} × {LARGE} and labels from 0 to"
            " 9 without data.names"
        )
    return picture, kind


def open_set(folder: Path, split: str, report: Report) -> CaptionedSet:
    """What `build` wrote of a split."""
    if not report.scenes:
        return Captioned(folder, split, (report.size, report.size, report.channels))
    count, seed = (report.scenes, TRAIN) if split == "train" else (min(VALIDATED, report.scenes), VALID)
    return Scenes(folder, split, count, tuple(report.languages), seed)


def captions_of(pictures: CaptionedSet, most: int) -> list[str]:
    """Of the first pictures, for a tokenizer to learn from."""
    rows = range(min(most, len(pictures)))
    return pictures.captions(rows, 0)


def pictures_to_test(
    data: CaptionedPictures, split: str, most: int, together: int, unseen: bool = False
) -> Iterator[tuple[NDArray[np.uint8], list[str]]]:
    """Pictures of a test set [S, H, W, C] with their captions, at most so many, in batches; of garments, the scenes that can be
    made of them, the same ones each time. Broken pictures are left out."""
    if data.scenes:
        scenes = garments_to_test(data, split)
        for begin in range(0, most, together):
            drawn = [scenes.scene([TEST, 0, number], unseen) for number in range(begin, min(begin + together, most))]
            yield (
                np.stack([scenes.draw(each) for each in drawn]),
                [each.caption(data.languages[number % len(data.languages)]) for number, each in enumerate(drawn)],
            )
        return
    decoded = (
        (seen.pixels, example.label)
        for example, seen in decode(islice(read_split(data, split), most), data)
        if not isinstance(seen, DataError)
    )
    while batch := list(islice(decoded, together)):
        yield np.stack([pixels for pixels, _ in batch]), [caption for _, caption in batch]


def garments_to_test(data: CaptionedPictures, split: str) -> Wardrobe:
    """The garments of a test set."""
    examples = list(read_split(data, split))
    return Wardrobe(
        np.stack([require_garment(each)[0] for each in examples]),
        np.array([require_garment(each)[1] for each in examples]),
    )
