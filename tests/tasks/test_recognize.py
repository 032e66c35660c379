"""Pictures from recipe to label: train, go on, recognize, evaluate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file

import regard
from regard.errors import DataError, UsageError
from tests.tasks.shapes import LABELS, SIDE, shapes, shapes_recipe, write_idx


@pytest.fixture(scope="module", params=["vit", "cct"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    write_idx(folder, "train", 300, 1)
    write_idx(folder, "test", 90, 2)
    regard.train(shapes_recipe(folder, request.param), run=folder / "run", show=False)
    return folder / "run"


def test_learns_and_is_evaluated(run: Path) -> None:
    found = regard.evaluate(run)["own"].to_dict()
    accuracy = found["scores"][0]
    assert accuracy["value"] > 80  # chance is 33
    assert accuracy["pictures"] == sum(map(sum, found["confusion"])) == 90


def test_answers_name_pictures_below_the_folder_of_the_data(run: Path, tmp_path: Path) -> None:
    regard.evaluate(run, output=tmp_path)
    (file,) = tmp_path.glob("*.tsv")
    names = [line.split("\t")[3] for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(names) == 90
    assert not any(name.startswith(("/", str(run.parent))) for name in names)


def test_takes_paths_images_and_arrays_alike(run: Path, tmp_path: Path) -> None:
    from PIL import Image

    picture, _ = shapes(1, 3)[0]
    Image.fromarray(picture).save(tmp_path / "1.png")
    model = regard.load(run)
    same = model.recognize(
        [picture, tmp_path / "1.png", str(tmp_path / "1.png"), Image.open(tmp_path / "1.png"), picture / 255]
    )
    assert all(each.probabilities == pytest.approx(same[0].probabilities) for each in same)
    assert model.recognize(picture).label in LABELS
    with pytest.raises(UsageError, match="a path, a PIL image or an array"):
        model.recognize(3)


@pytest.mark.parametrize(
    "other",
    [
        lambda picture: picture[:, :, None],
        lambda picture: picture[:, :, None].repeat(3, 2),
        lambda picture: np.concatenate([picture[:, :, None].repeat(3, 2), np.full((SIDE, SIDE, 1), 255, np.uint8)], 2),
        lambda picture: picture.astype(np.float32) / 255,
        lambda picture: picture.astype(np.float64)[:, :, None].repeat(3, 2) / 255,
    ],
)
def test_arrays_of_every_shape_are_the_same_picture(run: Path, other: Callable[[Any], Any]) -> None:
    picture = shapes(1, 3)[0][0]
    model = regard.load(run)
    assert model.see(other(picture)).shape == (SIDE, SIDE, 1)
    assert np.abs(model.see(other(picture)).astype(int)[:, :, 0] - picture).max() <= 1  # grey of grey may round
    assert model.recognize(other(picture)).label == model.recognize(picture).label


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((SIDE, SIDE, 2), np.uint8), r"\[height, width, 1, 3 or 4\]"),
        (np.zeros((3, SIDE, SIDE), np.uint8), r"the shape \(3, 12, 12\)"),
        (np.zeros((0, 4), np.uint8), r"the shape \(0, 4, 1\)"),
        (np.zeros((1, SIDE, SIDE, 3), np.uint8), r"the shape \(1, 12, 12, 3\)"),
        (np.zeros((SIDE, SIDE), np.int64), "holds int64"),
        (np.full((SIDE, SIDE), np.nan), "holds numbers from nan to nan"),
        (np.full((SIDE, SIDE), 7.0), "from 7 to 7; in a picture .* from 0 to 1; divide them by 255"),
        (np.full((SIDE, SIDE), -0.5), "holds numbers from -0.5 to -0.5"),
        (np.ones((SIDE, SIDE), bool), "holds bool"),
    ],
)
def test_arrays_that_are_no_picture_are_refused(run: Path, array: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        regard.load(run).recognize(array)


def test_what_else_is_in_the_batch_changes_nothing(run: Path) -> None:
    model = regard.load(run)
    pictures = [picture for picture, _ in shapes(7, 4)]
    together = model.recognize(pictures)
    for picture, answer in zip(pictures, together, strict=True):
        assert model.recognize(picture).probabilities == pytest.approx(answer.probabilities, abs=1e-5)


@pytest.mark.parametrize("architecture", ["vit", "cct"])
def test_an_interrupted_run_goes_on_to_the_same_bits(architecture: str, tmp_path: Path) -> None:
    write_idx(tmp_path, "train", 60, 1)
    write_idx(tmp_path, "test", 9, 2)
    recipe = shapes_recipe(tmp_path, architecture, updates=12, validate_every=6, warmup=2)

    def interrupt(facts: dict[str, Any]) -> None:
        if facts["update"] == 7:
            raise KeyboardInterrupt

    whole = regard.train(recipe, run=tmp_path / "whole", show=False)
    part = regard.train(recipe, run=tmp_path / "part", show=False, on_update=interrupt)
    assert (whole.reason, part.reason) == ("done", "interrupted")
    regard.train(recipe, run=tmp_path / "part", show=False)
    left, right = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "part"))
    assert left.keys() == right.keys()
    assert all(left[name].equal(right[name]) for name in left)


def test_a_file_that_is_no_picture_is_named(run: Path, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("no picture")
    with pytest.raises(DataError, match=r"a\.png.* is no PNG, JPEG or WebP"):
        regard.load(run).recognize(tmp_path / "a.png")
    with pytest.raises(DataError, match="no file"):
        regard.load(run).recognize(tmp_path / "b.png")


def test_what_a_decision_looked_at(run: Path, tmp_path: Path) -> None:
    from PIL import Image

    Image.fromarray(shapes(1, 3)[0][0]).save(tmp_path / "1.png")
    seen = regard.view(run, str(tmp_path / "1.png"), output=tmp_path / "page.html")
    told = seen.to_dict()
    assert told["label"] == regard.load(run).recognize(tmp_path / "1.png").label
    assert 0 < sum(map(sum, told["rollout"])) <= 1 + 1e-6
    assert (tmp_path / "page.html").stat().st_size > 10_000
    with pytest.raises(UsageError, match="which picture"):
        regard.view(run)


def test_gradient_times_input_is_the_change_of_a_small_step(tmp_path: Path) -> None:
    """A little less of one patch's vector moves the log-odds by that much less of its contribution."""
    import torch

    from regard.tasks.image_classification.attribution import attribute
    from tests.tasks.shapes import untrained

    model = regard.load(untrained(tmp_path / "model.safetensors")).model.double()
    picture = torch.randn(1, 1, SIDE, SIDE, dtype=torch.float64)
    found = attribute(model, picture, 1, 1.5)
    place, step = 5, 1e-5
    vectors = model.tokens(picture)
    vectors[0, 1 + place] *= 1 - step
    logits = model.classify(model.encode(vectors + model.position_table()))[0] / 1.5
    others = torch.cat([logits[:1], logits[2:]]).logsumexp(0)
    change = found.log_odds - (logits[1] - others).item()
    assert change / step == pytest.approx(found.gradient[place], rel=1e-3, abs=1e-6)


def test_onnx_says_the_same(run: Path, tmp_path: Path) -> None:
    exported = regard.export(run, to="onnx", output=tmp_path / "onnx")
    assert exported.agreement.agrees
    assert exported.trusted
