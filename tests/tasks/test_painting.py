"""Both stages of painting, from files to pictures: trained, resumed, stored, evaluated, painted."""

from __future__ import annotations

import logging
import struct
from pathlib import Path

import numpy as np
import pytest

import regard
from regard.checkpoint import read
from regard.errors import ConfigError, DataError, RegardError, UsageError
from tests.commands.calling import succeed

pytest.importorskip("PIL")


def write_clothes(folder: Path, name: str, count: int, seed: int) -> list[str]:
    """As Fashion-MNIST has them: bright blocks, whose place tells the kind."""
    chance = np.random.default_rng(seed)
    pictures = np.zeros((count, 28, 28), dtype=np.uint8)
    for number in range(count):
        kind = number % 10
        pictures[number, 2 * kind : 2 * kind + 8, 4:24] = chance.integers(150, 256)
    files = [f"{name}-pictures", f"{name}-labels"]
    (folder / files[0]).write_bytes(struct.pack(">HBBIII", 0, 8, 3, count, 28, 28) + pictures.tobytes())
    (folder / files[1]).write_bytes(
        struct.pack(">HBBI", 0, 8, 1, count) + bytes(number % 10 for number in range(count))
    )
    return files


def codes_recipe(folder: Path) -> dict[str, object]:
    return {
        "name": "codes", "task": "image-codes",
        "data": {
            "train": ["train-pictures", "train-labels"], "folder": str(folder), "prepared": str(folder / "prepared"),
            "scenes": 64, "hold_out": 0.2, "test": {"test": ["test-pictures", "test-labels"]},
        },
        "model": {"width": 8, "blocks": 0, "grid": 4, "levels": [4, 4]},
        "training": {"updates": 8, "validate_every": 4, "batch_tokens": 128, "threads": 1},
    }  # fmt: skip


def painter_recipe(folder: Path, codes: Path) -> dict[str, object]:
    recipe = codes_recipe(folder)
    return {
        **recipe, "name": "painter", "task": "text-to-image",
        "data": {**recipe["data"], "codes": str(codes)},  # type: ignore[dict-item]
        "tokenizer": {"vocabulary": 330},
        "model": {"width": 16, "feed_forward": 32, "heads": 2, "layers": 1, "dropout": 0.1, "max_positions": 32},
        "training": {"updates": 6, "validate_every": 3, "batch_tokens": 160, "threads": 1},
    }  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clothes")
    write_clothes(folder, "train", 100, 0)
    write_clothes(folder, "test", 20, 1)
    return folder


@pytest.fixture(scope="module")
def codes(folder: Path) -> Path:
    return regard.train(codes_recipe(folder), run=folder / "codes", show=False).folder


@pytest.fixture(scope="module")
def painter(folder: Path, codes: Path) -> Path:
    return regard.train(painter_recipe(folder, codes), run=folder / "painter", show=False).folder


def test_the_first_stage(codes: Path) -> None:
    coder = regard.load(codes)
    pictures = [np.full((32, 32, 3), value, dtype=np.uint8) for value in (0, 128, 255)]
    found = coder.encode(pictures)
    assert found.shape == (3, 4, 4)
    assert np.array_equal(coder.reconstruct(pictures), coder.decode(found))
    assert np.array_equal(coder.encode(pictures[1:2]), found[1:2])
    with pytest.raises(UsageError, match="numbers from 0 to 15 in squares of 4 × 4"):
        coder.decode(np.full((1, 4, 4), 16))
    assert "PSNR" in succeed("evaluate", codes).out


def test_a_painter_that_stopped_goes_on_to_the_same_weights(folder: Path, codes: Path, painter: Path) -> None:
    for updates in (3, 6):
        regard.train(
            painter_recipe(folder, codes), run=folder / "again", overrides=[f"training.updates={updates}"], show=False
        )
    one, other = (read(each / "checkpoints" / "last.safetensors")[0] for each in (painter, folder / "again"))
    assert all(one[name].equal(other[name]) for name in one if name.startswith("model."))


