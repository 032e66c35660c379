"""Models that were converted before, in this person's own cache folder and nowhere else.

What lies beside a model file came with it, maybe from a stranger, and an engine in C++ reads its files without mistrust: so
nothing there is ever taken for a conversion. One is known by the fingerprint of its model file, appears when it is whole,
and is compared with its checksums before it is used.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

CONVERSION = 1  # grows when the same model would be converted to other files
CHECKSUMS = "checksums.json"
MOST, LARGEST = 16, 4 << 30  # conversions, and bytes of them, that are kept; the longest unused go first
UNFINISHED = ".tmp"
FORGOTTEN = 3_600  # seconds after which what is unfinished was given up


def cache_folder() -> Path | None:
    """This person's, made if need be: REGARD_CACHE, else the system's place for such; None if there is none to be trusted.

    An empty REGARD_CACHE asks for none. A folder that others own or may write to could hold anything.
    """
    folder = Path(named) if (named := os.environ.get("REGARD_CACHE")) else _usual_folder()
    if named == "" or folder is None:
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.stat()
    except OSError:
        return None
    if sys.platform != "win32" and (about.st_uid != os.geteuid() or about.st_mode & 0o022):
        return None
    return folder


def _usual_folder() -> Path | None:
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "regard/cache"
        if sys.platform == "darwin":
            return Path.home() / "Library/Caches/regard"
        named = os.environ.get("XDG_CACHE_HOME", "")
        return (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "regard"
    except RuntimeError:  # nobody's home
        return None


def find_kept(made_from: str) -> Path | None:
    """The conversion that was kept of a model of that fingerprint, if it is whole."""
    cache = cache_folder()
    kept = None if cache is None else _place(cache, made_from)
    if kept is None or not is_whole(kept):
        return None
    with suppress(OSError):
        os.utime(kept)  # used now
    return kept


def _place(cache: Path, made_from: str) -> Path:
    return cache / f"{made_from[:40]}-{CONVERSION}"


@contextmanager
def converted(made_from: str, convert: Callable[[Path], bool]) -> Iterator[Path]:
    """A folder to load the conversion of a model from: the one that was kept, or one that `convert` writes now.

    `convert` tells whether the model is still the one of that fingerprint; only then it is kept, if there is room for it.
    """
    if (found := find_kept(made_from)) is not None:
        yield found
        return
    cache = cache_folder()
    kept = None if cache is None else _place(cache, made_from)
    try:
        temporary = Path(mkdtemp(suffix=UNFINISHED, dir=cache))
    except OSError:  # a full disk, a cache on a read-only one
        cache, temporary = None, Path(mkdtemp(prefix="regard-"))
    try:
        if convert(temporary) and cache is not None and kept is not None:
            temporary = _keep(temporary, kept)
            _tidy(cache, kept)
        yield temporary
    finally:
        if temporary != kept:
            shutil.rmtree(temporary, ignore_errors=True)


def is_whole(folder: Path) -> bool:
    """Whether a conversion has all its files as they were written."""
    try:
        wanted = json.loads((folder / CHECKSUMS).read_text(encoding="utf-8"))
        return bool(wanted == _checksums(folder))
    except (OSError, ValueError, RecursionError):
        return False


def _checksums(folder: Path) -> dict[str, int]:
    files = sorted(each for each in folder.iterdir() if each.name != CHECKSUMS)
    return {each.name: zlib.crc32(each.read_bytes()) for each in files}


def _keep(new: Path, kept: Path) -> Path:
    """Where the conversion is from now on; whoever was quicker wins, since both wrote the same."""
    try:
        (new / CHECKSUMS).write_text(json.dumps(_checksums(new)), encoding="utf-8")
        if kept.exists() and not is_whole(kept):
            shutil.rmtree(kept)
        new.rename(kept)
    except OSError:  # it is there, or cannot be: this one serves for now
        return new
    return kept


def _tidy(cache: Path, newest: Path) -> None:
    """Forget the longest unused, and what was never finished."""
    with suppress(OSError):
        found = sorted(cache.iterdir(), key=lambda each: -each.stat().st_mtime)
        count = size = 0
        for each in found:
            if not each.is_dir() or each == newest:
                continue
            count, size = count + 1, size + sum(file.stat().st_size for file in each.iterdir())
            old = time.time() - each.stat().st_mtime > FORGOTTEN
            if (old and each.name.endswith(UNFINISHED)) or count >= MOST or size > LARGEST:
                shutil.rmtree(each, ignore_errors=True)
