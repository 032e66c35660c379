"""What image classification can be told: labelled pictures, a Transformer of their patches, its training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from regard.config.data import Data
from regard.config.field import setting
from regard.config.model import DEEPEST, WIDEST, AttentionModel
from regard.config.recipe import Architecture, Recipe, TaskSettings
from regard.config.training import Training

LARGEST = 1_024  # pixels of a side
MOST_STEM = 8  # convolutions: each halves the side


@dataclass(frozen=True)
class LabelledPictures(Data):
    """`[data]` of an image recipe: pictures and what they are to be called.

    A split is a folder with a folder of pictures for each label; a table (TSV, CSV or JSONL) of paths and labels; or two IDX
    files as MNIST has them, pictures first.
    """

    FORM: ClassVar[str] = "name a folder of folders, one table, or IDX pictures and labels"
    MOST_FILES: ClassVar[int | None] = 2

    picture: str = "1"
    """Of a table: column of the picture's path, which starts at the table's folder; by number from 1 or by name."""
    label: str = "2"
    """Of a table: column of the label."""
    split: str = ""
    """Of a table: column that names the split (train, valid or the test set's name); nothing: every row belongs."""
    quoted: bool = False
    """Of a TSV: a cell may stand in double quotes; a CSV's always may."""
    names: tuple[str, ...] = ()
    """Of IDX files: what label 0, 1, 2 … are called; none: by their numbers."""
    size: int = setting(32, least=4, most=LARGEST)
    """Pixels of a side, as the model sees a picture; others are resized."""
    colour: bool = True
    """Three channels; `false`: one, grey. Pictures of the other kind are converted, what is transparent becomes white."""
    fit: str = setting("crop", choices=("crop", "pad", "stretch"))
    """How a picture that is no square becomes one: `crop` its middle, `pad` it with black, or `stretch` it."""
    hold_out: float = setting(0.1, below=1)
    """Share of the training pictures that validate, spread evenly over each label, when no `valid` is named."""

    @property
    def needed(self) -> tuple[str, ...]:
        return ("train",) if self.hold_out > 0 else super().needed

    @property
    def split_by_column(self) -> bool:
        return bool(self.split)

    @property
    def channels(self) -> int:
        return 3 if self.colour else 1

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        yield from self.same_columns("picture", "label", "split")
        if len(set(self.names)) < len(self.names):
            yield "data.names calls two labels the same"


@dataclass(frozen=True)
class PictureModel(AttentionModel, ABC):
    """What every Transformer of patches can be told."""

    width: int = setting(96, least=2, most=WIDEST)
    feed_forward: int = setting(192, most=16 * WIDEST)
    heads: int = setting(4, least=1, most=1_024)
    layers: int = setting(4, least=1, most=DEEPEST)
    """Encoder layers."""
    norm: str = setting("pre", choices=("post", "pre", "none"))
    positions: str = setting("learned", choices=("sinusoidal", "learned", "none"))
    activation: str = setting("gelu", choices=("relu", "gelu", "swish"))
    stochastic_depth: float = setting(0.0, below=1)
    """Share of the pictures that skip the last layer's sub-layers in training, and less in earlier layers, the first none."""

    @abstractmethod
    def grid(self, side: int) -> int:
        """Tokens in a row, of pictures with such a side."""


@dataclass(frozen=True)
class VisionTransformer(PictureModel):
    """`[model]` with `architecture = "vit"`: square patches, a class token (Dosovitskiy et al. 2021)."""

    architecture: str = "vit"
    patch: int = setting(4, least=1, most=LARGEST)
    """Pixels of a patch's side; must divide `data.size`."""

    def grid(self, side: int) -> int:
        return side // self.patch


@dataclass(frozen=True)
class CompactTransformer(PictureModel):
    """`[model]` with `architecture = "cct"`: convolutions, then attention, and what it found is pooled by attention, too
    (Hassani et al. 2021)."""

    architecture: str = "cct"
    stem: tuple[int, ...] = setting((48,), least=1, most=WIDEST)
    """Channels of the convolutions before the last one, whose channels are the width; each of them halves the picture's side."""

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        if len(self.stem) >= MOST_STEM:
            yield f"model.stem names {len(self.stem)} convolutions; at most {MOST_STEM - 1} can halve a picture"

    def grid(self, side: int) -> int:
        for _ in range(len(self.stem) + 1):
            side = (side + 1) // 2
        return side


@dataclass(frozen=True)
class PictureTraining(Training):
    """`[training]` of an image classifier. A picture counts as its patches in `batch_tokens`."""

    metric: str = "accuracy"
    crop: int = setting(0, most=LARGEST)
    """Pixels by which a training picture is moved at most, each way, at random; what comes in is black."""
    flip: bool = False
    """Show half of the training pictures mirrored, left to right."""
    erase: float = setting(0.0, most=1)
    """Share of the training pictures in which a random rectangle, of 2 to 33 % of the picture, is replaced by noise."""


@dataclass(frozen=True)
class PictureRecipe(Recipe):
    """Picture → label."""

    task: str = "image-classification"
    data: LabelledPictures = field(default_factory=LabelledPictures)
    model: PictureModel = field(default_factory=VisionTransformer)
    training: PictureTraining = field(default_factory=PictureTraining)

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        size, patch = self.data.size, getattr(self.model, "patch", 1)
        if size % patch:
            yield f"model.patch = {patch} does not divide data.size = {size}"
        elif (tokens := self.model.grid(size) ** 2 + 1) > self.model.max_positions:
            yield f"data.size = {size} makes {tokens:,} tokens; they need model.max_positions of at least {tokens}"
        if self.training.crop >= size:
            yield f"training.crop = {self.training.crop} would move a picture of data.size = {size} out of sight"


SETTINGS = TaskSettings(
    name="image-classification",
    aliases=("recognize", "recognise"),
    room="image_classification",
    verb="recognize",
    recipe=PictureRecipe,
    metrics=("accuracy", "loss"),
    architectures={
        "vit": Architecture(VisionTransformer, {
            "tiny": dict(width=64, feed_forward=128, heads=4, layers=2, dropout=0.0),
            "small": dict(width=96, feed_forward=176, heads=4, layers=6, dropout=0.0),
            "base": dict(width=192, feed_forward=768, heads=3, layers=12, dropout=0.1),
        }),
        "cct": Architecture(CompactTransformer, {
            "tiny": dict(width=64, feed_forward=128, heads=4, layers=2, dropout=0.0, stem=(32,)),
            "small": dict(width=112, feed_forward=224, heads=4, layers=4, dropout=0.0, stem=(64, 96)),
            "base": dict(width=256, feed_forward=512, heads=4, layers=7, dropout=0.1, stem=(64,)),
        }),
    },
    given="picture.png",
)  # fmt: skip
