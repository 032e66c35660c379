"""A last look back whose weights predict (Merity et al. 2017): what comes next may be any piece that was read.

S texts · Q queries, positions or hypotheses · T places read · N rows · D width · V vocabulary
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from regard.attention.multi_head import linear
from regard.attention.record import Observed

CALM = 5.0  # how strongly the vocabulary is preferred at first: about as much as 150 places together
LEAST = 1e-30  # a probability whose logarithm is still a number


class Places(NamedTuple):
    """What can be pointed at."""

    keys: Tensor  # [S, T, D]
    pieces: Tensor  # [S, T]

    def and_more(self, more: Places) -> Places:
        return Places(*(torch.cat(each, 1) for each in zip(self, more, strict=True)))

    def of(self, texts: Tensor) -> Places:
        return Places(*(each[texts] for each in self))


class Pointed(NamedTuple):
    """What rows expect to come again. Weights and the vocabulary's share of a row sum to 1."""

    pieces: Tensor  # [.., T]: which stands at each place
    weights: Tensor  # [.., T]: how probably it comes again
    vocabulary: Tensor  # [..]: how probably the vocabulary decides instead

    def of(self, rows: Any) -> Pointed:
        """Some of the rows: whatever can be an index."""
        return Pointed(*(each[rows] for each in self))

    def repeats(self, targets: Tensor) -> Tensor:
        """Targets [..] → how probably each is a piece that comes again [..]."""
        return (self.weights * (self.pieces == targets.unsqueeze(-1))).sum(-1)

    def mix(self, log_probabilities: Tensor) -> Tensor:
        """The vocabulary's log-probabilities [.., V] → those of both together."""
        probabilities = log_probabilities.exp() * self.vocabulary.unsqueeze(-1)
        return probabilities.scatter_add(-1, self.pieces, self.weights).clamp(min=LEAST).log()


class Pointer(Observed):
    """One more attention, over what was read and the vocabulary as a whole."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query, self.key = linear(width, width), linear(width, width)
        self.vocabulary = nn.Parameter(torch.zeros(width))
        self.calm = nn.Parameter(torch.tensor(CALM))

    def places(self, states: Tensor, pieces: Tensor) -> Places:
        """States [S, n, D] after reading pieces [S, n]."""
        return Places(self.key(states), pieces)

    def forward(self, states: Tensor, places: Places, mask: Tensor | None) -> Pointed:
        """States [S, Q, D] → what they point at; the mask [.., Q, T] is added to scores."""
        query = self.query(states) / states.size(-1) ** 0.5
        scores = query @ places.keys.transpose(1, 2)  #                                  [S, Q, T]
        if mask is not None:
            scores = scores + mask
        instead = query @ self.vocabulary + self.calm  #                                 [S, Q]
        weights = torch.cat([scores, instead.unsqueeze(-1)], -1).softmax(-1)  #          [S, Q, T + 1]
        self.note(weights=weights)
        pieces = places.pieces.unsqueeze(1).expand(-1, states.size(1), -1)  #            [S, Q, T]
        return Pointed(pieces, weights[..., :-1], weights[..., -1])
