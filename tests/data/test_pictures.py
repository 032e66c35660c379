"""Labelled pictures of every kind → pixels: what is read, what is changed and counted, and what is said of the rest."""

from __future__ import annotations

import io
import os
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from regard import config
from regard.config import recipes
from regard.data.images import see
from regard.data.pictures import read_split
from regard.data.prepare import Prepared
from regard.errors import ConfigError, DataError
from regard.tasks.registry import prepare
from tests.tasks.shapes import LABELS, shapes, shapes_recipe, write_folders, write_idx

GREY = config.LabelledPictures(size=8, colour=False)
COLOUR = config.LabelledPictures(size=8)


def prepared_from(folder: Path, **data: object) -> Prepared:
    given = shapes_recipe(folder)
    given["data"] = {**given["data"], "names": [], "test": {}, **data}  # type: ignore[dict-item]
    return prepare(given, show=False)


def test_three_forms_hold_the_same(tmp_path: Path) -> None:
    """A folder per class, a table and IDX files of the same pictures become the same pixels, but for their order."""
    write_idx(tmp_path, "train", 30, 1)
    folder = write_folders(tmp_path / "train", 30, 1)
    rows = [f"train/{label}/{number:04}.png,{label}\n" for number, (_, label) in enumerate(shapes(30, 1))]
    (tmp_path / "all.csv").write_text("".join(["path,class\n", *rows]))
    found = [
        prepared_from(tmp_path, train=files, **more)
        for files, more in (
            (["train-images", "train-labels"], {"names": list(LABELS)}),
            ([folder.name], {}),
            (["all.csv"], {"picture": "path", "label": "class"}),
        )
    ]
    assert all(each.assets.labels == LABELS for each in found)
    assert found[0].assets.mean == found[2].assets.mean
    together = [
        sorted(
            (bytes(pixels.tobytes()), int(label))
            for part in (each.train, each.valid)
            for pixels, label in zip(part.pixels, part.labels, strict=True)
        )
        for each in found
    ]
    assert together[0] == together[1] == together[2]
    assert [len(each.valid) for each in found] == [len(found[0].valid)] * 3


def test_a_new_picture_in_a_folder_is_noticed(tmp_path: Path) -> None:
    write_folders(tmp_path / "train", 30, 1)
    first = prepared_from(tmp_path, train=["train"])
    again = prepared_from(tmp_path, train=["train"])
    assert first.checksums == again.checksums
    Image.fromarray(shapes(1, 9)[0][0]).save(tmp_path / "train" / "bar" / "new.png")
    more = prepared_from(tmp_path, train=["train"])
    assert more.checksums != first.checksums
    assert len(more.train) + len(more.valid) == 31


def test_a_picture_that_moved_to_another_label_is_noticed(tmp_path: Path) -> None:
    """It keeps its size and its date."""
    folder = write_folders(tmp_path / "train", 30, 1)
    first = prepared_from(tmp_path, train=["train"])
    (folder / "bar" / "0000.png").rename(folder / "ring" / "0000.png")
    moved = prepared_from(tmp_path, train=["train"])
    assert moved.checksums != first.checksums
    assert moved.report.train.labels["ring"] + moved.report.valid.labels["ring"] == 11
    (folder / "ring").rename(folder / "circle")
    assert "circle" in prepared_from(tmp_path, train=["train"]).report.labels


