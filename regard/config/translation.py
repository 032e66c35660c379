"""What translation can be told: parallel text, encoder-decoders, their training and the search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from regard.config.data import TextData
from regard.config.field import setting
from regard.config.model import DEEPEST, AttentionModel, Model, RecurrentModel
from regard.config.recipe import Architecture, TaskSettings, TextRecipe
from regard.config.training import Training


@dataclass(frozen=True)
class ParallelText(TextData):
    """`[data]` of a translation recipe: which files, which columns, which pairs are left out.

    A text is one TSV file, or two line-aligned files (source, target).
    """

    FORM: ClassVar[str] = "name one TSV, or a source and a target file"
    MOST_FILES: ClassVar[int | None] = 2

    source_language: str = "source"
    """Language translated from; a label for people, and for Moses tokens in `evaluate --paper`."""
    target_language: str = "target"
    """Language translated into."""
    source_column: int = setting(1, least=1)
    """Column of a TSV that holds the source, counted from 1."""
    target_column: int = setting(2, least=1)
    """Column of a TSV that holds the target."""
    split_column: int = 0
    """Column of a TSV that names the split (train, valid or the test set's name); 0: every row belongs."""
    max_tokens: int = setting(200, least=1, most=2**20)
    """Pairs with a side of more tokens than this are skipped."""
    max_ratio: float = setting(4.0, least=1)
    """Pairs whose longer side has over 10 tokens and more than this many times the other's are skipped."""

    @property
    def split_by_column(self) -> bool:
        return self.split_column > 0

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        yield from self.same_columns("source_column", "target_column", "split_column")


@dataclass(frozen=True)
class TranslationModel(Model):
    """What every encoder-decoder can be told."""

    encoder_layers: int = setting(6, least=1, most=DEEPEST)
    """Layers that read the source."""
    decoder_layers: int = setting(6, least=1, most=DEEPEST)
    """Layers that write the target."""
    tied: bool = True
    """Share one matrix between source embedding, target embedding and output (needs a joint tokenizer)."""


@dataclass(frozen=True)
class Transformer(AttentionModel, TranslationModel):
    """`[model]` with `architecture = "transformer"`: the encoder-decoder of Vaswani et al. 2017."""

    architecture: str = "transformer"


@dataclass(frozen=True)
class Recurrent(RecurrentModel, TranslationModel):
    """`[model]` with `architecture = "rnn"`: all that the decoder knows of the source is the encoder's last state."""

    architecture: str = "rnn"
    encoder_layers: int = setting(2, least=1, most=DEEPEST)
    decoder_layers: int = setting(2, least=1, most=DEEPEST)


@dataclass(frozen=True)
class RecurrentAttention(Recurrent):
    """`[model]` with `architecture = "rnn-attention"`: for each token the decoder looks at the whole source again."""

    architecture: str = "rnn-attention"
    score: str = setting("additive", choices=("additive", "dot"))
    """How well a state and a source position match: `additive` (a small network) or `dot` (a scaled product)."""
    input_feeding: bool = True
    """The decoder reads with each token what it attended to last."""

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        if self.width % 2:
            yield f"model.width = {self.width} must be even: the encoder reads both ways, half of it each"


@dataclass(frozen=True)
class Convolutional(TranslationModel):
    """`[model]` with `architecture = "conv"`: the convolutional encoder-decoder of Gehring et al. 2017."""

    architecture: str = "conv"
    encoder_layers: int = setting(8, least=1, most=DEEPEST)
    decoder_layers: int = setting(8, least=1, most=DEEPEST)
    dropout: float = setting(0.2, below=1)
    kernel: int = setting(3, least=1, most=1_025)
    """Positions that one convolution sees; odd."""

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        if not self.kernel % 2:
            yield f"model.kernel = {self.kernel} must be odd, to see as far to the left as to the right"


@dataclass(frozen=True)
class TranslationTraining(Training):
    """`[training]` of a translation recipe."""

    metric: str = "bleu"
    validate_sentences: int = setting(1_000, least=1)
    """Validation sentences that are translated (greedily) for BLEU; the loss uses all of them."""
    probes: int = setting(0, most=1_000, free=True)
    """Validation sentences whose attention is kept while it forms, for the movie of `regard view`; 0: none."""
    probe_every: int = setting(0, free=True)
    """Updates between two frames of the movie, besides one at every validation; 0: only those."""

    @property
    def filmed(self) -> bool:
        return self.probes > 0


@dataclass(frozen=True)
class Decoding:
    """`[decoding]`: how sentences are written once the model is trained; every verb can override it."""

    beam: int = setting(5, least=1, most=100, free=True)
    """Hypotheses kept side by side; 1 is greedy. More than 100 are refused: translations get worse long before (Koehn and
    Knowles 2017), and each costs its share of memory and time."""
    length_penalty: str = setting("paper", choices=("paper", "mean", "none"), free=True)
    """`paper` divides a score by ((5 + length) / 6) ** alpha, `mean` by the length, `none` by nothing."""
    alpha: float = setting(0.6, free=True)
    """Strength of the paper's length penalty."""
    max_ratio: float = setting(2.0, free=True)
    """Longest output as a multiple of the source's tokens …"""
    max_extra: int = setting(20, free=True)
    """… plus this many."""
    no_repeat_ngram: int = setting(0, free=True)
    """Never write the same run of this many tokens twice; 0: allowed."""
    batch_tokens: int = setting(4_096, least=1, most=100_000_000, free=True)
    """Source tokens decoded together, counting each hypothesis."""


@dataclass(frozen=True)
class TranslationRecipe(TextRecipe):
    """Text in one language → text in another."""

    task: str = "translation"
    data: ParallelText = field(default_factory=ParallelText)
    model: TranslationModel = field(default_factory=Transformer)
    training: TranslationTraining = field(default_factory=TranslationTraining)
    decoding: Decoding = field(default_factory=Decoding)

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        if self.tokenizer.kind == "words":
            yield 'tokenizer.kind = "words" has no bytes to spell what it lacks, so it cannot translate; bpe or unigram can'
        if self.model.tied and not self.tokenizer.joint:
            yield "model.tied = true needs tokenizer.joint = true: one matrix cannot serve two vocabularies"


def _sizes_of_rivals(layers: int) -> dict[str, dict[str, object]]:
    return {
        "tiny": dict(width=128, encoder_layers=layers, decoder_layers=layers, dropout=0.3),
        "small": dict(width=256, encoder_layers=layers, decoder_layers=layers, dropout=0.2),
        "base": dict(width=512, encoder_layers=2 * layers, decoder_layers=2 * layers, dropout=0.2),
    }


SETTINGS = TaskSettings(
    name="translation",
    aliases=("translate",),
    room="translation",
    verb="translate",
    recipe=TranslationRecipe,
    metrics=("bleu", "loss"),
    architectures={
        "transformer": Architecture(Transformer, {
            "tiny": dict(width=128, feed_forward=256, heads=4, encoder_layers=4, decoder_layers=4, dropout=0.3),
            "small": dict(width=256, feed_forward=1_024, heads=4, encoder_layers=3, decoder_layers=3, dropout=0.1),
            "base": dict(width=512, feed_forward=2_048, heads=8, encoder_layers=6, decoder_layers=6, dropout=0.1),
            "big": dict(width=1_024, feed_forward=4_096, heads=16, encoder_layers=6, decoder_layers=6, dropout=0.3),
        }),
        "rnn": Architecture(Recurrent, _sizes_of_rivals(1)),
        "rnn-attention": Architecture(RecurrentAttention, _sizes_of_rivals(1)),
        "conv": Architecture(Convolutional, _sizes_of_rivals(4)),
    },
    text_options=("source", "target"),
)  # fmt: skip
