"""`regard recognize`: files, folders and lists of them; what cannot be read stops none of the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import regard
from regard.cli import load_verbs
from tests.tasks.shapes import LABELS, untrained, write_folders


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
