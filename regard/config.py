"""Every setting: its name, type, default and one sentence. A recipe is a TOML file that states only what differs.

Sections are frozen dataclasses; the sentence below a field is its documentation, in `docs/settings.md` as here.
`regard/recipes.py` reads and writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Data:
    """`[data]`: what every task is told of its files."""

    train: tuple[str, ...] = ()
    """Training text: TSV, or what else the task reads. Plain, .gz or .xz."""
    valid: tuple[str, ...] = ()
    """Validation text, in the same form; never trained on."""
    test: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Test sets by name, each in the same form."""
    folder: str = ""
    """Where relative paths start, itself relative to the recipe's folder; `--data` or REGARD_DATA wins over it."""
    download: Mapping[str, str] = field(default_factory=dict)
    """For a file that is not there: `path = "URL sha256"`, fetched once and checked."""
    max_pieces: int = 200
    """Longest text in pieces."""
    prepared: str = "prepared"
    """Folder that keeps tokenizers and ids ready for training."""


@dataclass(frozen=True)
class ParallelText(Data):
    """`[data]` of a translation recipe: which files, which columns, which pairs are left out.

    A text is one TSV file, or two line-aligned files (source, target).
    """

    source_language: str = "source"
    """Language translated from; a label for people, and for Moses tokens in `evaluate --paper`."""
    target_language: str = "target"
    """Language translated into."""
    source_column: int = 1
    """Column of a TSV that holds the source, counted from 1."""
    target_column: int = 2
    """Column of a TSV that holds the target."""
    split_column: int = 0
    """Column of a TSV that names the split (train, valid or the test set's name); 0: every row belongs."""
    max_pieces: int = 200
    """Pairs with a side of more pieces than this are skipped."""
    max_ratio: float = 4.0
    """Pairs whose longer side has over 10 pieces and more than this many times the other's are skipped."""


@dataclass(frozen=True)
class LabelledText(Data):
    """`[data]` of a classification recipe: texts and what they are to be called.

    A text is one file: TSV, CSV (the name ends in .csv) or JSONL (.jsonl).
    """

    text: str = "1"
    """Column of the text: its number, counted from 1, or its name in the file's first row or in JSON."""
    label: str = "2"
    """Column of the label."""
    split: str = ""
    """Column that names the split (train, valid or the test set's name); nothing: every row belongs."""
    quoted: bool = False
    """A cell of a TSV may stand in double quotes, as pandas writes it; a CSV's always may."""
    replace: Mapping[str, str] = field(default_factory=dict)
    """Strings that each text has replaced, here and when the model works: `"<br />" = " "`."""
    hold_out: float = 0.1
    """Share of the training text that validates, spread evenly over it, when no `valid` is named."""
    max_pieces: int = 256
    """Longest text that is read at once, in pieces."""
    long: str = "ends"
    """Of a longer text: `first`, its beginning; `ends`, half from each end; `windows`, all of it in overlapping windows that
    vote."""


@dataclass(frozen=True)
class PlainText(Data):
    """`[data]` of a language model: text as it is, one file or several that follow each other."""

    documents: str = "stream"
    """`stream`: lines follow each other, each with its end; `lines`: each line is a document, and knows of no other."""
    max_pieces: int = 256
    """Pieces that are read together: the longest way back that the model learns to look."""


@dataclass(frozen=True)
class Tokenizer:
    """`[tokenizer]`: sub-word pieces learned from the training text by SentencePiece."""

    kind: str = "bpe"
    """`bpe` (merges the most frequent pair), `unigram` (keeps the most probable pieces), or `words`: whatever stands between
    spaces, and what is not in the vocabulary is unknown."""
    pieces: int = 8_000
    """Size of the vocabulary, 260 special ones and bytes included (4 of `words`; there 0 means every word of the text); of each
    vocabulary when `joint` is false."""
    joint: bool = True
    """One vocabulary for both languages, so that embeddings can be tied three ways."""
    normalization: str = "nmt_nfkc"
    """Unicode normalisation before splitting: `nmt_nfkc`, `nfkc` or `identity`; `_cf` after the first two folds case."""
    coverage: float = 0.9995
    """Share of characters that get a piece of their own; the rest is spelled in bytes."""
    sample: int = 200_000
    """Lines of each language that the tokenizer learns from; keeps memory bounded on large corpora."""


