"""Scenes that are made up: the same from the same seed, as their captions say, and some pairs never in training."""

from __future__ import annotations

import numpy as np
import pytest

from regard.data.wardrobe import COLOURS, GARMENTS, PAPER, SIZE, TINTS, UNSEEN, Garment, Scene, Wardrobe
from regard.errors import DataError


@pytest.fixture(scope="module")
def wardrobe() -> Wardrobe:
    chance = np.random.default_rng(0)
    return Wardrobe(chance.integers(60, 256, (40, 28, 28), dtype=np.uint8), np.arange(40, dtype=np.uint8) % 10)


def test_a_seed_is_a_scene(wardrobe: Wardrobe) -> None:
    scenes = [wardrobe.scene([3, number]) for number in range(50)]
    assert scenes == [wardrobe.scene([3, number]) for number in range(50)]
    assert len({each.caption("en") for each in scenes}) > 30
    assert np.array_equal(wardrobe.draw(scenes[0]), wardrobe.draw(scenes[0]))


def test_eight_pairs_are_never_trained(wardrobe: Wardrobe) -> None:
    assert len({colour for colour, _ in UNSEEN}) == len({kind for _, kind in UNSEEN}) == len(TINTS)
    assert not any(wardrobe.scene([1, number]).unseen for number in range(300))
    assert all(wardrobe.scene([1, number], unseen=True).unseen for number in range(100))


@pytest.mark.parametrize(
    ("place", "english", "korean"),
    [
        (0, "a red boot left of a blue bag", "파란 가방 왼쪽에 빨간 부츠"),
        (3, "a red boot below a blue bag", "파란 가방 아래에 빨간 부츠"),
    ],
)
def test_captions(place: int, english: str, korean: str) -> None:
    scene = Scene((Garment(9, 0, 0, 0, 0, 14), Garment(8, 4, 0, 0, 0, 14)), place)
    assert (scene.caption("en"), scene.caption("ko")) == (english, korean)


def test_articles() -> None:
    assert [Garment(kind, colour, 0, 0, 0, 28).name("en") for kind, colour in ((1, 0), (3, 1), (0, 2))] == [
        "red trousers", "an orange dress", "a yellow T-shirt",
    ]  # fmt: skip


def test_garments_are_where_the_caption_says_and_of_its_colour(wardrobe: Wardrobe) -> None:
    for number in range(200):
        scene = wardrobe.scene([5, number])
        pixels = wardrobe.draw(scene)
        for each in scene.garments:
            box = pixels[each.top : each.top + each.size, each.left : each.left + each.size].astype(float)
            assert box.shape == (each.size, each.size, 3)
            tint = TINTS[each.colour]
            assert np.corrcoef(box.mean((0, 1)), tint)[0, 1] > 0.8 or np.ptp(tint) < 10
        assert pixels.shape == (SIZE, SIZE, 3)
        assert (pixels == PAPER).any()
        if scene.place is not None:
            first, second = scene.garments
            apart = [first.left - second.left, second.left - first.left, first.top - second.top, second.top - first.top]
            assert apart[scene.place] <= -14


def test_a_garment_that_is_not_there_is_named() -> None:
    with pytest.raises(DataError, match="none of: T-shirt, boot"):
        Wardrobe(np.zeros((8, 28, 28), dtype=np.uint8), np.arange(1, 9, dtype=np.uint8))


def test_languages_name_the_same_things() -> None:
    assert len(GARMENTS["en"]) == len(GARMENTS["ko"]) == 10
    assert len(COLOURS["en"]) == len(COLOURS["ko"]) == len(TINTS)
