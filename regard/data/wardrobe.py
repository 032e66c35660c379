"""Scenes with captions, made up from pictures of clothes: one or two garments, tinted, beside or above each other.

Fashion-MNIST (28 × 28, grey) gives the garments. Which scene has which number follows from a seed alone, so that a corpus
of any size needs no room, and a place in it can be sought. Eight pairs of colour and garment are kept out of training:
who paints them has understood both words.

N scenes · G garments of a scene, at most 2
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.errors import DataError

SIZE = 32
"""Height and width of a scene in pixels."""
SMALL, LARGE = 14, 28  # a garment's height and width where there are two, and alone
PAPER = 245.0  # what is around garments

LANGUAGES = ("en", "ko")
GARMENTS = {
    "en": ("T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"),
    "ko": ("티셔츠", "바지", "풀오버", "원피스", "코트", "샌들", "셔츠", "운동화", "가방", "부츠"),
}
COLOURS = {
    "en": ("red", "orange", "yellow", "green", "blue", "purple", "pink", "grey"),
    "ko": ("빨간", "주황색", "노란", "초록색", "파란", "보라색", "분홍색", "회색"),
}
TINTS = np.array(
    [(220, 30, 35), (245, 130, 20), (250, 215, 30), (40, 150, 60), (35, 90, 215), (125, 50, 165), (250, 130, 190), (125, 125, 130)],
    dtype=np.float32,
)  # fmt: skip
TROUSERS = 1  # whose name is a plural
PLACES = {"en": ("left of", "right of", "above", "below"), "ko": ("왼쪽에", "오른쪽에", "위에", "아래에")}
"""Where the first garment is, seen from the second."""

UNSEEN = frozenset((colour, (3 * colour + 1) % 10) for colour in range(len(TINTS)))
"""(Colour, garment) of the pairs that are never trained: one of each colour, each of another garment."""


@dataclass(frozen=True)
class Garment:
    """One thing in a scene."""

    kind: int
    colour: int
    picture: int
    """Its row in the pictures that scenes are made of."""
    top: int
    left: int
    size: int

    @property
    def unseen(self) -> bool:
        return (self.colour, self.kind) in UNSEEN

    def name(self, language: str) -> str:
        """`a red boot`; of what comes in pairs, `red trousers`."""
        words = f"{COLOURS[language][self.colour]} {GARMENTS[language][self.kind]}"
        if language == "ko" or self.kind == TROUSERS:
            return words
        return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


@dataclass(frozen=True)
class Scene:
    """One garment, or two of which the first is somewhere seen from the second."""

    garments: tuple[Garment, ...]
    place: int | None = None

    @property
    def unseen(self) -> bool:
        """Whether a pair of colour and garment is in it that is never trained."""
        return any(each.unseen for each in self.garments)

    def caption(self, language: str) -> str:
        """`a red boot left of a blue bag`, 파란 가방 왼쪽에 빨간 부츠."""
        names = [each.name(language) for each in self.garments]
        if self.place is None:
            return names[0]
        place = PLACES[language][self.place]
        return f"{names[1]} {place} {names[0]}" if language == "ko" else f"{names[0]} {place} {names[1]}"


class Wardrobe:
    """Pictures of clothes, and the scenes that can be made of them."""

    def __init__(self, pictures: NDArray[np.uint8], kinds: NDArray[np.uint8]) -> None:
        self.pictures = pictures  # [P, 28, 28]
        self.by_kind = [np.flatnonzero(kinds == kind) for kind in range(len(GARMENTS["en"]))]
        if missing := [name for name, rows in zip(GARMENTS["en"], self.by_kind, strict=True) if not len(rows)]:
            raise DataError(f"scenes need pictures of every garment, and there is none of: {', '.join(missing)}")

    def scene(self, seed: Sequence[int], unseen: bool = False) -> Scene:
        """The scene of a seed. `unseen` asks for a pair of colour and garment that is never trained; others never have one."""
        chance = np.random.Generator(np.random.PCG64([*seed, int(unseen)]))
        count = 1 if chance.random() < 0.2 else 2
        wanted = int(chance.integers(count)) if unseen else -1
        drawn = [self._draw(chance, number == wanted) for number in range(count)]
        if count == 1:
            top, left = chance.integers(SIZE - LARGE + 1, size=2).tolist()
            return Scene((Garment(*drawn[0], top, left, LARGE),))
        place = int(chance.integers(len(PLACES["en"])))
        near, far = (
            chance.integers(3),
            SIZE // 2 + chance.integers(3),
        )  # of the garment nearer to the origin, and the other
        across = chance.integers(1, SIZE - SMALL, size=2)  # where each is in the other direction
        along = (near, far) if place in (0, 2) else (far, near)
        corners = zip(across, along, strict=True) if place < 2 else zip(along, across, strict=True)
        garments = (
            Garment(*each, int(top), int(left), SMALL) for each, (top, left) in zip(drawn, corners, strict=True)
        )
        return Scene(tuple(garments), place)

    def _draw(self, chance: np.random.Generator, unseen: bool) -> tuple[int, int, int]:
        """Kind, colour and picture of a garment."""
        while True:
            kind, colour = int(chance.integers(len(self.by_kind))), int(chance.integers(len(TINTS)))
            if ((colour, kind) in UNSEEN) == unseen:
                return kind, colour, int(self.by_kind[kind][chance.integers(len(self.by_kind[kind]))])

    def draw(self, scene: Scene) -> NDArray[np.uint8]:
        """A scene's pixels [32, 32, 3]."""
        canvas = np.full((SIZE, SIZE, 3), PAPER, dtype=np.float32)
        for each in scene.garments:
            grey = self.pictures[each.picture].astype(np.float32) / 255  # [28, 28]
            if each.size == SMALL:
                grey = grey.reshape(SMALL, 2, SMALL, 2).mean((1, 3))  #   [14, 14]
            cover = np.minimum(1, 4 * grey)[
                ..., None
            ]  # dark cloth is cloth, too: only what is nearly black lets the paper through
            tinted = TINTS[each.colour] * (0.35 + 0.65 * grey[..., None])
            region = canvas[each.top : each.top + each.size, each.left : each.left + each.size]
            region[:] = (1 - cover) * region + cover * tinted
        return canvas.round().astype(np.uint8)
