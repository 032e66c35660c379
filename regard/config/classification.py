"""What text classification can be told: labelled text, an encoder alone, its training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from regard.config.data import LONGEST, TextData
from regard.config.field import setting
from regard.config.model import DEEPEST, AttentionModel, ConvolutionalModel, Model, RecurrentModel
from regard.config.recipe import Architecture, TaskSettings, TextRecipe
from regard.config.training import ConsistentTraining

MOST_REPLACED = 1_000


@dataclass(frozen=True)
class LabelledText(TextData):
    """`[data]` of a classification recipe: texts and what they are to be called.

    A text is one file: TSV, CSV (the name ends in .csv) or JSONL (.jsonl).
    """

    FORM: ClassVar[str] = "name one TSV, CSV or JSONL file"
    MOST_FILES: ClassVar[int | None] = 1

    text: str = "1"
    """Column of the text: its number, counted from 1, or its name in the file's first row or in JSON."""
    label: str = "2"
    """Column of the label."""
    split: str = ""
    """Column that names the split (train, valid or the test set's name); nothing: every row belongs."""
    quoted: bool = False
    """A cell of a TSV may stand in double quotes, as pandas writes it; a CSV's always may."""
    replace: Mapping[str, str] = setting({}, inherited=True)
    """Strings that each text has replaced, here and when the model works: `"<br />" = " "`."""
    hold_out: float = setting(0.1, below=1)
    """Share of the training text that validates, spread evenly over it, when no `valid` is named."""
    max_tokens: int = setting(256, least=1, most=LONGEST, inherited=True)
    """Longest text that is read at once, in tokens."""
    long: str = setting("ends", choices=("first", "ends", "windows"))
    """Of a longer text: `first`, its beginning; `ends`, half from each end; `windows`, all of it in overlapping windows whose
    probabilities are averaged."""

    @property
    def needed(self) -> tuple[str, ...]:
        return ("train",) if self.hold_out > 0 else super().needed

    @property
    def split_by_column(self) -> bool:
        return bool(self.split)

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        yield from self.same_columns("text", "label", "split")
        if len(self.replace) > MOST_REPLACED:
            yield f"data.replace has {len(self.replace):,} strings, more than {MOST_REPLACED:,}: each text is searched for all"


@dataclass(frozen=True)
class ClassifierModel(Model):
    """What every classifier can be told."""

    layers: int = setting(6, least=1, most=DEEPEST)
    """Layers that read the text."""
    pooling: str = "max"
    """One vector for the text; each architecture has ways of its own."""
    ngrams: int = setting(1, least=1, most=16)
    """Longest n-gram of tokens that adds logits of its own beside what the layers find (a bag of n-grams); 1: none does."""
    buckets: int = setting(1_000_000, least=2, most=100_000_000)
    """Rows for the logits of n-grams, found by their hash."""


@dataclass(frozen=True)
class TextEncoder(AttentionModel, ClassifierModel):
    """`[model]` of a classifier: the encoder alone, pooled into one vector."""

    architecture: str = "transformer"
    pooling: str = setting("max", choices=("max", "mean", "first"))
    """One vector for the text: `max` or `mean` over its positions, or the `first` position, which stands for the whole."""


@dataclass(frozen=True)
class RecurrentEncoder(RecurrentModel, ClassifierModel):
    """`[model]` of a classifier with `architecture = "rnn"`: it reads from left to right, and the last state decides."""

    architecture: str = "rnn"
    layers: int = setting(2, least=1, most=DEEPEST)
    pooling: str = setting("last", choices=("last", "max", "mean"))
    """One vector for the text: the `last` state, which has to remember all of it, or `max` or `mean` over all states."""


@dataclass(frozen=True)
class RecurrentAttentionEncoder(RecurrentEncoder):
    """`[model]` of a classifier with `architecture = "rnn-attention"`: it reads both ways, and looks at all states."""

    architecture: str = "rnn-attention"
    pooling: str = setting("attention", choices=("attention",))
    """One vector for the text: the states in the mix that one learned query asks for (Yang et al. 2016)."""
    score: str = setting("additive", choices=("additive", "dot"))
    """How well the query and a state match: `additive` (a small network) or `dot` (a scaled product)."""

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        if self.width % 2:
            yield f"model.width = {self.width} must be even: the text is read both ways, half of it each"


@dataclass(frozen=True)
class ConvolutionalEncoder(ConvolutionalModel, ClassifierModel):
    """`[model]` of a classifier with `architecture = "conv"`: gated convolutions, the strongest answer of each counts."""

    architecture: str = "conv"
    layers: int = setting(4, least=1, most=DEEPEST)
    pooling: str = setting("max", choices=("max", "mean"))
    """One vector for the text: `max` over its positions (Kim 2014), or `mean`."""


@dataclass(frozen=True)
class ClassifierTraining(ConsistentTraining):
    """`[training]` of a classifier."""

    metric: str = "accuracy"
    label_smoothing: float = setting(0.0, below=1)
    batch_texts: int = 0
    """Texts per update at most, where many short ones would fit: a crowd teaches less than its members one by one; 0: as many
    as `batch_tokens` holds."""
    naive_bayes: bool = False
    """Multiply the weights of n-grams, while they are learned, by how much more often each stands in texts of a label than in
    others (log-count ratios, as in NB-SVM): what tells little is hardly learned by heart. The model file holds the products."""
    masked_epochs: int = 0
    """Passes over the training text, before labels matter, in which the encoder learns to guess hidden tokens."""

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        if self.patience and self.masked_epochs:
            yield "training.patience needs training.masked_epochs = 0: while tokens are guessed, no validation gets better"
        if self.naive_bayes and self.start:
            yield "training.naive_bayes needs training.start = '': weights that were multiplied once would be so again"


@dataclass(frozen=True)
class ClassificationRecipe(TextRecipe):
    """Text → label."""

    task: str = "text-classification"
    data: LabelledText = field(default_factory=LabelledText)
    model: ClassifierModel = field(default_factory=TextEncoder)
    training: ClassifierTraining = field(default_factory=ClassifierTraining)

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        if self.training.naive_bayes and self.model.ngrams == 1:
            yield "training.naive_bayes is about n-grams: set model.ngrams, to 3 for instance"


def _sizes_of_rivals(layers: int) -> dict[str, dict[str, object]]:
    return {
        "tiny": dict(width=128, layers=layers, dropout=0.2),
        "small": dict(width=256, layers=layers, dropout=0.2),
        "base": dict(width=512, layers=2 * layers, dropout=0.2),
    }


SETTINGS = TaskSettings(
    name="text-classification",
    aliases=("classify", "classification", "sentiment-analysis"),
    room="classification",
    verb="classify",
    recipe=ClassificationRecipe,
    metrics=("accuracy", "loss"),
    architectures={
        "transformer": Architecture(TextEncoder, {
            "tiny": dict(width=128, feed_forward=256, heads=4, layers=2, dropout=0.2),
            "small": dict(width=256, feed_forward=1_024, heads=4, layers=4, dropout=0.1),
            "base": dict(width=512, feed_forward=2_048, heads=8, layers=6, dropout=0.1),
        }),
        "rnn": Architecture(RecurrentEncoder, _sizes_of_rivals(1)),
        "rnn-attention": Architecture(RecurrentAttentionEncoder, _sizes_of_rivals(1)),
        "conv": Architecture(ConvolutionalEncoder, _sizes_of_rivals(2)),
    },
)  # fmt: skip
