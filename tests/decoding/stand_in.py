"""A model without weights: its logits are a random function of the source and of all that was written so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from regard.decoding.options import Hypothesis, SpecialTokens

PAD, START, END = 0, 1, 2
SPECIAL = SpecialTokens(start=START, end=END, pad=PAD)
PRIME = 1_009


@dataclass(frozen=True)
class Remembered:
    """A number per sentence and a number per row that holds the whole history, so that a wrong selection shows."""

    source: Tensor  # [S]
    history: Tensor  # [S, W]

    def select(self, rows: Tensor) -> Remembered:
        width = self.history.size(1)
        sentence = rows // width
        assert (sentence == sentence[:, :1]).all(), "one line of rows mixes sentences"
        return Remembered(self.source[sentence[:, 0]], self.history.flatten()[rows])


class StandIn:
    """`sharpness` spreads the logits; `end` is added to the end token's."""

    def __init__(self, vocabulary: int = 7, seed: int = 0, sharpness: float = 2.0, end: float = 0.0) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.table = sharpness * torch.randn(PRIME, vocabulary, generator=generator)
        self.table[:, END] += end
        self.rows: list[int] = []
        """How many rows each step saw."""

    def start(self, source: Tensor) -> Remembered:
        return Remembered(source, torch.zeros(len(source), 1, dtype=torch.long))

    def step(self, last: Tensor, state: Remembered) -> tuple[Tensor, Remembered]:
        self.rows.append(len(last))
        assert len(last) == state.history.numel(), "the last tokens and the state have different rows"
        history = (state.history * 31 + last.view_as(state.history) + 7) % PRIME
        return self.table[((history + 13 * state.source[:, None]) % PRIME).flatten()], Remembered(state.source, history)

    def log_probabilities(self, source: int, tokens: Sequence[int]) -> list[float]:
        """Of each of the tokens, computed on its own, one by one."""
        state, last, parts = self.start(torch.tensor([source])), START, []
        for token in tokens:
            logits, state = self.step(torch.tensor([last]), state)
            parts.append(float(logits[0].log_softmax(-1)[token]))
            last = token
        return parts


def steps(hypothesis: Hypothesis) -> list[int]:
    """All that was written, the end token too."""
    return [*hypothesis.tokens, *([END] if hypothesis.finish_reason == "end" else [])]