@dataclass(frozen=True)
class Model:
    """`[model]`: what every architecture can be told."""

    architecture: str = ""
    """Which model; each architecture has settings of its own."""
    size: str = "base"
    """`tiny`, `small` or `base`, of a translating Transformer also `big`: a name for width, layers, dropout and the like
    together."""
    width: int = 512
    """Length of the vector that stands for one piece (the paper's d_model), and of a recurrent state."""
    dropout: float = 0.1
    """Share of the embeddings and of what layers pass on that is dropped in training."""
    max_positions: int = 1_024
    """Longest sequence: as far as a table of positions goes, where there is one."""


@dataclass(frozen=True)
class Attending(Model):
    """What every stack of attention layers can be told."""

    feed_forward: int = 2_048
    """Width of the hidden layer between two attentions (d_ff)."""
    heads: int = 8
    """Attention heads; must divide the width."""
    key_width: int = 0
    """Length of a query and of a key in each head (d_k); 0: width / heads."""
    attention_dropout: float = 0.0
    """Share of attention weights that is dropped in training."""
    activation_dropout: float = 0.0
    """Share of the feed-forward's hidden layer that is dropped in training."""
    norm: str = "post"
    """`post`: normalise after adding, as in the paper; `pre`: before each sub-layer, easier to train deep or fast."""
    positions: str = "sinusoidal"
    """`sinusoidal` (sine and cosine interleaved) or `learned`."""


@dataclass(frozen=True)
class Translating(Model):
    """What every encoder-decoder can be told."""

    encoder_layers: int = 6
    """Layers that read the source."""
    decoder_layers: int = 6
    """Layers that write the target."""
    tied: bool = True
    """Share one matrix between source embedding, target embedding and output (needs a joint tokenizer)."""


@dataclass(frozen=True)
class Transformer(Attending, Translating):
    """`[model]` with `architecture = "transformer"`: the encoder-decoder of Vaswani et al. 2017."""

    architecture: str = "transformer"


@dataclass(frozen=True)
class Recurrent(Translating):
    """`[model]` with `architecture = "rnn"`: all that the decoder knows of the source is the encoder's last state."""

    architecture: str = "rnn"
    encoder_layers: int = 2
    decoder_layers: int = 2
    dropout: float = 0.2
    cell: str = "lstm"
    """`lstm` or `gru`: what carries the state from one piece to the next."""


@dataclass(frozen=True)
class RecurrentAttention(Recurrent):
    """`[model]` with `architecture = "rnn-attention"`: for each piece the decoder looks at the whole source again."""

    architecture: str = "rnn-attention"
    score: str = "additive"
    """How well a state and a source position match: `additive` (a small network) or `dot` (a scaled product)."""
    input_feeding: bool = True
    """The decoder reads with each piece what it attended to last."""


@dataclass(frozen=True)
class Convolutional(Translating):
    """`[model]` with `architecture = "conv"`: the convolutional encoder-decoder of Gehring et al. 2017."""

    architecture: str = "conv"
    encoder_layers: int = 8
    decoder_layers: int = 8
    dropout: float = 0.2
    kernel: int = 3
    """Positions that one convolution sees; odd."""


