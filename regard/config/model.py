"""`[model]`: what every architecture can be told, and what every stack of attention layers can be told besides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from regard.config.data import LONGEST
from regard.config.field import setting

WIDEST = 65_536  # four times the widest model that was ever published
DEEPEST = 1_000  # layers, as many as the deepest Transformer that was ever trained
MOST_HEADS = 1_024


@dataclass(frozen=True)
class Model:
    """`[model]`: what every architecture can be told."""

    architecture: str = ""
    """Which model; each architecture has settings of its own."""
    size: str = "base"
    """`tiny`, `small` or `base`, of a translating Transformer also `big`: a name for width, layers, dropout and the like
    together."""
    width: int = setting(512, least=2, most=WIDEST)
    """Length of the vector that stands for one token (the paper's d_model), and of a recurrent state."""
    dropout: float = setting(0.1, below=1)
    """Share of the embeddings and of what layers pass on that is dropped in training."""
    max_positions: int = setting(1_024, least=2, most=LONGEST + 1)
    """Longest sequence: as far as a table of positions goes, where there is one."""

    def impossible(self) -> Iterator[str]:
        """What is wrong though each setting alone is right."""
        return iter(())


@dataclass(frozen=True)
class AttentionModel(Model):
    """What every stack of attention layers can be told."""

    feed_forward: int = setting(2_048, most=16 * WIDEST)
    """Width of the hidden layer between two attentions (d_ff); 0: layers have no feed-forward, and attend only."""
    heads: int = setting(8, least=1, most=MOST_HEADS)
    """Attention heads; must divide the width."""
    key_width: int = setting(0, most=WIDEST)
    """Length of a query and of a key in each head (d_k); 0: width / heads."""
    value_width: int = setting(0, most=WIDEST)
    """Length of a value in each head (d_v); 0: width / heads."""
    attention_dropout: float = setting(0.0, below=1)
    """Share of attention weights that is dropped in training."""
    activation_dropout: float = setting(0.0, below=1)
    """Share of the feed-forward's hidden layer that is dropped in training."""
    norm: str = setting("post", choices=("post", "pre", "none"))
    """`post`: normalise after adding, as in the paper; `pre`: before each sub-layer, easier to train deep or fast; `none`:
    never."""
    positions: str = setting("sinusoidal", choices=("sinusoidal", "learned", "none"))
    """`sinusoidal` (sine and cosine interleaved), `learned`, or `none`: without them attention sees a set."""
    residual: bool = True
    """Add what a sub-layer found to what it was given (Add & Norm); `false`: what it was given is gone."""
    scale: bool = True
    """Divide scores by the root of the keys' width; `false`: dot products as they are."""
    bias: bool = True
    """Linear layers of attention and feed-forward add a learned bias; the paper's attention has none."""
    activation: str = setting("relu", choices=("relu", "gelu", "swish"))
    """Between the feed-forward's two layers: `relu` as in the paper, `gelu`, or `swish` (also called SiLU)."""
    norm_epsilon: float = setting(1e-5, least=1e-12, most=1)
    """What layer normalisation adds to the variance, against division by zero."""

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        if self.width % self.heads:
            fitting = (heads for heads in range(1, MOST_HEADS + 1) if self.width % heads == 0)
            near = min(fitting, key=lambda heads: abs(heads - self.heads))
            yield f"model.heads = {self.heads} does not divide model.width = {self.width}; {near} would"
        if self.positions == "sinusoidal" and self.width % 2:
            yield f"model.width = {self.width} must be even for sinusoidal positions (sine and cosine pairs)"


@dataclass(frozen=True)
class RecurrentModel(Model):
    """What carries the state of a recurrent model."""

    dropout: float = setting(0.2, below=1)
    cell: str = setting("lstm", choices=("lstm", "gru"))
    """`lstm` or `gru`: what carries the state from one token to the next."""


@dataclass(frozen=True)
class ConvolutionalModel(Model):
    """What every stack of convolutions can be told."""

    dropout: float = setting(0.2, below=1)
    kernel: int = setting(3, least=1, most=1_025)
    """Positions that one convolution sees; odd."""

    def impossible(self) -> Iterator[str]:
        yield from super().impossible()
        if not self.kernel % 2:
            yield f"model.kernel = {self.kernel} must be odd, to see as far to the left as to the right"
