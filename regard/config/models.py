"""`[model]`: what each architecture can be told."""

from __future__ import annotations

from dataclasses import dataclass


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
    """Ids at which the vocabulary is cut: rarer words are looked at only when one of them is meant (adaptive softmax).
    With label smoothing all are, for it spreads over all: then a cut saves no time."""


@dataclass(frozen=True)
class TextDecoder(Attending, Continuing):
    """`[model]` of a language model: the decoder alone, with nothing to look at but what is written."""

    architecture: str = "transformer"
    pointer: bool = False
    """A last look back whose weights predict: what comes next may be any piece that was read (Merity et al. 2017)."""


@dataclass(frozen=True)
class RecurrentDecoder(Continuing):
    """`[model]` of a language model with `architecture = "rnn"`: what was written is a state."""

    architecture: str = "rnn"
    layers: int = 2
    dropout: float = 0.2
    cell: str = "lstm"
    """`lstm` or `gru`: what carries the state from one piece to the next."""
