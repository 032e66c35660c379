"""`regard prepare`."""

from __future__ import annotations

import re
from pathlib import Path

from tests.commands.calling import prepared, succeed


def test_prepare_reports_and_is_done_once(folder: Path) -> None:
    first = succeed("prepare", folder / "toy.toml", *prepared(folder))
    assert re.search(r"train: \d+ of 400 pairs kept", first.out)
    place = Path(first.lines[-1].removeprefix("ready in "))
    before = {path.name: path.stat().st_mtime_ns for path in place.iterdir()}
    assert succeed("prepare", folder / "toy.toml", *prepared(folder)).out == first.out
    assert {path.name: path.stat().st_mtime_ns for path in place.iterdir()} == before


def test_prepare_notices_damage(folder: Path, tmp_path: Path) -> None:
    command = ("prepare", folder / "toy.toml", "--set", f"data.prepared={tmp_path}")
    ids = Path(succeed(*command).lines[-1].removeprefix("ready in ")) / "train.ids"
    whole = ids.read_bytes()
    ids.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])  # the size stays, so only the checksum can tell
    assert "built again: " in succeed(*command).out
    assert ids.read_bytes() == whole
