"""What the first stage of painting can be told: pictures, and how they become a grid of codes and pictures again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from regard.config.field import setting
from regard.config.image_classification import LARGEST, LabelledPictures
from regard.config.model import Model
from regard.config.recipe import Architecture, Recipe, TaskSettings
from regard.config.training import Training

MOST_CODES = 65_536
MOST_SCENES = 1_000_000_000
SCENE = 32  # pixels of a scene's side


@dataclass(frozen=True)
class CaptionedPictures(LabelledPictures):
    """`[data]` of what paints: pictures whose labels are captions, such as a table of paths and captions.

    Or pictures of clothes, Fashion-MNIST's two IDX files, from which scenes are made up, each with its caption.
    """

    scenes: int = setting(0, most=MOST_SCENES)
    """Scenes made up for each epoch: one or two garments, tinted, beside or above each other; 0: the pictures as they are."""
    languages: tuple[str, ...] = ("en", "ko")
    """In which the captions of scenes are, in turn: `en`, `ko`."""

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        if unknown := [each for each in self.languages if each not in ("en", "ko")]:
            yield f"data.languages: scenes have captions in en and ko, not in {unknown[0]!r}"
        if not self.languages:
            yield "data.languages names no language"
        if self.scenes and (self.size != SCENE or not self.colour):
            yield f"data.scenes needs data.size = {SCENE} and data.colour = true"


@dataclass(frozen=True)
class ImageCodes(Model):
    """`[model]` of `image-codes`: encoder, quantiser, decoder."""

    architecture: str = "autoencoder"
    width: int = setting(64, least=8, most=4_096)
    """Channels of the convolutions where the picture is smallest; half as many wherever it is twice as large."""
    dropout: float = setting(0.0, below=1)
    blocks: int = setting(2, most=100)
    """Pairs of convolutions with a shortcut, in the encoder and in the decoder."""
    picture_size: int = setting(32, least=2, most=LARGEST)
    """Height and width of pictures in pixels; that of the data."""
    grid: int = setting(8, least=1, most=64)
    """Height and width of a picture in codes; the picture's size divided by 2, 4, 8 …"""
    quantiser: str = setting("fsq", choices=("fsq", "vq"))
    """`fsq`: a few numbers, each rounded to its levels (finite scalar quantisation); `vq`: the nearest of learned vectors."""
    levels: tuple[int, ...] = setting((8, 6, 5), least=2, most=256)
    """Of `fsq`, the levels of each number; their product is the number of codes."""
    codes: int = setting(240, least=2, most=MOST_CODES)
    """Of `vq`, the number of codes …"""
    code_width: int = setting(8, least=1, most=1_024)
    """… and the length of each one's vector."""

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        times = self.picture_size / self.grid
        if times < 2 or not math.log2(times).is_integer():
            yield f"model.picture_size = {self.picture_size} must be 2, 4, 8 … times model.grid = {self.grid}"
        if not self.levels or math.prod(self.levels) > MOST_CODES:
            yield f"model.levels make {math.prod(self.levels):,} codes; name at least one level, and at most {MOST_CODES:,} codes"


@dataclass(frozen=True)
class CodesTraining(Training):
    """`[training]` of image codes. A picture counts as its codes in `batch_tokens`."""

    metric: str = "psnr"
    schedule: str = setting("cosine", choices=("inverse-sqrt", "cosine", "linear", "constant"))
    learning_rate: float = setting(2e-3, most=1_000)
    warmup: int = 100
    average: int = setting(1, least=1, most=1_000)


@dataclass(frozen=True)
class ImageCodesRecipe(Recipe):
    """Picture ↔ codes."""

    task: str = "image-codes"
    data: CaptionedPictures = field(default_factory=CaptionedPictures)
    model: ImageCodes = field(default_factory=ImageCodes)
    training: CodesTraining = field(default_factory=CodesTraining)

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        if self.data.size != self.model.picture_size:
            yield f"data.size = {self.data.size} must be model.picture_size = {self.model.picture_size}"


SETTINGS = TaskSettings(
    name="image-codes",
    aliases=("codes", "autoencoder"),
    room="image_codes",
    verb="view",
    recipe=ImageCodesRecipe,
    text_options=(),
    given="",
    metrics=("psnr", "loss"),
    architectures={"autoencoder": Architecture(ImageCodes, {
        "tiny": dict(width=16, blocks=1), "small": dict(width=48, blocks=2), "base": dict(width=64, blocks=2),
    })},
)  # fmt: skip
