"""Corpus → prepared folder: cleans and counts the pairs, trains the tokenizer and writes the ids, once.

A folder is finished or not there: it is built under another name and renamed.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress

from regard.config import Recipe
from regard.data.cleaning import Cleaner, Counts, Report
from regard.data.corpus import locate, read_pairs
from regard.data.encoding import encode_corpus, load_tokenizer
from regard.data.ids import MANIFEST, PairIds, PairWriter, checksum, read_manifest, smallest_type
from regard.data.progress import progress
from regard.data.tokenizer import Tokenizer, train_tokenizer
from regard.errors import DataError
from regard.files import replacing

FORMAT = 1
"""Raised whenever the same settings and text would give other files."""
TOKENIZER = "tokenizer.json"
WORTH_A_PROCESS = 250_000
"""Pairs that keep another process busy for several times what it takes to start."""


@dataclass(frozen=True)
class Prepared:
    """A corpus ready for training."""

    folder: Path
    tokenizer: Tokenizer
    train: PairIds
    valid: PairIds
    report: Report
    checksums: dict[str, str]
    """sha256 of each input file, by the name that the recipe gives it."""


def prepare(recipe: Recipe, *, workers: int | None = None, show: bool = True) -> Prepared:
    """Open the prepared corpus of a recipe; build it first if settings or text are new."""
    settings = _settings(recipe)
    code = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:8]
    folder = Path(recipe.data.prepared) / f"{recipe.name}-{code}"
    inputs = {name: locate(name, recipe.data) for name in (*recipe.data.train, *recipe.data.valid)}
    found = _reuse(folder, settings, inputs)
    if found is not None:
        return found
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as name:
            built = Path(name) / "built"
            built.mkdir()
            _build(built, recipe, settings, inputs, workers, show)
            _publish(built, folder, settings, inputs)
    except OSError as error:
        raise DataError(f"cannot write the prepared corpus {folder}: {error}; see data.prepared") from error
    return _open(folder)


def _settings(recipe: Recipe) -> dict[str, Any]:
    """All that decides what the folder holds, apart from the text itself."""
    names = ("train", "valid", "source_column", "target_column", "split_column", "max_pieces", "max_ratio")
    data = {name: getattr(recipe.data, name) for name in names}
    plain: dict[str, Any] = json.loads(
        json.dumps({"format": FORMAT, "data": data, "tokenizer": asdict(recipe.tokenizer)})
    )
    return plain


def _open(folder: Path) -> Prepared:
    manifest = read_manifest(folder)
    try:
        return Prepared(
            folder,
            load_tokenizer(folder / TOKENIZER),
            PairIds.open(folder, "train"),
            PairIds.open(folder, "valid"),
            Report.from_dict(manifest["report"]),
            {name: stamp["sha256"] for name, stamp in manifest["inputs"].items()},
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{folder} is damaged ({error}); delete it and run `regard prepare` again") from None


def _reuse(folder: Path, settings: dict[str, Any], inputs: dict[str, Path]) -> Prepared | None:
    """The folder as it is, if it was made from these settings and this text."""
    try:
        manifest = read_manifest(folder)
        if manifest["settings"] != settings or manifest["inputs"].keys() != inputs.keys():
            return None
        fresh = {}
        for name, path in inputs.items():
            old, now = manifest["inputs"][name], _stamp(path)
            same = all(old[key] == now[key] for key in now)  # hashing is spared while nothing was touched
            if not same and checksum(path) != old["sha256"]:
                return None
            fresh[name] = {**now, "sha256": old["sha256"]}
        opened = _open(folder)
    except (DataError, KeyError, TypeError, AttributeError):
        return None
    if fresh != manifest["inputs"]:
        with suppress(OSError):  # a folder that cannot be written is only slower to check
            _write_json(folder / MANIFEST, {**manifest, "inputs": fresh})
    return opened


def _stamp(path: Path) -> dict[str, int]:
    status = path.stat()
    return {"bytes": status.st_size, "modified": status.st_mtime_ns}


def _write_json(path: Path, content: object) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False), encoding="utf-8")


def _build(
    folder: Path, recipe: Recipe, settings: dict[str, Any], inputs: dict[str, Path], workers: int | None, show: bool
) -> None:
    next(read_pairs(recipe.data.valid, recipe.data, "valid"))  # a mistake in the small text need not wait for the large
    stamps = {name: {**_stamp(path), "sha256": checksum(path)} for name, path in inputs.items()}
    with progress(show) as bar:
        sample, total = _sample(_pairs(recipe, "train", bar, "Reading", None), recipe.tokenizer.sample)
        task = bar.add_task("Learning pieces", total=None)
        tokenizer = train_tokenizer((s for s, _ in sample), (t for _, t in sample), recipe.tokenizer)
        del sample
        _write_json(folder / TOKENIZER, tokenizer.to_dict())
        kind = smallest_type(max(tokenizer.size("source"), tokenizer.size("target")))
        bar.update(task, total=1, completed=1)
        if workers is None:
            workers = min(os.cpu_count() or 1, 1 + total // WORTH_A_PROCESS)
        splits: dict[str, Any] = {}
        counts: dict[str, Counts] = {}
        for split, processes, size in (("train", workers, total), ("valid", 1, None)):
            cleaner = Cleaner(recipe.data.max_pieces, recipe.data.max_ratio, training=split == "train")
            pairs = _pairs(recipe, split, bar, "Encoding", size)
            chunks = encode_corpus(pairs, folder / TOKENIZER, processes)
            with PairWriter(folder, split, kind) as writer, closing(chunks):
                for kept in map(cleaner.clean, chunks):
                    writer.add(kept.ids, kept.lengths)
                splits[split] = writer.finish()
            counts[split] = cleaner.counts
    report = Report(recipe.data.max_pieces, recipe.data.max_ratio, **counts)
    report.check()
    manifest = {"settings": settings, "inputs": stamps, "splits": splits, "report": asdict(report)}
    _write_json(folder / MANIFEST, manifest)


def _pairs(recipe: Recipe, split: str, bar: Progress, doing: str, total: int | None) -> Iterator[tuple[str, str]]:
    """The pairs of a split, counted by a bar as they pass."""
    files = recipe.data.train if split == "train" else recipe.data.valid
    task = bar.add_task(f"{doing} {split}", total=total)
    number = 0
    for number, pair in enumerate(read_pairs(files, recipe.data, split), start=1):
        yield pair
        if number % 1_000 == 0:
            bar.update(task, completed=number)
    bar.update(task, completed=number, total=number)


def _sample(pairs: Iterable[tuple[str, str]], size: int) -> tuple[list[tuple[str, str]], int]:
    """At most `size` pairs, each equally likely wherever it stands (reservoir sampling), and the count of all."""
    chance = random.Random(0)  # the tokenizer follows from the text alone
    sample: list[tuple[str, str]] = []
    number = 0
    for number, pair in enumerate(pairs, start=1):
        if number <= size:
            sample.append(pair)
        elif (place := int(chance.random() * number)) < size:
            sample[place] = pair
    return sample, number


def _sweep(folder: Path) -> None:
    """Delete what a process that was killed while building this folder left behind a day or longer ago."""
    for left in folder.parent.glob(f".{folder.name}-*"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > 24 * 60 * 60:
                shutil.rmtree(left, ignore_errors=True)


def _publish(built: Path, folder: Path, settings: dict[str, Any], inputs: dict[str, Path]) -> None:
    """Rename the finished folder into place, unless another process was quicker; an outdated one makes way."""
    while True:
        try:
            os.rename(built, folder)
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        if _reuse(folder, settings, inputs) is not None:
            return
        with suppress(FileNotFoundError):  # somebody else may have moved it
            os.rename(folder, Path(tempfile.mkdtemp(dir=built.parent)) / "outdated")
