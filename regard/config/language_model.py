"""What language modelling can be told: plain text, a decoder alone, its training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from regard.config.data import LONGEST, TextData
from regard.config.field import setting
from regard.config.model import DEEPEST, WIDEST, AttentionModel, Model, RecurrentModel
from regard.config.recipe import Architecture, TaskSettings, TextRecipe
from regard.config.training import TextTraining
from regard.errors import shown


@dataclass(frozen=True)
class PlainText(TextData):
    """`[data]` of a language model: text as it is, one file or several that follow each other."""

    documents: str = setting("stream", choices=("stream", "lines"))
    """`stream`: lines follow each other, each with its end; `lines`: each line is a document, and knows of no other."""
    max_tokens: int = setting(256, least=1, most=LONGEST, inherited=True)
    """Tokens that are read together: the longest way back that the model learns to look."""


@dataclass(frozen=True)
class LanguageModel(Model):
    """What every language model can be told."""

    layers: int = setting(6, least=1, most=DEEPEST)
    """Layers that read what is written."""
    tied: bool = True
    """Share one matrix between embedding and output."""
    cutoffs: tuple[int, ...] = setting((), least=1)
    """Ids at which the vocabulary is cut: rarer words are looked at only when one of them is meant (adaptive softmax).
    With label smoothing all are, for it spreads over all: then a cut saves no time."""
    adaptive_factor: int = setting(1, least=1, most=WIDEST)
    """By how many times the vectors of words after each cut are narrower than those before it, where words enter and, in the adaptive
    softmax, where they leave (adaptive input, Baevski and Auli 2019); 1: all are as wide as the model."""
    embedding_dropout: float = setting(-1.0, least=-1, below=1)
    """Share that is dropped where words enter, of their embeddings; below 0: as `dropout` says, which is then that of the layers."""
    output_dropout: float = setting(-1.0, least=-1, below=1)
    """Share that is dropped where words leave, of the states that the output is made from; below 0: as `dropout` says."""

    @property
    def entering_dropout(self) -> float:
        return self.dropout if self.embedding_dropout < 0 else self.embedding_dropout

    @property
    def leaving_dropout(self) -> float:
        return self.dropout if self.output_dropout < 0 else self.output_dropout

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        if any(low >= high for low, high in pairwise(self.cutoffs)):
            yield f"model.cutoffs = {shown(list(self.cutoffs))} must rise"
        if self.adaptive_factor > 1 and not self.cutoffs:
            yield f"model.adaptive_factor = {self.adaptive_factor} needs model.cutoffs: it narrows the words after each"
        elif self.width < self.adaptive_factor ** len(self.cutoffs):
            yield (
                f"model.adaptive_factor = {self.adaptive_factor} leaves nothing of model.width = {self.width} after"
                f" {len(self.cutoffs)} cuts"
            )


@dataclass(frozen=True)
class TextDecoder(AttentionModel, LanguageModel):
    """`[model]` of a language model: the decoder alone, with nothing to look at but what is written."""

    architecture: str = "transformer"
    pointer: bool = False
    """A last look back whose weights predict: what comes next may be any token that was read (Merity et al. 2017)."""


@dataclass(frozen=True)
class RecurrentDecoder(RecurrentModel, LanguageModel):
    """`[model]` of a language model with `architecture = "rnn"`: what was written is a state."""

    architecture: str = "rnn"
    layers: int = setting(2, least=1, most=DEEPEST)


@dataclass(frozen=True)
class LanguageTraining(TextTraining):
    """`[training]` of a language model."""

    label_smoothing: float = setting(0.0, below=1)


@dataclass(frozen=True)
class LanguageRecipe(TextRecipe):
    """Text → how it continues."""

    task: str = "text-generation"
    data: PlainText = field(default_factory=PlainText)
    model: LanguageModel = field(default_factory=TextDecoder)
    training: LanguageTraining = field(default_factory=LanguageTraining)

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        reasons = {
            "label_smoothing": "it says itself how sure it is",
            "word_dropout": "it can point only at what it reads",
        }
        for name, reason in reasons.items():
            if getattr(self.model, "pointer", False) and getattr(self.training, name):
                yield f"model.pointer = true needs training.{name} = 0: {reason}"


SETTINGS = TaskSettings(
    name="text-generation",
    aliases=("language-model", "language-modeling"),
    room="language_model",
    verb="generate",
    recipe=LanguageRecipe,
    metrics=("loss",),
    architectures={
        "transformer": Architecture(TextDecoder, {
            "tiny": dict(width=128, feed_forward=256, heads=4, layers=2, dropout=0.2),
            "small": dict(width=256, feed_forward=1_024, heads=4, layers=4, dropout=0.1),
            "base": dict(width=512, feed_forward=2_048, heads=8, layers=6, dropout=0.1),
        }),
        "rnn": Architecture(RecurrentDecoder, {
            "tiny": dict(width=128, layers=1, dropout=0.2),
            "small": dict(width=256, layers=2, dropout=0.2),
            "base": dict(width=512, layers=2, dropout=0.2),
        }),
    },
)  # fmt: skip
