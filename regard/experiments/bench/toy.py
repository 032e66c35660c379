"""Four translators that learn to copy made-up words in seconds: what the benches of gradients and of context train.

S sequences · N words of each · V vocabulary
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from regard import config
from regard.errors import UsageError
from regard.models.conv import Convolutional
from regard.models.encoder_decoder import EncoderDecoder
from regard.models.rnn import Recurrent, RecurrentAttention
from regard.models.transformer import Transformer
from regard.view.report import Both

BEGIN, FIRST_WORD = 1, 4  # ids below are no words
HEADS = 4
NAMES: dict[str, Both] = {
    "rnn": ("rnn, one state", "rnn(상태 하나)"),
    "rnn-attention": ("rnn-attention", "rnn-attention"),
    "conv": ("conv", "conv"),
    "transformer": ("transformer", "transformer"),
}


@dataclass(frozen=True)
class Copying:
    """How a toy is made and taught."""

    width: int
    words: int
    longest: int
    """Words of the longest sequence that it learns from."""
    positions: int
    """Words of the longest sequence that it must be able to read."""
    updates: int
    batch: int
    rate: float
    seed: int

    def __post_init__(self) -> None:
        if self.width % HEADS:
            raise UsageError(f"`width` must be a multiple of {HEADS}, for {HEADS} heads; not {self.width}")

    @property
    def size(self) -> int:
        """Of the vocabulary."""
        return FIRST_WORD + self.words


def build(name: str, toy: Copying) -> EncoderDecoder:
    """An untrained model of the architecture that recipes call so; the seed decides its weights."""
    torch.manual_seed(toy.seed)
    width, positions, size = toy.width, toy.positions + 1, toy.size
    shallow: dict[str, Any] = {
        "width": width,
        "dropout": 0.0,
        "max_positions": positions,
        "encoder_layers": 1,
        "decoder_layers": 1,
    }
    deep = {**shallow, "encoder_layers": 2, "decoder_layers": 2}
    makers: dict[str, Callable[[], EncoderDecoder]] = {
        "rnn": lambda: Recurrent(config.Recurrent(**shallow), size, size),
        # What was attended to is not fed in again, so that all positions are computed at once.
        "rnn-attention": lambda: RecurrentAttention(config.RecurrentAttention(**shallow, input_feeding=False), size, size),
        "conv": lambda: Convolutional(config.Convolutional(**{**deep, "encoder_layers": 4}), size, size),
        "transformer": lambda: Transformer(config.Transformer(**deep, heads=HEADS, feed_forward=2 * width), size, size),
    }  # fmt: skip
    return makers[name]()


def sequences(count: int, length: int, words: int, generator: torch.Generator) -> Tensor:
    """Ids of words drawn alike [S, N]."""
    return torch.randint(FIRST_WORD, FIRST_WORD + words, (count, length), generator=generator)


def copy_logits(model: EncoderDecoder, ids: Tensor) -> Tensor:
    """What a model says when it is to write what it reads, shown the words before: ids [S, N] → [S, N, V]."""
    shown = torch.cat([torch.full_like(ids[:, :1], BEGIN), ids[:, :-1]], 1)
    logits: Tensor = model.output(model(ids, shown))
    return logits


def first_logits(model: EncoderDecoder, ids: Tensor) -> Tensor:
    """What it would write first [S, V]."""
    logits: Tensor = model.output(model(ids, torch.full_like(ids[:, :1], BEGIN)))
    return logits.squeeze(1)


def copy_loss(model: EncoderDecoder, ids: Tensor) -> Tensor:
    """Summed over all words."""
    return nn.functional.cross_entropy(copy_logits(model, ids).flatten(0, 1), ids.flatten(), reduction="sum")


def teach(model: EncoderDecoder, toy: Copying, advance: Callable[[], None]) -> None:
    """Updates on batches, each of sequences of one length up to the longest."""
    generator = torch.Generator().manual_seed(toy.seed)
    optimizer = torch.optim.Adam(model.parameters(), toy.rate)
    model.train()
    for _ in range(toy.updates):
        length = int(torch.randint(1, toy.longest + 1, (), generator=generator))
        loss = copy_loss(model, sequences(toy.batch, length, toy.words, generator)) / (toy.batch * length)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        advance()
    model.eval()
