"""Corpus → prepared folder: cleaned, counted and written as training reads it, once.

A folder is finished or not there: it is built under another name and renamed. What is built, a task's own Builder says.
Whenever it is opened, its files are compared with what was written: small ones by checksum, large ones by checksum if size or
time tell that somebody touched them. A damaged folder is built again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

from regard.config import Recipe
from regard.data.corpus import locate
from regard.data.ids import CHECKSUM, MANIFEST, checksum, checksum_of, read_manifest
from regard.data.tokenizer import Tokenizer
from regard.errors import DataError, RegardError
from regard.files import replacing

FORMAT = 1
"""Raised whenever the same settings and data would give other files."""
READ_ALWAYS = 1 << 27
"""Bytes: files of at most this size are read to be compared, a moment's work; of larger ones size and time must do."""


class Report(Protocol):
    """What was read, kept and left out."""

    def lines(self) -> list[str]:
        """For people."""
        ...

    def check(self) -> None:
        """Refuse a corpus of which nothing is left."""
        ...


class DataSet(Protocol):
    """What is trained or validated on; the rest is between a task's builder and its training."""

    def __len__(self) -> int:
        """Examples."""
        ...

    def verify(self) -> None:
        """Refuse what is no longer as it was written."""
        ...


@dataclass(frozen=True)
class Builder:
    """How the corpus of a task becomes a prepared folder."""

    settings: tuple[str, ...]
    """Settings of [data] that decide what the folder holds, besides the files themselves …"""
    sections: tuple[str, ...]
    """… and whole sections of the recipe that do."""
    build: Callable[..., tuple[dict[str, Any], Any]]
    """(folder, recipe, processes, whether to show progress, and a tokenizer if it need not learn one) → what the manifest
    says of each split, and the Report."""
    report: Callable[[Mapping[str, Any]], Report]
    """Reads what `dataclasses.asdict` made of a Report."""
    open: Callable[[Path, Any], tuple[Any, Any, Any]]
    """(folder, Report) → the assets that a model file will carry, and the data sets `train` and `valid`."""
    find: Callable[[str, Any], Path] = locate
    """(what a recipe names, its [data]) → where that is."""
    files: Callable[[Path, Any], Iterator[Path]] = lambda path, data: iter((path,))
    """(where it is, [data]) → all files that it stands for, itself or what lies in it, in a fixed order."""
    besides: Callable[[Any], Mapping[str, Path]] = lambda recipe: {}
    """Of a recipe, further files that decide what the folder holds, by what messages call them."""


@dataclass(frozen=True)
class Prepared:
    """A corpus ready for training."""

    folder: Path
    assets: Any
    """What a model file will carry, as far as the corpus decides it."""
    train: Any
    valid: Any
    report: Any
    checksums: dict[str, str]
    """sha256 of each input file, by the name that the recipe gives it."""
    note: str = ""
    """Why it had to be built again, if it was damaged."""

    def lines(self) -> list[str]:
        """For people: what was read, kept and left out."""
        return [*filter(None, [self.note]), *self.report.lines(), f"ready in {self.folder}"]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"folder": str(self.folder), "report": asdict(self.report), "checksums": self.checksums}


@dataclass(frozen=True)
class Input:
    """What a recipe names: a file, or a folder or table that stands for many."""

    path: Path
    files: Callable[[Path], Iterator[Path]]

    def stamp(self) -> dict[str, int]:
        """What tells without reading it that somebody touched it."""
        size = modified = names = 0
        above = len(str(self.path.parent))
        for path in self._there():
            each = _stamp(path)
            size, modified = size + each["bytes"], max(modified, each["modified"])
            # A picture that is moved to another label's folder keeps its size and its date.
            names = zlib.crc32(os.fsencode(str(path)[above:]), names)
        return {"bytes": size, "modified": modified, "names": names}

    def checksum(self) -> str:
        """sha256 of the file; of many, of their names and checksums."""
        if self.path.is_file() and list(islice(self.files(self.path), 2)) == [self.path]:
            return checksum(self.path)
        digest = hashlib.sha256()
        for path in self._there():
            digest.update(
                os.fsencode(f"{os.path.relpath(path, self.path)} {checksum(path)}\n")
            )  # names may be any bytes
        return digest.hexdigest()

    def _there(self) -> Iterator[Path]:
        """What a table names but is not there, its builder tells."""
        return (path for path in self.files(self.path) if path == self.path or path.is_file())


def prepare(
    recipe: Recipe,
    builder: Builder,
    *,
    workers: int | None = None,
    show: bool = True,
    tokenizer: Tokenizer | None = None,
) -> Prepared:
    """Open the prepared corpus of a recipe; build it first if settings or data are new. With a tokenizer, none is learned."""
    settings = _settings(recipe, builder)
    if tokenizer is not None:
        settings["tokenizer of the start"] = checksum_of(tokenizer.to_dict())
    code = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    folder = Path(recipe.data.prepared) / f"{recipe.name}-{code}"
    inputs = {
        name: Input(builder.find(name, recipe.data), lambda path: builder.files(path, recipe.data))
        for name in recipe.data.inputs
    }
    for name, path in builder.besides(recipe).items():
        inputs[name] = Input(path, lambda path: iter((path,)))
    for name in chain.from_iterable(recipe.data.tests.values()):
        if name in recipe.data.download:
            builder.find(name, recipe.data)  # now: `evaluate` downloads nothing
    note = ""
    try:
        found = _reuse(folder, builder, settings, inputs)
        if found is not None:
            return found
    except DataError as error:
        note = f"built again: {error}"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as name:
            built = Path(name) / "built"
            built.mkdir()
            given = {} if tokenizer is None else {"tokenizer": tokenizer}
            _build(built, partial(builder.build, built, recipe, workers, show, **given), settings, inputs)
            _publish(built, folder, lambda: _usable(folder, builder, settings, inputs))
    except OSError as error:
        raise DataError(f"cannot write the prepared corpus {folder}: {error}; see data.prepared") from error
    return replace(_open(folder, builder), note=note)


