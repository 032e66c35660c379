"""`regard paint`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import regard
from tests.commands.calling import fail, succeed
from tests.tasks.test_painting import codes_recipe, painter_recipe, write_clothes

pytest.importorskip("PIL")


@pytest.fixture(scope="module")
def painter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clothes")
    write_clothes(folder, "train", 100, 0)
    write_clothes(folder, "test", 20, 1)
    codes = regard.train(codes_recipe(folder), run=folder / "codes", show=False).folder
    return regard.train(painter_recipe(folder, codes), run=folder / "painter", show=False).folder


def test_one_picture_or_a_sheet(painter: Path, tmp_path: Path) -> None:
    from PIL import Image

    output = tmp_path / "sheet.png"
    caption = "a red boot left of a blue bag"
    assert succeed("paint", painter, caption, "--count", "5", "-o", output, "--scale", "2").out.strip() == str(output)
    with Image.open(output) as sheet:
        assert sheet.size == (4 * 66 + 2, 2 * 66 + 2)
    told = json.loads(succeed("paint", painter, caption, "-o", output, "--seed", "7", "--json").out)
    assert (told["caption"], told["seed"], told["file"]) == (caption, 7, str(output))
    with Image.open(output) as one:
        assert one.size == (256, 256)


def test_mistakes(painter: Path, tmp_path: Path) -> None:
    assert "let the name" in fail("paint", painter, "a bag", "-o", tmp_path / "x.jpg")
    assert "cannot paint: its task is 'translation'" in fail("paint", "demo", "a bag", "-o", tmp_path / "x.png")
    assert "guidance" in fail("paint", painter, "a bag", "--guidance", "1000", "-o", tmp_path / "x.png")
