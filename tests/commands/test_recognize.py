"""`regard recognize`: files, folders and lists of them; what cannot be read stops none of the others."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

import regard
from regard.cli import load_verbs
from tests.tasks.shapes import LABELS, shapes, untrained, write_folders


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(untrained(tmp_path_factory.mktemp("pictures") / "model.safetensors"))


def test_a_folder_a_list_and_a_broken_file(model: str, tmp_path: Path) -> None:
    folder = write_folders(tmp_path / "pictures", 12, 5)
    (folder / "bar" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n nothing")
    answered = CliRunner().invoke(load_verbs(), ["recognize", model, str(folder), "--json"])
    lines = [json.loads(line) for line in answered.stdout.splitlines()]
    assert answered.exit_code == 1  # one of them could not be read
    assert len(lines) == 13
    assert sum("error" in each for each in lines) == 1
    assert "broken.png" in answered.stderr
    read = [each for each in lines if "label" in each]
    listed = "".join(f"{each['file']}\n" for each in read)
    plain = CliRunner().invoke(load_verbs(), ["recognize", model], input=listed)
    assert plain.exit_code == 0, plain.output
    assert [line.split("\t")[:2] for line in plain.stdout.splitlines()] == [
        [each["file"], each["label"]] for each in read
    ]
    found = regard.evaluate(model, file=folder)["pictures"].to_dict()
    assert found["empty"] == 1
    assert found["scores"][0]["pictures"] == 12


def test_every_label(model: str, tmp_path: Path) -> None:
    folder = write_folders(tmp_path / "pictures", 1, 5)
    answered = CliRunner().invoke(load_verbs(), ["recognize", model, str(folder / "bar" / "0000.png"), "--all"])
    name, *pairs = answered.stdout.rstrip("\n").split("\t")
    assert name.endswith("0000.png")
    assert sorted(pairs[::2]) == list(LABELS)
    assert sum(map(float, pairs[1::2])) == pytest.approx(1, abs=1e-3)


def test_files_with_any_name_get_one_line(model: str, tmp_path: Path) -> None:
    """Tabs, ends of lines and what a terminal obeys are shown; names that are no text are found, also in a list."""
    picture = write_folders(tmp_path / "pictures", 1, 5) / "bar" / "0000.png"
    names = ["tab\there.png", "two\nlines.png", "\x1b[2Jclear.png", "신발.png"]
    if sys.platform == "linux":
        names.append(os.fsdecode(b"\xff\xfe.png"))
    files = [tmp_path / name for name in names]
    for file in files:
        shutil.copy(picture, file)
    answered = CliRunner().invoke(load_verbs(), ["recognize", model, *map(str, files)])
    assert answered.exit_code == 0, answered.output
    lines = answered.stdout.splitlines()
    assert [len(line.split("\t")) for line in lines] == [3] * len(files)
    assert "tab\\there.png\t" in lines[0]
    assert "two\\nlines.png\t" in lines[1]
    assert "\x1b" not in answered.stdout
    listed = b"".join(os.fsencode(file) + b"\r\n\n" for file in (files[0], *files[2:]))
    assert CliRunner().invoke(load_verbs(), ["recognize", model], input=listed).stdout.splitlines() == [
        lines[0],
        *lines[2:],
    ]


def test_what_is_no_single_picture_is_told(model: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    frames = [Image.fromarray(picture) for picture, _ in shapes(2, 8)]
    frames[0].save(tmp_path / "moving.webp", save_all=True, append_images=frames[1:], lossless=True)
    answered = CliRunner().invoke(
        load_verbs(), ["recognize", model, str(tmp_path / "empty"), str(tmp_path / "moving.webp")]
    )
    first, second = answered.stdout.splitlines()
    assert first == f"{tmp_path / 'empty'}\t\t"
    assert "empty is a folder, without pictures (.png" in answered.stderr
    assert second.startswith(f"{tmp_path / 'moving.webp'}\t")
    assert "moving.webp is animated; only its first picture was looked at" in answered.stderr
    assert answered.exit_code == 1