def _settings(recipe: Recipe, builder: Builder) -> dict[str, Any]:
    """All that decides what the folder holds, apart from the data itself."""
    told = asdict(recipe.data)
    data = {name: told[name] for name in ("train", "valid", *builder.settings)}
    sections = {name: asdict(getattr(recipe, name)) for name in builder.sections}
    plain: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, "data": data, **sections}))
    return plain


def _open(folder: Path, builder: Builder) -> Prepared:
    manifest = read_manifest(folder)
    try:
        report = builder.report(manifest["report"])
        assets, train, valid = builder.open(folder, report)
        checksums = {name: stamp["sha256"] for name, stamp in manifest["inputs"].items()}
    except RegardError:  # which says more
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{folder} is damaged ({error}); delete it and run `regard prepare` again") from None
    return Prepared(folder, assets, train, valid, report, checksums)


def _usable(folder: Path, builder: Builder, settings: dict[str, Any], inputs: dict[str, Input]) -> bool:
    """Whether what another process has built meanwhile will do."""
    try:
        return _reuse(folder, builder, settings, inputs) is not None
    except DataError:
        return False


def _reuse(folder: Path, builder: Builder, settings: dict[str, Any], inputs: dict[str, Input]) -> Prepared | None:
    """The folder as it is, if it was made from these settings and this data; a damaged one is an error."""
    if not folder.exists():
        return None
    manifest = read_manifest(folder)
    try:
        if manifest["settings"] != settings or manifest["inputs"].keys() != inputs.keys():
            return None
        stamps = {}
        for name, each in inputs.items():
            old, now = manifest["inputs"][name], each.stamp()
            same = all(old.get(key) == now[key] for key in now)  # hashing is spared while nothing was touched
            if not same and each.checksum() != old["sha256"]:
                return None
            stamps[name] = {**now, "sha256": old["sha256"]}
        fresh = {**manifest, "inputs": stamps, "files": _compared(folder, manifest)}
    except (OSError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{folder} is damaged ({error!r})") from None
    opened = _open(folder, builder)
    if fresh != manifest:
        with suppress(OSError):  # a folder that cannot be written is only slower to check
            _write_manifest(folder, fresh)
    return opened


def _compared(folder: Path, manifest: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every file of the folder as it should be, and its stamp as it is now; one that was changed is an error."""
    splits = (split["files"] for split in manifest["splits"].values())
    expected = manifest.get("files") or {
        name: file for files in splits for name, file in files.items()
    }  # an older one's
    found = {}
    for name, old in expected.items():
        path = folder / name
        if not path.is_file():
            raise DataError(f"{path} is gone")
        now = _stamp(path)
        touched = any(old.get(key) != now[key] for key in now)
        if now["bytes"] != old["bytes"] or (
            (touched or old["bytes"] <= READ_ALWAYS) and checksum(path) != old["sha256"]
        ):
            raise DataError(f"{path} was changed or damaged since it was written")
        found[name] = {**now, "sha256": old["sha256"]}
    return found


def _stamp(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"bytes": status.st_size, "modified": status.st_mtime_ns}


def _write_manifest(folder: Path, content: dict[str, Any]) -> None:
    with replacing(folder / MANIFEST) as temporary:
        text = json.dumps({**content, CHECKSUM: checksum_of(content)}, indent=1, ensure_ascii=False)
        temporary.write_text(text, encoding="utf-8")


def _build(
    folder: Path,
    build: Callable[[], tuple[dict[str, Any], Any]],
    settings: dict[str, Any],
    inputs: dict[str, Input],
) -> None:
    stamps = {name: {**each.stamp(), "sha256": each.checksum()} for name, each in inputs.items()}
    splits, report = build()
    report.check()
    # What our writers counted while they wrote need not be read again; a task's own builder may tell anything of a split.
    written = [split["files"] for split in splits.values() if isinstance(split, dict) and "files" in split]
    hashed = {name: file["sha256"] for files in written for name, file in files.items()}
    files = {
        path.name: {**_stamp(path), "sha256": hashed.get(path.name) or checksum(path)}
        for path in sorted(folder.iterdir())
    }
    manifest = {"settings": settings, "inputs": stamps, "splits": splits, "report": asdict(report), "files": files}
    _write_manifest(folder, manifest)


def _sweep(folder: Path) -> None:
    """Delete what a process that was killed while building this folder left behind a day or longer ago."""
    for left in folder.parent.glob(f".{folder.name}-*"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > 24 * 60 * 60:
                shutil.rmtree(left, ignore_errors=True)


def _publish(built: Path, folder: Path, usable: Callable[[], bool]) -> None:
    """Rename the finished folder into place, unless another process was quicker; an outdated one makes way."""
    while True:
        try:
            os.rename(built, folder)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        if usable():
            return
        with suppress(FileNotFoundError):  # somebody else may have moved it
            os.rename(folder, Path(tempfile.mkdtemp(dir=built.parent)) / "outdated")
