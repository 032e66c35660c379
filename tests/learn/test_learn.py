"""A small Transformer learns to copy and to reverse strings of digits, through the real loop and the real search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console
from torch import Tensor

from regard import config
from regard.data.batching import pad
from regard.data.tokenizer import PAD
from regard.decoding.options import Search
from regard.models.build import Model, build
from regard.tasks.decode import decode
from regard.tasks.translate import translation_loss
from regard.training.diary import Diary
from regard.training.distributed import Workers
from regard.training.loop import Loop
from regard.training.loss import Loss
from regard.training.run_folder import RunFolder
from regard.training.task import Part

DIGITS = range(4, 14)  # after the special ids
LONGEST = 6
ROWS = 64
DECODING = config.Decoding(max_ratio=2.0, max_extra=4)


class Strings:
    """A task for the loop: random strings, and what should become of them."""

    def __init__(self, reverse: bool, seed: int) -> None:
        self.reverse, self.seed = reverse, seed

    def draw(self, number: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
        random = np.random.default_rng([self.seed, number])
        sources = [random.choice(DIGITS, random.integers(1, LONGEST + 1)) for _ in range(ROWS)]
        return sources, [source[::-1] if self.reverse else source for source in sources]

    def take(self, position: tuple[int, int], count: int) -> tuple[list[Part], tuple[int, int]]:
        parts = []
        for number in range(position[1], position[1] + count):
            sources, targets = self.draw(number)
            arrays = (pad(sources, end=True), pad(targets, start=True), pad(targets, end=True))
            parts.append(Part(tuple(map(torch.from_numpy, arrays)), int((arrays[2] != PAD).sum())))
        return parts, (0, position[1] + count)

    def loss(self, model: Model, batch: tuple[Tensor, Tensor, Tensor]) -> Loss:
        return translation_loss(model, *batch, smoothing=0.1)

    def validate(self, model: Model) -> dict[str, float]:
        return {"loss": 1 - self.solved(model, Search(beam=1))}

    def probe(self, model: Model) -> list[dict[str, Any]]:
        return []

    def solved(self, model: Model, options: Search) -> float:
        """The share of freshly drawn strings that come out right to the last digit."""
        sources, targets = self.draw(1_000_000)
        found = decode(model, [source.tolist() for source in sources], options, DECODING)
        return float(
            np.mean([list(each[0].tokens) == target.tolist() for each, target in zip(found, targets, strict=True)])
        )


@pytest.mark.parametrize("seed", [1])  # bounds hold for any
@pytest.mark.parametrize(("reverse", "norm"), [(False, "post"), (True, "pre")], ids=["copy", "reverse"])
def test_strings_are_learned(reverse: bool, norm: str, seed: int, tmp_path: Path) -> None:
    training = config.Training(
        updates=300, learning_rate=3e-3, warmup=60, schedule="cosine", validate_every=300, metric="loss", seed=seed
    )
    settings = config.Transformer(
        width=48, feed_forward=96, heads=4, encoder_layers=1, decoder_layers=2, dropout=0.0, max_positions=32, norm=norm
    )
    torch.manual_seed(seed)
    model = build(settings, DIGITS.stop, DIGITS.stop)
    task, workers = Strings(reverse, seed), Workers(0, 1, torch.device("cpu"))
    assert task.solved(model.eval(), Search(beam=1)) < 0.2
    loop = Loop(model, task, training, workers, RunFolder(tmp_path, training, workers))
    with Diary(tmp_path, training, loop.progress, console=Console(quiet=True)) as diary:
        assert loop.run(diary).reason == "done"
    assert task.solved(model.eval(), Search(beam=1)) > 0.9
    assert task.solved(model, Search(beam=4)) > 0.9
