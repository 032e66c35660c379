"""Files that are written whole or not at all, in folders that are one process's own."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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


PATH = re.compile(r"[^\s/]{0,255}(?:/[^\s/]{1,255}){1,20}")
FILE_NAME = re.compile(
    r"[^\s<>@]{1,255}\.(?:txt|tsv|csv|jsonl?|srt|vtt|md|html?|xml|log|pdf|docx?|odt|gz|xz|bz2|zip|de|en|fr|ko)",
    re.IGNORECASE,
)


def is_file(text: str) -> bool:
    """Whether a text is the name of a file; most texts are longer than any name may be, or hold what none may."""
    with suppress(OSError, ValueError):
        return Path(text).is_file()
    return False


def about_file(text: str) -> str:
    """What to say of a text that may have been meant as a file: it is the name of one, or looks like that of one; mostly nothing."""
    if is_file(text):
        return f"{text!r} is read as text, though there is a file of that name"
    in_a_folder = PATH.fullmatch(text) is not None and Path(text).parent.is_dir()
    if in_a_folder or (FILE_NAME.fullmatch(text) and "://" not in text):
        return f"{text!r} is read as text: there is no file of that name"
    return ""


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


class GrowingFile:
    """Lines that are written one after the other into `NAME.part`, which becomes the file when all are there.

    Whoever was interrupted goes on behind the last whole line, if `made_by` is still what it was: that is kept beside it.
    """

    BLOCK = 2**20

    def __init__(self, path: Path, made_by: Mapping[str, Any]) -> None:
        self.path = path
        self.part, self.notes = (path.with_name(f"{path.name}{end}") for end in (".part", ".part.json"))
        self.made_by: dict[str, Any] = json.loads(json.dumps(made_by))
        if path.exists():
            raise UsageError(f"{path} is there already; delete it, or name another file")
        self._lock = FileLock(path.with_name(f"{path.name}.part.lock"), timeout=0)

    def __enter__(self) -> GrowingFile:
        try:
            self._lock.acquire()
        except Timeout:
            raise UsageError(f"another process writes {self.part}; wait for it, or name another file") from None
        except (OSError, NotImplementedError):
            pass  # what cannot be written is named below
        try:
            self._require_same()
            self._file = self.part.open("r+b" if self.part.exists() else "w+b")
            self.lines = self._cut_to_whole_lines()
            self.notes.write_text(json.dumps(self.made_by, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            self._release()
            raise UsageError(f"cannot write {self.part}: {error.strerror}") from None
        except BaseException:
            self._release()
            raise
        return self

    def _require_same(self) -> None:
        if not self.part.exists():
            return
        try:
            before = dict(json.loads(self.notes.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            raise UsageError(f"{self.part} is there, but not what made it ({self.notes}); delete it") from None
        if before != self.made_by:
            other = [name for name in self.made_by if before.get(name) != self.made_by[name]]
            raise UsageError(
                f"{self.part} was begun with another {', '.join(other) or 'setting'}; delete it to begin anew, or name another file"
            )

    def _cut_to_whole_lines(self) -> int:
        """How many there are; what was written of a further one is forgotten."""
        count = end = place = 0
        for block in iter(lambda: self._file.read(self.BLOCK), b""):
            count += block.count(b"\n")
            end = place + block.rfind(b"\n") + 1 if b"\n" in block else end
            place += len(block)
        self._file.truncate(end)
        self._file.seek(end)
        return count

    def add(self, line: str) -> None:
        with self._goes_on():
            self._file.write(f"{line}\n".encode())
            self._file.flush()

    def finish(self) -> None:
        """Give it its name."""
        with self._goes_on():
            os.fsync(self._file.fileno())
            self._file.close()
        self.part.replace(self.path)
        self.notes.unlink(missing_ok=True)
        sync_folder(self.path.parent)

    def __exit__(self, *error: object) -> None:
        if not self._file.closed:
            with suppress(OSError):  # of a full disk, which was told already
                self._file.close()
        self._release()

    @contextmanager
    def _goes_on(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageError(f"cannot write {self.part}: {error.strerror}. The same command goes on.") from None

    def _release(self) -> None:
        self._lock.release()
        with suppress(OSError):
            Path(self._lock.lock_file).unlink()


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