def test_what_is_wrong_is_counted_and_named(tmp_path: Path) -> None:
    folder = write_folders(tmp_path / "train", 30, 1)
    (folder / "bar" / "empty.png").write_bytes(b"")
    (folder / "bar" / "text.jpg").write_text("no picture")
    whole = (folder / "ring" / "0001.png").read_bytes()
    (folder / "ring" / "cut.png").write_bytes(whole[: len(whole) // 2])
    frames = [Image.fromarray(picture) for picture, _ in shapes(3, 8)]
    frames[0].save(folder / "ring" / "moving.webp", save_all=True, append_images=frames[1:], lossless=True)
    (folder / "lonely").mkdir()
    Image.fromarray(np.zeros((20, 30, 3), dtype=np.uint8)).save(folder / "lonely" / "only.jpg")
    report = prepared_from(tmp_path, train=["train"]).report
    told = "\n".join(report.lines())
    assert report.train.broken + report.valid.broken == 3
    assert "empty.png is empty" in told
    assert "text.jpg is no PNG, JPEG or WebP" in told
    assert "cut.png is damaged or cut short" in told
    assert "1 are animated" in told
    assert "moving.webp" in told
    assert "only one training picture: lonely" in told
    assert "not in the validation pictures: " in told


def test_a_label_without_a_whole_picture_is_named(tmp_path: Path) -> None:
    folder = write_folders(tmp_path / "train", 30, 1)
    (folder / "ghost").mkdir()
    for number in range(3):
        (folder / "ghost" / f"{number}.png").write_bytes(b"")
    told = prepared_from(tmp_path, train=["train"]).report.lines()
    assert "every training picture is broken: ghost; these labels cannot be learned" in told


def test_a_folder_without_a_picture_is_named(tmp_path: Path) -> None:
    folder = write_folders(tmp_path / "train", 30, 1)
    (folder / "ghost").mkdir()
    (folder / "ghost" / "notes.txt").write_text("no picture")
    report = prepared_from(tmp_path, train=["train"]).report
    assert "ghost" not in report.labels
    assert "no picture in the folders of: ghost; these labels are not learned" in report.lines()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
def test_names_that_are_no_text(tmp_path: Path) -> None:
    folder = write_folders(tmp_path / "train", 30, 1)
    (folder / "bar" / "0000.png").rename(folder / "bar" / os.fsdecode(b"\xff\xfe.png"))
    (folder / "ring" / "0001.png").write_bytes(b"")
    (folder / "ring" / "0001.png").rename(folder / "ring" / os.fsdecode(b"\xfd.png"))
    first = prepared_from(tmp_path, train=["train"])
    assert first.report.train.kept + first.report.valid.kept == 29
    assert prepared_from(tmp_path, train=["train"]).report == first.report, "as it was written down"
    (folder / "bar").rename(folder / os.fsdecode(b"\xfc"))
    with pytest.raises(DataError, match="should name a label, but its name is no UTF-8; rename it"):
        prepared_from(tmp_path, train=["train"])


def test_a_label_that_only_the_validation_has_is_named_with_its_file(tmp_path: Path) -> None:
    write_folders(tmp_path / "train", 30, 1)
    other = write_folders(tmp_path / "valid", 6, 2)
    (other / "bar").rename(other / "bars")
    with pytest.raises(DataError, match=r"valid/bars/0000\.png has the label 'bars', which data\.train lacks.*'bar'"):
        prepared_from(tmp_path, train=["train"], valid=["valid"])


def test_a_table_leads_out_of_no_folder(tmp_path: Path) -> None:
    (tmp_path / "t.tsv").write_text("../../etc/passwd\tcat\n")
    data = config.LabelledPictures(train=("t.tsv",), folder=str(tmp_path))
    with pytest.raises(DataError, match=r"line 1: .*leads out"):
        list(read_split(data, "train"))
    (tmp_path / "t.tsv").write_text("a.png\t \n")
    with pytest.raises(DataError, match="line 1 has no label"):
        list(read_split(data, "train"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cut short"),
        (struct.pack(">HBB3I", 0, 8, 3, 5, 12, 12), "5 pictures, but .* 30 labels"),
        (struct.pack(">HBB3I", 0, 8, 3, 30, 12, 12) + bytes(200), "is cut short"),
        (struct.pack(">HBB3I", 0, 8, 3, 30, 2**31, 2**31), "says that its pictures are"),
        (struct.pack(">HBB3I", 0, 13, 3, 30, 12, 12), "no IDX file of pictures"),
        (struct.pack(">HBBI", 0, 8, 1, 30) + bytes(30), "pictures come first"),
    ],
)
def test_broken_idx_files_are_named(content: bytes, message: str, tmp_path: Path) -> None:
    write_idx(tmp_path, "train", 30, 1)
    (tmp_path / "train-images").write_bytes(content)
    data = config.LabelledPictures(train=("train-images", "train-labels"), folder=str(tmp_path))
    with pytest.raises(DataError, match=message) as raised:
        list(read_split(data, "train"))
    assert "train-images" in str(raised.value)


def test_a_bomb_is_refused_before_it_is_decoded() -> None:
    """300 bytes that claim 4 billion pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    for side in (8_000, 12_000, 65_000):
        head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
        bomb = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(1_000))) + chunk(b"IEND", b"")
        with pytest.raises(DataError, match=r"pixels"):
            see(bomb, GREY)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "I"])
def test_every_kind_of_picture_becomes_bytes(mode: str) -> None:
    sixteen = mode in ("I;16", "I")
    image = Image.fromarray(np.full((8, 8), 40_000, dtype=np.uint16)) if sixteen else Image.new("RGB", (8, 8), "white")
    image = image if mode == "I;16" else image.convert(mode)
    for data in (GREY, COLOUR):
        pixels = see(image, data).pixels
        assert pixels.shape == (8, 8, data.channels)
        assert np.abs(pixels.astype(int) - (40_000 >> 8 if sixteen else 255)).max() <= 1


@pytest.mark.parametrize("colour", [True, False])
def test_files_of_print_and_science_are_read(colour: bool) -> None:
    """Four inks, 16 bits, and a palette of which one colour is glass."""
    data = config.LabelledPictures(size=8, colour=colour)
    ink, deep, glass = io.BytesIO(), io.BytesIO(), io.BytesIO()
    Image.new("RGB", (8, 8), (200, 200, 200)).convert("CMYK").save(ink, "JPEG", quality=95)
    assert np.abs(see(ink.getvalue(), data).pixels.astype(int) - 200).max() <= 6
    Image.fromarray(np.full((8, 8), 40_000, dtype=np.uint16)).save(deep, "PNG")
    assert (see(deep.getvalue(), data).pixels == 40_000 >> 8).all()
    palette = Image.new("P", (8, 8), 1)
    palette.putpalette([0, 0, 0, 50, 50, 50])
    palette.paste(0, (0, 0, 8, 4))
    palette.save(glass, "PNG", transparency=0)
    seen = see(glass.getvalue(), data)
    assert seen.transparent
    assert (seen.pixels[:4] == 255).all()
    assert (seen.pixels[4:] == 50).all()


def test_what_is_transparent_lies_on_white() -> None:
    seen = see(Image.new("RGBA", (8, 8), (0, 0, 0, 0)), GREY)
    assert seen.transparent
    assert (seen.pixels == 255).all()


@pytest.mark.parametrize(("fit", "left", "middle"), [("crop", 200, 200), ("pad", 200, 200), ("stretch", 0, 200)])
def test_what_is_no_square_becomes_one_by_the_stated_rule(fit: str, left: int, middle: int) -> None:
    wide = np.zeros((8, 24), dtype=np.uint8)
    wide[:, 8:16] = 200
    data = config.LabelledPictures(size=24, colour=False, fit=fit)
    seen = see(wide, data)
    assert seen.cropped
    assert seen.resized
    pixels = seen.pixels[:, :, 0].astype(int)
    assert abs(pixels[12, 12] - middle) < 5
    if fit == "pad":
        assert pixels[0].max() < 5  # black above
        assert pixels[12, 0] < 5
    else:
        assert abs(pixels[12, 1] - left) < 30


def test_a_camera_held_upright(tmp_path: Path) -> None:
    """EXIF says how the camera was held."""
    image = Image.new("RGB", (16, 8), "white")
    image.paste("black", (0, 0, 8, 8))
    exif = Image.Exif()
    exif[0x0112] = 6  # turn by 90° clockwise
    held = io.BytesIO()
    image.save(held, "JPEG", exif=exif, quality=95)
    pixels = see(held.getvalue(), config.LabelledPictures(size=16, colour=False, fit="stretch")).pixels[:, :, 0]
    assert pixels[1].max() < 60  # what was left is above now
    assert pixels[-2].min() > 190


def test_hostile_bytes_are_no_crash() -> None:
    chance = np.random.default_rng(1)
    for format in ("PNG", "JPEG", "WEBP"):
        held = io.BytesIO()
        Image.fromarray(chance.integers(0, 255, (20, 20, 3), dtype=np.uint8)).save(held, format)
        for _ in range(40):
            damaged = bytearray(held.getvalue())
            for place in chance.integers(0, len(damaged), 4):
                damaged[place] = chance.integers(256)
            try:
                found = see(bytes(damaged), COLOUR).pixels.shape
            except DataError:  # and nothing else
                continue
            assert found == (8, 8, 3)


def test_recipes_that_cannot_be() -> None:
    for settings, message in (
        ({"data": {"size": 30}, "model": {"patch": 4}}, "model.patch = 4 does not divide data.size = 30"),
        ({"training": {"crop": 40}}, "out of sight"),
        ({"data": {"names": ["a", "a"]}}, "calls two labels the same"),
        ({"data": {"size": 1_000}, "model": {"patch": 2}}, "model.max_positions of at least 250001"),
    ):
        given = {"task": "image-classification", **settings}
        given["data"] = {"train": ["x"], **given.get("data", {})}
        with pytest.raises(ConfigError, match=message):
            recipes.read(given)


def test_loose_pictures_are_in_no_class(tmp_path: Path) -> None:
    Image.new("L", (4, 4)).save(tmp_path / "a.png")
    data = config.LabelledPictures(train=(tmp_path.name,), folder=os.fspath(tmp_path.parent))
    with pytest.raises(DataError, match="1 pictures in it are in no folder"):
        list(read_split(data, "train"))


def test_a_folder_passes_a_dry_run(tmp_path: Path) -> None:
    from regard import dry_run

    write_folders(tmp_path / "train", 9, 1)
    given = shapes_recipe(tmp_path)
    given["data"] = {**given["data"], "train": ["train"], "test": {}, "names": []}
    assert dry_run(given).mistakes == ()
    given["data"]["train"] = ["trains"]
    assert "no file" in dry_run(given).mistakes[0]