@dataclass(frozen=True)
class TextEncoder(Attending):
    """`[model]` of a classifier: the encoder alone, pooled into one vector."""

    architecture: str = "transformer"
    layers: int = 6
    """Layers that read the text."""
    pooling: str = "max"
    """One vector for the text: `max` or `mean` over its positions, or the `first` position, which stands for the whole."""
    ngrams: int = 1
    """Longest run of pieces that votes for labels besides what attention finds; 1: none does."""
    buckets: int = 1_000_000
    """Places for the votes of runs, found by their hash."""


@dataclass(frozen=True)
class Continuing(Model):
    """What every language model can be told."""

    layers: int = 6
    """Layers that read what is written."""
    tied: bool = True
    """Share one matrix between embedding and output."""
    cutoffs: tuple[int, ...] = ()
    """Ids at which the vocabulary is cut: rarer words are looked at only when one of them is meant (adaptive softmax)."""


@dataclass(frozen=True)
class TextDecoder(Attending, Continuing):
    """`[model]` of a language model: the decoder alone, with nothing to look at but what is written."""

    architecture: str = "transformer"


@dataclass(frozen=True)
class RecurrentDecoder(Continuing):
    """`[model]` of a language model with `architecture = "rnn"`: what was written is a state."""

    architecture: str = "rnn"
    layers: int = 2
    dropout: float = 0.2
    cell: str = "lstm"
    """`lstm` or `gru`: what carries the state from one piece to the next."""


@dataclass(frozen=True)
class Training:
    """`[training]`: the one loop that trains every model."""

    batch_tokens: int = 4_096
    """Tokens per update (of the target, where there are two texts), summed over accumulation and all processes."""
    accumulate: int = 1
    """Parts that each process computes one after another before an update; divides the memory needed."""
    updates: int = 10_000
    """Updates in all; schedules end here."""
    minutes: float = 0.0
    """Minutes spent on updates after which training stops all the same; 0: never."""
    learning_rate: float = 7e-4
    """Peak of the schedule, reached at the end of the warm-up."""
    schedule: str = "inverse-sqrt"
    """`inverse-sqrt` as in the paper, `cosine` or `linear` (both down to zero), or `constant`."""
    warmup: int = 4_000
    """Updates over which the learning rate rises from zero."""
    betas: tuple[float, float] = (0.9, 0.98)
    """Adam's decay of the mean and of the squared mean of gradients."""
    epsilon: float = 1e-9
    """Adam's guard against division by zero."""
    weight_decay: float = 0.0
    """AdamW's decay of matrices; vectors (biases, norms) are left alone."""
    clip: float = 0.0
    """Longest gradient; a longer one is scaled down. 0: never."""
    label_smoothing: float = 0.1
    """Share of the target probability spread over all pieces."""
    validate_every: int = 500
    """Updates between validations; each one writes a checkpoint."""
    checkpoint_every: int = 0
    """Updates between further checkpoints, so that a killed run loses little; 0: only with validations."""
    metric: str = "bleu"
    """What decides which weights are best on the validation text: `loss` (lower), or what the task counts (higher): `bleu` of
    translations, `accuracy` of labels."""
    validate_sentences: int = 1_000
    """Validation sentences that are translated (greedily) for BLEU; the loss uses all of them."""
    probes: int = 0
    """Validation sentences whose attention is filmed while it forms, for the movie of `regard view`; 0: none."""
    probe_every: int = 0
    """Updates between two frames of the movie, besides one at every validation; 0: only those."""
    patience: int = 0
    """Validations without a better metric after which training stops; 0: never."""
    average: int = 5
    """Checkpoints whose mean becomes the model; 1: the single best or last."""
    average_of: str = "last"
    """`last` or `best`: which checkpoints are averaged, and kept on disk."""
    seed: int = 1
    """Everything random follows from it."""
    threads: int = 0
    """CPU threads; 0: one per core (shared among processes)."""
    device: str = "auto"
    """`auto`, `cpu` or `cuda`."""
    precision: str = "auto"
    """`auto` (bfloat16 autocast on CUDA, float32 on CPU) or `float32`."""
    compile: bool = False
    """Let torch.compile fuse the model (CUDA)."""
    sharding: str = "none"
    """Under torchrun: `none` (DDP, each process holds the model) or `full` (FSDP2, it is split)."""
    tensorboard: bool = False
    """Also write TensorBoard events into the run folder."""


