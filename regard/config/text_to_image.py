"""What painting can be told: captioned pictures, a decoder of words and codes, its training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from regard.config.data import LONGEST, Tokenizer
from regard.config.field import setting
from regard.config.image_codes import CaptionedPictures
from regard.config.model import DEEPEST, AttentionModel
from regard.config.recipe import Architecture, Recipe, TaskSettings
from regard.config.training import Training


@dataclass(frozen=True)
class PaintingData(CaptionedPictures):
    """`[data]` of a painter."""

    codes: str = setting("", path="place")
    """The model of the first stage, which turns pictures into codes and back: a run folder or a file, from the recipe's folder
    or the current one. The painter's file will carry it along."""


@dataclass(frozen=True)
class TextToImage(AttentionModel):
    """`[model]` of a painter: the decoder alone, over a caption and the codes of its picture."""

    architecture: str = "transformer"
    layers: int = setting(6, least=1, most=DEEPEST)
    """Layers that read words and codes alike."""
    norm: str = setting("pre", choices=("post", "pre", "none"))
    activation: str = setting("gelu", choices=("relu", "gelu", "swish"))
    max_positions: int = setting(32, least=4, most=LONGEST + 1)
    """Longest caption in tokens, and three more for its beginning, its end and the picture's beginning."""


@dataclass(frozen=True)
class PaintingTraining(Training):
    """`[training]` of a painter. A picture counts as its caption's positions and its codes in `batch_tokens`."""

    label_smoothing: float = setting(0.0, below=1)
    text_weight: float = setting(0.125, below=1)
    """Weight of the caption's loss beside that of the picture's codes; 1 : 7 as in DALL-E."""
    caption_dropout: float = setting(0.1, below=1)
    """Share of the pictures whose caption is not told in training, so that guidance works."""


@dataclass(frozen=True)
class PaintingRecipe(Recipe):
    """Caption → picture."""

    task: str = "text-to-image"
    data: PaintingData = field(default_factory=PaintingData)
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    model: TextToImage = field(default_factory=TextToImage)
    training: PaintingTraining = field(default_factory=PaintingTraining)

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        yield from self.tokenizer.impossible()
        if self.training.label_smoothing:
            yield "training.label_smoothing is of other tasks: codes that are drawn need their true probabilities"


SETTINGS = TaskSettings(
    name="text-to-image",
    aliases=("paint", "painting"),
    room="text_to_image",
    verb="paint",
    recipe=PaintingRecipe,
    text_options=(),
    metrics=("loss",),
    architectures={
        "transformer": Architecture(TextToImage, {
            "tiny": dict(width=64, feed_forward=256, heads=4, layers=2, dropout=0.0),
            "small": dict(width=192, feed_forward=768, heads=6, layers=6, dropout=0.0),
            "base": dict(width=384, feed_forward=1_536, heads=6, layers=8, dropout=0.1),
        }),
    },
)  # fmt: skip