def test_captions_that_are_cut_are_told_of(
    folder: Path, codes: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """330 tokens spell words letter by letter."""
    logging.getLogger("regard.notes").addHandler(caplog.handler)
    try:
        for positions, told in ((12, True), (60, False)):
            caplog.clear()
            regard.train(
                painter_recipe(folder, codes), run=tmp_path / str(positions), show=False,
                overrides=[f"model.max_positions={positions}", "training.updates=1"],
            )  # fmt: skip
            assert ("captions are longer than the model reads" in caplog.text) is told
    finally:
        logging.getLogger("regard.notes").removeHandler(caplog.handler)


def test_one_file_paints(painter: Path, tmp_path: Path) -> None:
    """Also where the first stage is no more; alone as together, and the same from the same seed."""
    alone = tmp_path / "model.safetensors"
    alone.write_bytes((painter / "model.safetensors").read_bytes())
    model = regard.load(alone)
    first = model.paint("a red boot", count=3, seed=5)
    assert [each.seed for each in first] == [5, 6, 7]
    assert first[0].pixels.shape == (32, 32, 3)
    again = model.paint(["a blue bag", "a red boot"], seed=[0, 6])
    assert np.array_equal(again[1].codes, first[1].codes)
    assert np.array_equal(again[1].pixels, first[1].pixels)
    assert model.paint("빨간 부츠 " * 40).cut


def test_what_it_came_to(painter: Path) -> None:
    seen, unseen = regard.evaluate(painter).results
    assert "bits per code with the caption" in seen.lines()[0]
    assert unseen.name == "test (unseen pairs)"
    assert {"attention", "leaving out"} == set(seen.pointing)
    assert 0 < seen.told < 20


def test_the_page(painter: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    seen = regard.view(painter, "a red boot left of a blue bag", output=page)
    assert seen.words == ["a", "red", "boot", "left", "of", "a", "blue", "bag"]
    assert seen.weights.shape == (1, 2, 16, 8)
    assert (seen.weights >= 0).all()
    assert seen.weights.sum(-1).max() <= 1 + 1e-6
    assert seen.left_out.shape == (8, 4, 4)
    assert "a red boot left of a blue bag" in page.read_text(encoding="utf-8")
    assert "worth" in succeed("view", painter, "빨간 부츠").out
    with pytest.raises(UsageError, match="give a caption"):
        regard.view(painter, " ")


def test_captions_of_ones_own(tmp_path: Path) -> None:
    from PIL import Image

    for number in range(12):
        Image.new("RGB", (40, 30 + number), (20 * number, 0, 0)).save(tmp_path / f"{number}.png")
    (tmp_path / "broken.png").write_bytes(b"nothing")
    rows = [f"{number}.png,a picture of red {number}" for number in range(12)]
    (tmp_path / "mine.csv").write_text("\n".join(["file,caption", *rows, "broken.png,a broken one"]), encoding="utf-8")
    recipe = {
        "name": "mine", "task": "image-codes",
        "data": {
            "train": ["mine.csv"], "picture": "file", "label": "caption", "hold_out": 0.25, "folder": str(tmp_path),
            "prepared": str(tmp_path / "prepared"),
        },
    }  # fmt: skip
    prepared = regard.prepare(recipe, show=False)
    assert (len(prepared.train), len(prepared.valid)) == (9, 3)
    assert prepared.train.captions([0, 3], 0) == ["a picture of red 0", "a picture of red 4"]
    assert prepared.train.pictures([0, 3], 0).shape == (2, 32, 32, 3)
    assert any("broken.png" in line for line in prepared.lines())
    prepared.train.verify()


def test_mistakes(folder: Path, codes: Path, painter: Path) -> None:
    def mistake(change: dict[str, object], error: type[RegardError], words: str) -> None:
        with pytest.raises(error, match=words):
            regard.prepare(painter_recipe(folder, codes), overrides=change, show=False)

    mistake({"data.codes": ""}, UsageError, "must name the model of the first stage")
    mistake({"data.codes": "demo"}, DataError, "is a model of the task 'translation', not 'image-codes'")
    mistake({"data.names": ["x"] * 10}, ConfigError, "names calls two labels the same")
    mistake({"data.names": list("abcdefghij")}, DataError, "needs Fashion-MNIST's two IDX files")
    mistake({"data.languages": ["de"]}, ConfigError, "not in 'de'")
    mistake({"data.size": 16}, ConfigError, "data.scenes needs data.size = 32")
    model = regard.load(painter)
    for options, words in (
        ({"count": 0}, "`count` must be from 1"),
        ({"guidance": -1.0}, "`guidance` must be from 0"),
        ({"seed": [1, 2]}, "2 seeds for 1 caption"),
        ({"top_p": 0.0}, "top_p must be above 0"),
    ):
        with pytest.raises(UsageError, match=words):
            model.paint("a bag", **options)
    with pytest.raises(UsageError, match="caption 1 "):
        model.paint(["a bag", 3])


def test_a_picture_makes_its_folder_or_says_why_it_cannot(tmp_path: Path) -> None:
    from PIL import Image

    from regard.tasks.text_to_image.painter import save_image

    picture = Image.new("RGB", (4, 4))
    save_image(picture, tmp_path / "new" / "picture.png")
    assert (tmp_path / "new" / "picture.png").is_file()
    with pytest.raises(UsageError, match=r"cannot write .*picture\.png"):
        save_image(picture, tmp_path / "new" / "picture.png" / "picture.png")
