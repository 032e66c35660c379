"""`regard prepare`."""

from __future__ import annotations

import re
from pathlib import Path

from tests.commands.calling import fail, prepared, succeed


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
    content = bytearray(ids.read_bytes())
    content[0] ^= 1  # the size stays, so only the checksum can tell
    ids.write_bytes(bytes(content))
    assert "changed or damaged" in fail(*command)
