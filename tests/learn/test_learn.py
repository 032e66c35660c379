"""Small models learn to copy and to reverse strings of digits, through the real loop and the real search."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console
from torch import Tensor

from regard import config
from regard.data.batching import pad
from regard.data.tokenizer import PAD
from regard.decoding.options import Search
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.tasks.registry import build
from regard.tasks.translation.native import decode
from regard.tasks.translation.training import translation_loss
from regard.training.distributed import ALONE
from regard.training.log import TrainingLog
from regard.training.loop import Loop
from regard.training.loss import Loss
from regard.training.run_folder import RunFolder
from regard.training.trainable import MicroBatch, WithoutMovie

DIGITS = range(4, 14)  # after the special ids
ROWS = 64
DECODING = config.Decoding(max_ratio=2.0, max_extra=4)


class Strings(WithoutMovie):
    """A task for the loop: random strings, and what should become of them."""

    def __init__(self, reverse: bool, seed: int, lengths: range = range(1, 7)) -> None:
        self.reverse, self.seed, self.lengths = reverse, seed, lengths

    def draw(self, number: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        random = np.random.default_rng([self.seed, number])
        sources = [random.choice(DIGITS, random.choice(self.lengths)) for _ in range(ROWS)]
        return sources, [source[::-1] if self.reverse else source for source in sources]

    def take(self, position: tuple[int, int], count: int) -> tuple[list[MicroBatch], tuple[int, int]]:
        parts = []
        for number in range(position[1], position[1] + count):
            sources, targets = self.draw(number)
            arrays = (pad(sources, end=True), pad(targets, start=True), pad(targets, end=True))
            parts.append(MicroBatch(tuple(map(torch.from_numpy, arrays)), int((arrays[2] != PAD).sum())))
        return parts, (0, position[1] + count)

    def loss(self, model: Model, batch: tuple[Tensor, Tensor, Tensor]) -> Loss:
        return translation_loss(model, *batch, smoothing=0.1)

    def validate(self, model: Model) -> dict[str, float]:
        return {"loss": 1 - self.solved(model, Search(beam=1))}

    def solved(self, model: Model, options: Search) -> float:
        """The share of freshly drawn strings that come out right to the last digit."""
        sources, targets = self.draw(1_000_000)
        found = decode(model, [source.tolist() for source in sources], options, DECODING)
        return float(
            np.mean([list(each[0].tokens) == target.tolist() for each, target in zip(found, targets, strict=True)])
        )


MODELS: dict[str, config.Model] = {
    "transformer": config.Transformer(
        width=48, feed_forward=96, heads=4, encoder_layers=1, decoder_layers=2, dropout=0.0, max_positions=40
    ),
    "transformer, norm before": config.Transformer(
        width=48,
        feed_forward=96,
        heads=4,
        encoder_layers=1,
        decoder_layers=2,
        dropout=0.0,
        max_positions=40,
        norm="pre",
    ),
    "rnn": config.Recurrent(width=64, encoder_layers=1, decoder_layers=1, dropout=0.0),
    "rnn-attention": config.RecurrentAttention(width=64, encoder_layers=1, decoder_layers=1, dropout=0.0),
    "rnn-attention, dot, gru": config.RecurrentAttention(
        width=64, encoder_layers=1, decoder_layers=1, dropout=0.0, cell="gru", score="dot"
    ),
    "conv": config.Convolutional(width=48, encoder_layers=2, decoder_layers=2, dropout=0.0, max_positions=40),
}


def learn(task: Strings, settings: config.Model, folder: Path, updates: int = 300) -> Model:
    training = config.Training(
        updates=updates,
        learning_rate=3e-3,
        warmup=60,
        schedule="cosine",
        validate_every=updates,
        metric="loss",
        clip=1.0,
    )
    torch.manual_seed(task.seed)
    model = build(settings, DIGITS.stop, DIGITS.stop)
    assert task.solved(model.eval(), Search(beam=1)) < 0.1
    loop = Loop(model, task, training, ALONE, RunFolder(folder, training, ALONE))
    with TrainingLog(folder, training, loop.progress, console=Console(quiet=True)) as log:
        assert loop.run(log).reason == "done"
    return model.eval()


@pytest.mark.parametrize("seed", [1])  # bounds hold for any
@pytest.mark.parametrize(
    ("name", "reverse", "longest"),
    [
        ("transformer", False, 4),  # one of each architecture; what they do in the other direction is no law of its own
        pytest.param("transformer, norm before", True, 6, marks=pytest.mark.slow),
        pytest.param("rnn", False, 4, marks=pytest.mark.slow),
        ("rnn", True, 3),
        pytest.param("rnn-attention", False, 6, marks=pytest.mark.slow),
        ("rnn-attention, dot, gru", True, 4),
        ("conv", False, 4),
        pytest.param("conv", True, 6, marks=pytest.mark.slow),
    ],
    ids=lambda value: {False: "copy", True: "reverse"}.get(value, str(value)),
)
def test_strings_are_learned(name: str, reverse: bool, longest: int, seed: int, tmp_path: Path) -> None:
    task = Strings(reverse, seed, range(1, longest + 1))
    model = learn(task, MODELS[name], tmp_path, updates=200 if longest < 5 else 300)
    assert task.solved(model, Search(beam=1)) > 0.9
    assert task.solved(model, Search(beam=4)) > 0.9


@pytest.mark.slow
def test_a_fixed_context_loses_long_strings_and_attention_does_not(tmp_path: Path) -> None:
    task = Strings(reverse=False, seed=1, lengths=range(12, 15))
    fixed = learn(task, MODELS["rnn"], tmp_path / "fixed", updates=320)
    attending = learn(task, MODELS["rnn-attention, dot, gru"], tmp_path / "attending", updates=320)
    assert task.solved(fixed, Search(beam=1)) < 0.1
    assert task.solved(attending, Search(beam=1)) > 0.5


class Bags(Strings):
    """What should become of a string is its digits in order: a question about a bag, not about a sequence."""

    def draw(self, number: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        sources, _ = super().draw(number)
        return sources, [np.sort(source) for source in sources]


def test_without_positions_a_bag_is_learned_and_an_order_is_not(tmp_path: Path) -> None:
    blind = config.Transformer(width=32, feed_forward=64, heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0,
                               max_positions=10, norm="pre", positions="none")  # fmt: skip
    sorting, reversing = (kind(True, 1, range(3, 4)) for kind in (Bags, Strings))
    assert sorting.solved(learn(sorting, blind, tmp_path / "bag", updates=200), Search(beam=1)) > 0.7
    assert reversing.solved(learn(reversing, blind, tmp_path / "order", updates=200), Search(beam=1)) < 0.4