@dataclass(frozen=True)
class Decoding:
    """`[decoding]`: how sentences are written once the model is trained; every verb can override it."""

    beam: int = 5
    """Hypotheses kept side by side; 1 is greedy."""
    length_penalty: str = "paper"
    """`paper` divides a score by ((5 + length) / 6) ** alpha, `mean` by the length, `none` by nothing."""
    alpha: float = 0.6
    """Strength of the paper's length penalty."""
    max_ratio: float = 2.0
    """Longest output as a multiple of the source's pieces …"""
    max_extra: int = 20
    """… plus this many."""
    no_repeat_ngram: int = 0
    """Never write the same run of this many pieces twice; 0: allowed."""
    batch_tokens: int = 4_096
    """Source tokens decoded together, counting each hypothesis."""


@dataclass(frozen=True)
class TextTraining(Training):
    """`[training]` of what reads one text."""

    label_smoothing: float = 0.0
    word_dropout: float = 0.0
    """Share of the pieces that are hidden from the model in training: it reads that something unknown stands there."""


@dataclass(frozen=True)
class ClassifierTraining(TextTraining):
    """`[training]` of a classifier."""

    metric: str = "accuracy"
    r_drop: float = 0.0
    """Weight of the distance between what two passes with other dropouts say of a text (R-Drop); 0: one pass."""
    masked_epochs: int = 0
    """Passes over the training text, before labels matter, in which the encoder learns to guess hidden pieces."""


@dataclass(frozen=True)
class LanguageTraining(TextTraining):
    """`[training]` of a language model."""

    metric: str = "loss"


@dataclass(frozen=True)
class Recipe:
    """One experiment. What a model file stores of itself."""

    name: str = "model"
    """Names the run folder, `runs/NAME`; the recipe's file name unless stated."""
    task: str = ""
    """What the model does."""
    data: Data = field(default_factory=Data)
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    model: Model = field(default_factory=Model)
    training: Training = field(default_factory=Training)


@dataclass(frozen=True)
class TranslationRecipe(Recipe):
    """Text in one language → text in another."""

    task: str = "translate"
    data: ParallelText = field(default_factory=ParallelText)
    model: Translating = field(default_factory=Transformer)
    decoding: Decoding = field(default_factory=Decoding)


@dataclass(frozen=True)
class ClassificationRecipe(Recipe):
    """Text → label."""

    task: str = "classify"
    data: LabelledText = field(default_factory=LabelledText)
    model: TextEncoder = field(default_factory=TextEncoder)
    training: ClassifierTraining = field(default_factory=ClassifierTraining)


@dataclass(frozen=True)
class LanguageRecipe(Recipe):
    """Text → how it goes on."""

    task: str = "language-model"
    data: PlainText = field(default_factory=PlainText)
    model: Continuing = field(default_factory=TextDecoder)
    training: LanguageTraining = field(default_factory=LanguageTraining)


# One row per task: the class of its recipes, whose fields name the classes that read each section …
TASKS: dict[str, type[Recipe]] = {
    "translate": TranslationRecipe,
    "classify": ClassificationRecipe,
    "language-model": LanguageRecipe,
}
# … but for [model], which depends on the architecture. The first is what a recipe means that names none.
ARCHITECTURES: dict[str, dict[str, type[Model]]] = {
    "translate": {
        "transformer": Transformer,
        "rnn": Recurrent,
        "rnn-attention": RecurrentAttention,
        "conv": Convolutional,
    },
    "classify": {"transformer": TextEncoder},
    "language-model": {"transformer": TextDecoder, "rnn": RecurrentDecoder},
}
