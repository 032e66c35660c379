"""A last look back whose weights predict (Merity et al. 2017): what comes next may be any token that was read.

S texts · Q queries, positions or hypotheses · T positions read · N rows · D width · V vocabulary
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention.multi_head import linear
from regard.attention.record import Observed

SENTINEL_BIAS = 5.0  # how strongly the vocabulary is preferred at first: about as much as 150 positions together
LEAST = 1e-30  # a probability whose logarithm is still a number


class PointerMemory(NamedTuple):
    """What can be pointed at."""

    keys: Tensor  # [S, T, D]
    tokens: Tensor  # [S, T]

    def append(self, more: PointerMemory) -> PointerMemory:
        return PointerMemory(*(torch.cat(each, 1) for each in zip(self, more, strict=True)))

    def select(self, texts: Tensor) -> PointerMemory:
        return PointerMemory(*(each[texts] for each in self))


class PointerOutput(NamedTuple):
    """What rows expect to come again. Weights and the gate of a row sum to 1."""

    tokens: Tensor  # [.., T]: which stands at each position
    weights: Tensor  # [.., T]: how probably it comes again
    gate: Tensor  # [..]: how probably the vocabulary decides instead

    def select(self, rows: Any) -> PointerOutput:
        """Some of the rows: whatever can be an index."""
        return PointerOutput(*(each[rows] for each in self))

    def probability(self, targets: Tensor) -> Tensor:
        """Targets [..] → how probably each is a token that comes again [..]."""
        return (self.weights * (self.tokens == targets.unsqueeze(-1))).sum(-1)

    def log_probability(self, own: Tensor, targets: Tensor) -> Tensor:
        """The vocabulary's log-probabilities of targets [..] → those of both together [..]."""
        repeats = self.probability(targets).clamp(min=LEAST).log()
        return torch.logaddexp(self.gate.clamp(min=LEAST).log() + own, repeats)

    def mix(self, log_probabilities: Tensor) -> Tensor:
        """The vocabulary's log-probabilities [.., V] → those of both together."""
        probabilities = log_probabilities.exp() * self.gate.unsqueeze(-1)
        return probabilities.scatter_add(-1, self.tokens, self.weights).clamp(min=LEAST).log()


class Pointer(Observed):
    """One more attention, over what was read and a sentinel, which stands for the vocabulary as a whole."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key = linear(width, width), linear(width, width)
        self.sentinel = nn.Parameter(torch.zeros(width))
        self.sentinel_bias = nn.Parameter(torch.tensor(SENTINEL_BIAS))

    def memory(self, states: Tensor, tokens: Tensor) -> PointerMemory:
        """States [S, n, D] after reading tokens [S, n]."""
        return PointerMemory(self.key(states), tokens)

    def forward(self, states: Tensor, memory: PointerMemory, mask: Tensor | None) -> PointerOutput:
        """States [S, Q, D] → what they point at; the mask [.., Q, T] is added to scores."""
        query = self.query(states) / states.size(-1) ** 0.5
        scores = query @ memory.keys.transpose(1, 2)  #                                  [S, Q, T]
        if mask is not None:
            scores = scores + mask
        sentinel = query @ self.sentinel + self.sentinel_bias  #                         [S, Q]
        weights = torch.cat([scores, sentinel.unsqueeze(-1)], -1).softmax(-1)  #         [S, Q, T + 1]
        self.note(weights=weights)
        tokens = memory.tokens.unsqueeze(1).expand(-1, states.size(1), -1)  #            [S, Q, T]
        return PointerOutput(tokens, weights[..., :-1], weights[..., -1])
