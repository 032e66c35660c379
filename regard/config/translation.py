"""What translation can be told: parallel text, encoder-decoders, their training and the search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from regard.config.data import TextData, is_plain
from regard.config.field import setting
from regard.config.model import DEEPEST, AttentionModel, ConvolutionalModel, Model, RecurrentModel
from regard.config.recipe import Architecture, TaskSettings, TextRecipe
from regard.config.training import ConsistentTraining
from regard.errors import shown

TAG = re.compile(r"<[\w-]{1,30}>")


def tag_of(language: str) -> str:
    """The token before a source that says into which language it is to be translated."""
    return f"<2{language}>"


@dataclass(frozen=True)
class Corpus:
    """`[[data.corpus]]`: one of several texts that are mixed. Its files are as those of `[data]`."""

    name: str = ""
    """What reports and test sets call it."""
    train: tuple[str, ...] = setting((), path="file")
    valid: tuple[str, ...] = setting((), path="file")
    test: tuple[str, ...] = setting((), path="file", free=True)
    source_language: str = ""
    """Nothing: as `[data]` says; so are the columns where they are 0."""
    target_language: str = ""
    source_column: int = 0
    target_column: int = 0
    split: str = "train"
    """What the split column calls the rows that are trained on; those of `valid` and `test` it calls that."""
    both_directions: bool = False
    """Train the other way, too: each pair once as it stands, and once with its sides swapped."""
    weight: float = setting(1.0, least=0.001, most=1_000)
    """How often its pairs are seen in an epoch: 2 is twice, 0.5 every other epoch."""
    tag: str = ""
    """A token of its own before every source, such as `<bt>` for what a machine translated; translating never gives it."""

    def impossible(self) -> Iterator[str]:
        if not is_plain(self.name):
            yield f"data.corpus: {shown(self.name)} cannot name a corpus; give each a name"
        if not self.train:
            yield f"data.corpus {shown(self.name)} names no train files"
        if self.tag and not TAG.fullmatch(self.tag):
            yield f"data.corpus {shown(self.name)}: a tag is written like <bt>, with up to 30 letters, not {shown(self.tag)}"
        if not 0.001 <= self.weight <= 1_000:
            yield f"data.corpus {shown(self.name)}: weight must be between 0.001 and 1,000, not {self.weight}"


class Direction(NamedTuple):
    """One text in one direction: what `[data]` or an entry of `[[data.corpus]]` stands for."""

    name: str
    data: ParallelText
    """Its files, columns and languages."""
    swapped: bool
    weight: float
    tags: tuple[str, ...]
    paired: bool
    """Whether there is the same text in the other direction."""
    split: str = "train"
    """What the split column calls the rows that are trained on."""

    @property
    def languages(self) -> tuple[str, str]:
        """From which, into which."""
        pair = self.data.source_language, self.data.target_language
        return (pair[1], pair[0]) if self.swapped else pair

    @property
    def test_name(self) -> str:
        return f"{self.name} {'-'.join(self.languages)}" if self.paired else self.name


@dataclass(frozen=True)
class ParallelText(TextData):
    """`[data]` of a translation recipe: which files, which columns, which pairs are left out.

    A text is one TSV file, or two line-aligned files (source, target).
    """

    FORM: ClassVar[str] = "name one TSV, or a source and a target file"
    MOST_FILES: ClassVar[int | None] = 2

    source_language: str = setting("source", inherited=True)
    """Language translated from; a label for people, and for Moses tokens in `evaluate --paper`."""
    target_language: str = setting("target", inherited=True)
    """Language translated into."""
    source_column: int = setting(1, least=1)
    """Column of a TSV that holds the source, counted from 1."""
    target_column: int = setting(2, least=1)
    """Column of a TSV that holds the target."""
    split_column: int = 0
    """Column of a TSV that names the split (train, valid or the test set's name); 0: every row belongs."""
    hold_out: float = setting(0.0, below=1)
    """Share of the training text that validates, spread evenly over it, where no `valid` is named."""
    corpus: tuple[Corpus, ...] = setting((), path="file")
    """Several texts that are mixed, in place of `train`, `valid` and `test`: `[[data.corpus]]` entries."""
    temperature: float = setting(1.0, least=1, most=100)
    """Above 1, small corpora are seen more often and large ones less: as if each had its size to the power of 1 / temperature."""
    max_tokens: int = setting(200, least=1, most=2**20, inherited=True)
    """Pairs with a side of more tokens than this are skipped."""
    max_ratio: float = setting(4.0, least=1)
    """Pairs whose longer side has over 10 tokens and more than this many times the other's are skipped."""
    join: float = setting(0.0, most=1)
    """Share of training lines that consist of two to four random pairs, others in every epoch, at most `max_tokens` long."""
    strip_punctuation: float = setting(0.0, most=1)
    """Share of training lines that lose the mark at their end, on both sides: not everybody writes one."""
    change_case: float = setting(0.0, most=1)
    """Share of training lines in another case: half of them in capitals, half with a source in small letters."""
    copy: float = setting(0.0, most=1)
    """Where both sides hold the same name or number, the share of training lines in which it becomes another: so a model
    learns to copy what it has never seen."""
    protect: float = setting(0.0, most=1)
    """Where both sides hold the same number, time, address or tag, the share of training lines with a placeholder for it; the
    model then keeps such values as they are. 0: the tokenizer has no placeholders."""

    @property
    def split_by_column(self) -> bool:
        return self.split_column > 0

    @property
    def needed(self) -> tuple[str, ...]:
        return () if self.corpus else ("train",) if self.hold_out else ("train", "valid")

    @property
    def directions(self) -> list[Direction]:
        """Every text that is trained on, in the order in which it is prepared."""
        if not self.corpus:
            return [Direction("", self, False, 1.0, (), False)]
        targets = self.target_languages
        found = []
        for each in self.corpus:
            columns = (each.source_column or self.source_column, each.target_column or self.target_column)
            languages = (each.source_language or self.source_language, each.target_language or self.target_language)
            own = replace(
                self, corpus=(), train=each.train, valid=each.valid, test={each.name: each.test} if each.test else {},
                source_column=columns[0], target_column=columns[1],
                source_language=languages[0], target_language=languages[1],
            )  # fmt: skip
            for swapped in (False, True) if each.both_directions else (False,):
                into = tag_of(languages[0 if swapped else 1]) if len(targets) > 1 else ""
                tags = tuple(filter(None, (into, each.tag)))
                found.append(Direction(each.name, own, swapped, each.weight, tags, each.both_directions, each.split))
        return found

    @property
    def target_languages(self) -> list[str]:
        """Into which it is translated, each once."""
        into = [(each.target_language or self.target_language) for each in self.corpus] or [self.target_language]
        back = [(each.source_language or self.source_language) for each in self.corpus if each.both_directions]
        return list(dict.fromkeys([*into, *back]))

    @property
    def tags(self) -> list[str]:
        """The tokens that tell directions and corpora apart."""
        return list(dict.fromkeys(tag for each in self.directions for tag in each.tags))

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(file for each in self.corpus for file in (*each.train, *each.valid)) or super().inputs

    @property
    def tests(self) -> Mapping[str, tuple[str, ...]]:
        named = {each.test_name: files for each in self.directions for files in each.data.test.values()}
        return named if self.corpus else self.test

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        yield from self.same_columns("source_column", "target_column", "split_column")
        for each in self.corpus:
            yield from each.impossible()
        names = [each.name for each in self.corpus]
        if len({*names}) < len(names):
            yield f"data.corpus: each entry needs a name of its own, not {', '.join(names)}"
        if self.corpus and (self.train or self.valid or self.test):
            yield "data.train, data.valid and data.test stand in the entries where there are [[data.corpus]]; move them there"
        languages = {name for each in self.directions for name in each.languages}
        for name in sorted(languages) if len(self.target_languages) > 1 else ():
            if not TAG.fullmatch(tag_of(name)):
                yield f"{shown(name)} cannot name one of several languages: up to 28 letters, such as fr"
        for direction in self.directions if self.corpus else ():
            yield from direction.data.same_columns("source_column", "target_column", "split_column")


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
class Convolutional(ConvolutionalModel, TranslationModel):
    """`[model]` with `architecture = "conv"`: the convolutional encoder-decoder of Gehring et al. 2017."""

    architecture: str = "conv"
    encoder_layers: int = setting(8, least=1, most=DEEPEST)
    decoder_layers: int = setting(8, least=1, most=DEEPEST)


@dataclass(frozen=True)
class TranslationTraining(ConsistentTraining):
    """`[training]` of a translation recipe."""

    metric: str = "bleu"
    validate_sentences: int = setting(1_000, least=1)
    """Validation sentences that are translated (greedily) for BLEU; the loss uses all of them."""
    simcut: float = setting(0.0, most=1_000)
    """Weight of the distance between what a pass says and what a second one says that lacks some of the words on both sides
    (SimCut), such as 3; only the first is taught. 0: one pass."""
    cutoff: float = setting(0.05, below=1)
    """Share of the tokens that the second pass of `simcut` lacks."""
    bidirectional: float = setting(0.0, below=1)
    """Share of the updates, such as 0.33, at whose beginning each pair is learned in both directions, in one of them in one epoch
    and in the other in the next; then only in that of the recipe. It needs one vocabulary for both."""

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        if self.r_drop and self.simcut:
            yield "training.r_drop and training.simcut are two ways to the same end: set one of them to 0"


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
            yield 'tokenizer.kind = "words" has no bytes to spell what it lacks, so it cannot translate; bpe, unigram or characters can'
        if self.data.tags and not self.tokenizer.joint:
            yield "tags and several directions need tokenizer.joint = true"
        if self.data.tags and (needed := self.data.max_tokens + 3) > self.model.max_positions:
            yield f"data.max_tokens = {self.data.max_tokens} with tags needs model.max_positions of at least {needed}"
        if self.training.bidirectional and not self.tokenizer.joint:
            yield "training.bidirectional needs tokenizer.joint = true: each language is read and written"
        if self.training.bidirectional and len(self.data.target_languages) > 1:
            yield "training.bidirectional needs one target language: corpora with both_directions are learned in both to the end"
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
