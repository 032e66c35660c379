"""Conversions are kept where nobody else can put one, whole or not at all, and not without end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from regard.export import conversions
from regard.export.conversions import cache_folder, converted

ONE, OTHER = "1" * 64, "2" * 64
posix = pytest.mark.skipif(sys.platform == "win32", reason="permissions of Windows are others")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def writing(text: str, unchanged: bool = True) -> Callable[[Path], bool]:
    def convert(folder: Path) -> bool:
        (folder / "model.bin").write_text(text)
        return unchanged

    return convert


def read(made_from: str, convert: Callable[[Path], bool]) -> str:
    with converted(made_from, convert) as folder:
        return (folder / "model.bin").read_text()


def never(folder: Path) -> bool:
    raise AssertionError("it was kept")


def test_kept_by_fingerprint(cache: Path) -> None:
    assert read(ONE, writing("one")) == "one"
    assert read(ONE, never) == "one"
    assert read(OTHER, writing("other")) == "other"
    assert (cache.stat().st_mode & 0o077) == 0 or sys.platform == "win32"


def test_a_model_that_changed_meanwhile_is_not_kept(cache: Path) -> None:
    assert read(ONE, writing("between", unchanged=False)) == "between"
    assert read(ONE, writing("one")) == "one"


@pytest.mark.parametrize("damage", ["", "on", "one more"])
def test_what_is_damaged_is_made_again(cache: Path, damage: str) -> None:
    read(ONE, writing("one"))
    [file] = cache.glob("*/model.bin")
    file.write_text(damage)
    assert read(ONE, writing("one")) == "one"
    assert read(ONE, never) == "one"


def test_a_conversion_that_fails_leaves_nothing(cache: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        read(ONE, lambda folder: (_ for _ in ()).throw(KeyboardInterrupt))
    assert list(cache.iterdir()) == []


@posix
def test_a_folder_that_others_may_write_to_is_not_used(cache: Path) -> None:
    cache.mkdir()
    cache.chmod(0o777)
    assert cache_folder() is None
    assert read(ONE, writing("one")) == "one"
    assert list(cache.iterdir()) == []


@posix
def test_a_folder_of_somebody_else_is_not_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert cache_folder() is None


def test_without_a_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REGARD_CACHE", "")
    assert read(ONE, writing("one")) == "one"
    (tmp_path / "file").touch()
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "file"))
    assert read(ONE, writing("one")) == "one"


def test_the_longest_unused_is_forgotten(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversions, "MOST", 3)
    for number in range(5):
        read(str(number) * 64, writing("it"))
        for age, folder in enumerate(sorted(cache.iterdir(), key=lambda each: -each.stat().st_mtime), start=1):
            os.utime(folder, (1e9 - age, 1e9 - age))
        read("0" * 64, writing("it"))  # used all the time
    assert {each.name[0] for each in cache.iterdir()} == {"0", "4", "3"}
