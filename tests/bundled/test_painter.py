"""`painter`, as it comes with regard: a caption in either language, and the right colours in the right places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import regard
from regard.bundled.make_painter import MOST_BYTES, PAINTER
from regard.config.stored import names_model
from regard.errors import UsageError
from tests.commands.calling import succeed

pytest.importorskip("PIL")

RED, BLUE = (220, 30, 35), (35, 90, 215)


def middle(pixels: NDArray[np.uint8], tint: tuple[int, int, int]) -> tuple[float, float]:
    """Row and column in whose neighbourhood most is that colourful."""
    shade = pixels.astype(float) @ np.array(tint) / (np.linalg.norm(pixels.astype(float), axis=-1) + 1)
    rows, columns = np.nonzero(shade > 0.95 * np.linalg.norm(tint))
    return (float(rows.mean()), float(columns.mean())) if len(rows) else (np.nan, np.nan)


@pytest.mark.parametrize("caption", ["a red boot left of a blue bag", "파란 가방 왼쪽에 빨간 부츠"])
def test_colours_stand_where_they_should(caption: str) -> None:
    """Of four pictures three: what is drawn at random depends on the last digit of a CPU."""
    painted = regard.load("painter").paint(caption, count=4, seed=1)
    right = [middle(each.pixels, RED)[1] < middle(each.pixels, BLUE)[1] for each in painted]
    assert sum(right) >= 3


def test_it_comes_along(tmp_path: Path) -> None:
    assert PAINTER.stat().st_size <= MOST_BYTES
    succeed("paint", "painter", "보라색 풀오버", "-o", tmp_path / "pullover.png")
    assert (tmp_path / "pullover.png").read_bytes().startswith(b"\x89PNG")
    assert {"test", "test (unseen pairs)"} <= regard.load("painter").provenance["scores"].keys()


def test_a_painter_is_also_a_word() -> None:
    """`regard translate demo painter` translates the word."""
    assert names_model("demo", beside="demo")
    assert names_model("painter", beside="painter")
    assert not names_model("painter", beside="demo")


def test_its_test_pictures_are_not_bundled() -> None:
    with pytest.raises(UsageError, match=r"Say in which folder with `data`$"):
        regard.evaluate("painter")


def test_what_is_no_number_is_told() -> None:
    """Each ended in a TypeError, or asked for the memory of a picture a million times as wide."""
    painter = regard.load("painter")
    for option, value in (("count", 1.5), ("guidance", "2"), ("seed", None), ("seed", 1.5)):
        with pytest.raises(UsageError, match=f"`{option}`"):
            painter.paint("a red boot", **{option: value})
    painting = painter.paint("a red boot")
    for scale in (0, 10**6, 1.5):
        with pytest.raises(UsageError, match="`scale` must be from 1 to 64"):
            painting.image(scale)
