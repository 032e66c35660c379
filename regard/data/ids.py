"""Ids of a corpus on disk, memory-mapped, so that a corpus larger than memory trains in constant memory.

A split is three raw little-endian files: `.ids` (each pair's source ids, then its target ids), `.lengths` [N, 2] and
`.starts` [N]. `manifest.json` beside them holds their sizes and checksums.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError

if TYPE_CHECKING:
    from typing_extensions import Self  # part of typing only from Python 3.11 on

MANIFEST = "manifest.json"
CHECKSUM = "checksum"
_MEND = "delete that folder and run `regard prepare` again"


def smallest_type(vocabulary: int) -> str:
    """The numpy type that holds every id of a vocabulary."""
    return "<u2" if vocabulary <= 1 << 16 else "<i4"


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a prepared folder."""
    try:
        manifest: dict[str, Any] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest.get(CHECKSUM, checksum_of(manifest)) != checksum_of(manifest):
            raise ValueError("it was changed or damaged since it was written")
        return manifest
    except FileNotFoundError:
        raise DataError(f"{folder} is not a prepared corpus: it has no {MANIFEST}. Run `regard prepare`") from None
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise DataError(f"cannot read {folder / MANIFEST}: {error}; {_MEND}") from None


def checksum_of(manifest: dict[str, Any]) -> str:
    """Of what a manifest says."""
    told = {name: each for name, each in manifest.items() if name != CHECKSUM}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def checksum(path: Path) -> str:
    """sha256 of a file, read in blocks."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    return digest.hexdigest()


class PairIds:
    """The token ids of many pairs, read from disk as they are asked for."""

    def __init__(self, folder: Path, split: str, kind: str, files: dict[str, dict[str, Any]]) -> None:
        self._folder, self._files = folder, files
        for name, expected in files.items():
            size = (folder / name).stat().st_size if (folder / name).is_file() else 0
            if size != expected["bytes"]:
                raise DataError(f"{folder / name} has {size:,} bytes instead of {expected['bytes']:,}; {_MEND}")
        self._ids = np.memmap(folder / f"{split}.ids", dtype=kind, mode="r")
        self._starts = np.memmap(folder / f"{split}.starts", dtype="<i8", mode="r")  # [N]
        self.lengths: NDArray[np.int32] = np.memmap(folder / f"{split}.lengths", dtype="<i4", mode="r").reshape(-1, 2)

    @classmethod
    def open(cls, folder: Path, split: str) -> PairIds:
        """Map a split of a prepared folder; sizes are checked now, contents by `verify`."""
        manifest = read_manifest(folder)
        try:
            stored = manifest["splits"][split]
            return cls(folder, split, stored["type"], stored["files"])
        except KeyError as error:
            raise DataError(f"{folder / MANIFEST} lacks {error}; {_MEND}") from None

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def stream(self) -> NDArray[Any]:
        """All ids, one after another."""
        return self._ids

    def source(self, row: int) -> NDArray[Any]:
        """The source ids of a pair, without special ids."""
        start = int(self._starts[row])
        return self._ids[start : start + int(self.lengths[row, 0])]

    def target(self, row: int) -> NDArray[Any]:
        """The target ids of a pair, without special ids."""
        start = int(self._starts[row]) + int(self.lengths[row, 0])
        return self._ids[start : start + int(self.lengths[row, 1])]

    def verify(self) -> None:
        """Compare every file with its checksum."""
        for name, expected in self._files.items():
            if checksum(self._folder / name) != expected["sha256"]:
                raise DataError(f"{self._folder / name} was changed or damaged since it was written; {_MEND}")


class SplitWriter:
    """Writes the files of a split side by side, without holding what they hold."""

    def __init__(self, folder: Path, split: str, endings: Sequence[str]) -> None:
        self._paths = [folder / f"{split}.{ending}" for ending in endings]
        self._files = [path.open("wb") for path in self._paths]
        self._digests = [hashlib.sha256() for _ in self._paths]

    def append(self, *contents: bytes) -> None:
        """Something to each file."""
        for file, digest, content in zip(self._files, self._digests, contents, strict=True):
            file.write(content)
            digest.update(content)

    def finish(self) -> dict[str, Any]:
        """Flush to disk, and describe the files for the manifest."""
        files = {}
        for path, file, digest in zip(self._paths, self._files, self._digests, strict=True):
            file.flush()
            os.fsync(file.fileno())
            files[path.name] = {"bytes": file.tell(), "sha256": digest.hexdigest()}
        return {"files": files}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            file.close()


class PairWriter(SplitWriter):
    """Writes a split as its pairs come."""

    def __init__(self, folder: Path, split: str, kind: str) -> None:
        super().__init__(folder, split, ("ids", "lengths", "starts"))
        self._kind = kind
        self._next = 0

    def add(self, ids: NDArray[Any], lengths: NDArray[Any]) -> None:
        """Add pairs: their ids one after another, and their lengths [n, 2]."""
        ends = self._next + np.cumsum(lengths.sum(axis=1, dtype=np.int64))  # [n]
        starts = np.concatenate([[self._next], ends])[:-1]
        self._next += len(ids)
        parts = (ids.astype(self._kind), lengths.astype("<i4"), starts.astype("<i8"))
        self.append(*(part.tobytes() for part in parts))

    def finish(self) -> dict[str, Any]:
        return {"type": self._kind, **super().finish()}
