"""Every setting: its name, type, default and one sentence. A recipe is a TOML file that states only what differs.

Sections are frozen dataclasses; the sentence below a field is its documentation, in `docs/settings.md` as here.
`regard/recipes.py` reads and writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ParallelText:
    """`[data]` of a translation recipe: which files, which columns, which pairs are left out."""

    source_language: str = "source"
    """Language translated from; a label for people, and for Moses tokens in `evaluate --paper`."""
    target_language: str = "target"
    """Language translated into."""
    train: tuple[str, ...] = ()
    """Training text: one TSV file, or two line-aligned files (source, target). Plain, .gz or .xz."""
    valid: tuple[str, ...] = ()
    """Validation text, in the same form; never trained on."""
    test: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Test sets by name, each in the same form."""
    source_column: int = 1
    """Column of a TSV that holds the source, counted from 1."""
    target_column: int = 2
    """Column of a TSV that holds the target."""
    split_column: int = 0
    """Column of a TSV that names the split (train, valid or the test set's name); 0: every row belongs."""
    folder: str = ""
    """Where relative paths start, itself relative to the recipe's folder; `--data` or REGARD_DATA wins over it."""
    download: Mapping[str, str] = field(default_factory=dict)
    """For a file that is not there: `path = "URL sha256"`, fetched once and checked."""
    max_pieces: int = 200
    """Pairs with a side of more pieces than this are skipped."""
    max_ratio: float = 4.0
    """Pairs whose longer side has over 10 pieces and more than this many times the other's are skipped."""
    prepared: str = "prepared"
    """Folder that keeps tokenizers and ids ready for training."""


@dataclass(frozen=True)
class Tokenizer:
    """`[tokenizer]`: sub-word pieces learned from the training text by SentencePiece."""

    kind: str = "bpe"
    """`bpe` (merges the most frequent pair) or `unigram` (keeps the most probable pieces)."""
    pieces: int = 8_000
    """Size of the vocabulary; of each vocabulary when `joint` is false."""
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
    """`tiny`, `small` or `base`, of the Transformer also `big`: a name for width, layers, dropout and the like together."""
    width: int = 512
    """Length of the vector that stands for one piece (the paper's d_model), and of a recurrent state."""
    encoder_layers: int = 6
    """Layers that read the source."""
    decoder_layers: int = 6
    """Layers that write the target."""
    dropout: float = 0.1
    """Share of the embeddings and of what layers pass on that is dropped in training."""
    max_positions: int = 1_024
    """Longest sequence: as far as a table of positions goes, where there is one."""
    tied: bool = True
    """Share one matrix between source embedding, target embedding and output (needs a joint tokenizer)."""


@dataclass(frozen=True)
class Transformer(Model):
    """`[model]` with `architecture = "transformer"`: the encoder-decoder of Vaswani et al. 2017."""

    architecture: str = "transformer"
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
class Recurrent(Model):
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
    """Show the decoder what it attended to for the piece before; slower to train, since pieces wait for each other."""


@dataclass(frozen=True)
class Convolutional(Model):
    """`[model]` with `architecture = "conv"`: the convolutional encoder-decoder of Gehring et al. 2017."""

    architecture: str = "conv"
    encoder_layers: int = 8
    decoder_layers: int = 8
    dropout: float = 0.2
    kernel: int = 3
    """Positions that one convolution sees; odd."""


SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "transformer": {
        "tiny": dict(width=128, feed_forward=256, heads=4, encoder_layers=4, decoder_layers=4, dropout=0.3),
        "small": dict(width=256, feed_forward=1_024, heads=4, encoder_layers=3, decoder_layers=3, dropout=0.1),
        "base": dict(width=512, feed_forward=2_048, heads=8, encoder_layers=6, decoder_layers=6, dropout=0.1),
        "big": dict(width=1_024, feed_forward=4_096, heads=16, encoder_layers=6, decoder_layers=6, dropout=0.3),
    },
    **{
        architecture: {
            "tiny": dict(width=128, encoder_layers=layers, decoder_layers=layers, dropout=0.3),
            "small": dict(width=256, encoder_layers=layers, decoder_layers=layers, dropout=0.2),
            "base": dict(width=512, encoder_layers=2 * layers, decoder_layers=2 * layers, dropout=0.2),
        }
        for architecture, layers in (("rnn", 1), ("rnn-attention", 1), ("conv", 4))
    },
}


@dataclass(frozen=True)
class Training:
    """`[training]`: the one loop that trains every model."""

    batch_tokens: int = 4_096
    """Target tokens per update, summed over accumulation and all processes."""
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
    """What decides which weights are best: `bleu` (higher) or `loss` (lower) on the validation text."""
    validate_sentences: int = 1_000
    """Validation sentences that are decoded (greedily) for BLEU; the loss uses all of them."""
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
class Recipe:
    """One experiment. What a model file stores of itself."""

    name: str = "model"
    """Names the run folder, `runs/NAME`; the recipe's file name unless stated."""
    task: str = "translate"
    """What the model does."""
    data: ParallelText = field(default_factory=ParallelText)
    tokenizer: Tokenizer = field(default_factory=Tokenizer)
    model: Model = field(default_factory=Transformer)
    training: Training = field(default_factory=Training)
    decoding: Decoding = field(default_factory=Decoding)


# One row per task and per architecture: the classes that read its sections.
TASKS: dict[str, dict[str, type]] = {
    "translate": {"data": ParallelText, "tokenizer": Tokenizer, "training": Training, "decoding": Decoding}
}
ARCHITECTURES: dict[str, dict[str, type]] = {
    "translate": {
        "transformer": Transformer,
        "rnn": Recurrent,
        "rnn-attention": RecurrentAttention,
        "conv": Convolutional,
    }
}

CHOICES: dict[str, tuple[str, ...]] = {
    "tokenizer.kind": ("bpe", "unigram"),
    "tokenizer.normalization": ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity"),
    "model.norm": ("post", "pre"),
    "model.positions": ("sinusoidal", "learned"),
    "model.cell": ("lstm", "gru"),
    "model.score": ("additive", "dot"),
    "training.schedule": ("inverse-sqrt", "cosine", "linear", "constant"),
    "training.metric": ("bleu", "loss"),
    "training.average_of": ("last", "best"),
    "training.device": ("auto", "cpu", "cuda"),
    "training.precision": ("auto", "float32"),
    "training.sharding": ("none", "full"),
    "decoding.length_penalty": ("paper", "mean", "none"),
}

# Numbers are at least 0, or what is said here.
AT_LEAST: dict[str, float] = {
    "data.source_column": 1, "data.target_column": 1, "data.max_pieces": 1, "data.max_ratio": 1,
    "tokenizer.pieces": 260, "tokenizer.sample": 1, "tokenizer.coverage": 0.5,  # 4 special pieces and 256 bytes
    "model.width": 2, "model.feed_forward": 1, "model.heads": 1, "model.encoder_layers": 1, "model.decoder_layers": 1,
    "model.max_positions": 2, "model.kernel": 1, "training.batch_tokens": 1, "training.accumulate": 1, "training.updates": 1,
    "training.validate_every": 1, "training.validate_sentences": 1, "training.average": 1,
    "decoding.beam": 1, "decoding.batch_tokens": 1,
}  # fmt: skip
AT_MOST: dict[str, float] = {"tokenizer.coverage": 1, "training.seed": 2**63 - 1}
BELOW_ONE = (
    "model.dropout", "model.attention_dropout", "model.activation_dropout", "training.label_smoothing", "training.betas",
)  # fmt: skip
