"""Files that are written whole or not at all, in folders that are one process's own."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from regard.errors import DataError, UsageError


def below(folder: Path, path: str) -> Path:
    """The file of that name below a folder, links followed; what leads out of the folder is refused."""
    try:
        inside = folder.resolve()
        found = (inside / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # links in a circle, a name that no system can hold
        raise DataError(f"{path!r} names no file below {folder}: {error}") from None
    if found == inside or not found.is_relative_to(inside):
        raise DataError(f"{path!r} leads out of the data folder {folder}, to {found}; it was left alone")
    return found


def kind_of(path: Path) -> str:
    """What a path leads to that is no file, for a message: `a folder`, `a link to ../x, where nothing is`."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return f"a link to {path.readlink()}, where nothing is" if path.is_symlink() else "not there"
    kinds = {
        stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO, which can be read only once", stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
    }  # fmt: skip
    return kinds.get(stat.S_IFMT(mode), "no file")


@contextmanager
def replacing(path: Path, previous: Path | None = None) -> Iterator[Path]:
    """Write to the path that is given; when all went well it takes the place of `path`, and what was there that of `previous`.

    Whoever reads `path`, also after a crash or on a full disk, finds the old file or the new one, whole; `previous` is
    another file at every moment, so that no single damage reaches both.
    """
    temporary, kept = (path.with_name(f"{path.name}.{part}{os.getpid()}.tmp") for part in ("", "0"))
    try:
        temporary.touch()
        permissions = temporary.stat().st_mode  # what this person's files have; safetensors would let nobody else read
        yield temporary
        temporary.chmod(permissions)
        with temporary.open("r+b") as file:  # Windows syncs only what may be written
            os.fsync(file.fileno())
        if previous is not None and path.is_file():
            try:
                os.link(path, kept)
            except OSError:  # a file system without links: for a moment there is only the previous one
                path.replace(previous)
        temporary.replace(path)
        if previous is not None and kept.exists():
            kept.replace(previous)
    finally:
        for left in (temporary, kept):
            left.unlink(missing_ok=True)
    sync_folder(path.parent)


def remove_leftovers(folder: Path) -> None:
    """Delete what a process that was killed while writing left behind."""
    for leftover in folder.glob("*.[0-9]*.tmp"):
        with suppress(OSError):  # it is in nobody's way; what cannot be written, others will name
            leftover.unlink()


def sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # pragma: no cover
        return
    with suppress(OSError):  # a file system that syncs no folders
        os.fsync(handle)
    os.close(handle)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Two trainings in one folder would overwrite each other's checkpoints. A killed one holds nothing."""
    lock = FileLock(folder / "lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise UsageError(
            f"another training is at work in {folder}; wait for it, stop it, or choose another folder with --run"
        ) from None
    except (OSError, NotImplementedError):
        pass  # a full disk, which others will name, or a file system that knows no locks
    try:
        yield
    finally:
        lock.release()
