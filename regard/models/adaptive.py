"""A vocabulary that is cut by frequency: rare tokens cost little where words leave (adaptive softmax, Grave et al. 2017), and,
if their bands are narrower, where they enter, too (adaptive input, Baevski and Auli 2019).

D width · V vocabulary · n tokens of a band, d numbers of each
"""

from __future__ import annotations

from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn

from regard.config import LanguageModel as Settings
from regard.models.encoder_decoder import embedding
from regard.products import Linear, product


class Band(nn.Module):
    """Tokens of similar frequency: their narrow rows, and what makes these as wide as the model."""

    def __init__(self, size: int, narrow: int, width: int) -> None:
        super().__init__()
        self.table = embedding(size, narrow)
        self.widen = Linear(narrow, width, bias=False)
        nn.init.normal_(self.widen.weight, std=width**-0.5)  # then rows of every band have the same variance


class AdaptiveEmbedding(nn.Module):
    """Ids → vectors. Tokens before the first cut have rows as wide as the model; after each cut, rows are `factor` times narrower."""

    def __init__(self, size: int, width: int, cutoffs: tuple[int, ...], factor: int) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.cutoffs = size, width, cutoffs
        self.frequent = embedding(cutoffs[0], width)
        self.rare = nn.ModuleList(
            Band(end - begin, width // factor**number, width)
            for number, (begin, end) in enumerate(pairwise((*cutoffs, size)), start=1)
        )

    def band(self, number: int) -> Band:
        """After the first cut, the second …"""
        return cast("Band", self.rare[number])  # ModuleList does not tell what it holds

    def forward(self, ids: Tensor) -> Tensor:
        """Every band is asked for every token, so that shapes do not depend on which are in a batch: bands are narrow."""
        vectors: Tensor = self.frequent(ids.clamp(max=self.cutoffs[0] - 1))  # [.., D]
        for number, begin in enumerate(self.cutoffs):
            band = self.band(number)
            own = band.widen(band.table((ids - begin).clamp(0, band.table.num_embeddings - 1)))  # [.., D]
            vectors = torch.where((ids >= begin).unsqueeze(-1), own, vectors)
        return vectors

    @property
    def weight(self) -> Tensor:
        """The table that all this stands for [V, D]."""
        bands = map(self.band, range(len(self.rare)))
        return torch.cat([self.frequent.weight, *(band.widen(band.table.weight) for band in bands)])


class Output(nn.Module):
    """States → logits over the vocabulary, or, where it is cut, log-probabilities.

    Frequent tokens and one row for each cluster of the rest share the first softmax; a rare token has the probability of
    its cluster times its own within it. Training computes only the clusters that it needs: see training/loss.py.
    """

    weight: Tensor

    def __init__(self, weight: Tensor, cutoffs: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.weight = weight
        self.cut(weight.size(0), weight.size(1), cutoffs)

    def cut(self, size: int, width: int, cutoffs: tuple[int, ...]) -> None:
        """A vocabulary of this size; each cluster of rare tokens has a row in the first softmax."""
        self.size, self.cutoffs = size, within(cutoffs, size)
        if self.cutoffs:
            self.cluster_weight = nn.Parameter(torch.empty(len(self.cutoffs), width))
            nn.init.normal_(self.cluster_weight, std=width**-0.5)

    def head(self) -> Tensor:
        """The rows of the first softmax: frequent tokens, then clusters."""
        return torch.cat([self.weight[: self.cutoffs[0]], self.cluster_weight]) if self.cutoffs else self.weight

    def tails(self) -> list[tuple[int, int]]:
        """First and last + 1 id of each cluster."""
        return list(zip(self.cutoffs, (*self.cutoffs[1:], self.size), strict=True)) if self.cutoffs else []

    def tail(self, number: int, states: Tensor) -> tuple[Tensor, Tensor]:
        """States [.., D] as wide as the rows of a cluster, and these rows [n, D]."""
        begin, end = self.tails()[number]
        return states, self.weight[begin:end]

    def forward(self, states: Tensor) -> Tensor:
        logits = product(states, self.head())  # [.., V]
        if not self.cutoffs:
            return logits
        frequent, clusters = torch.split(logits.log_softmax(-1), [self.cutoffs[0], len(self.cutoffs)], -1)
        own = (product(*self.tail(number, states)).log_softmax(-1) for number in range(len(self.cutoffs)))
        rare = (cluster.unsqueeze(-1) + each for cluster, each in zip(clusters.unbind(-1), own, strict=True))
        return torch.cat([frequent, *rare], -1)


class BandedOutput(Output):
    """The same over an `AdaptiveEmbedding`: states become as narrow as a band before they meet its rows."""

    def __init__(self, table: AdaptiveEmbedding) -> None:
        nn.Module.__init__(self)
        self.table = table
        self.cut(table.num_embeddings, table.embedding_dim, table.cutoffs)

    def head(self) -> Tensor:
        return torch.cat([self.table.frequent.weight, self.cluster_weight])

    def tail(self, number: int, states: Tensor) -> tuple[Tensor, Tensor]:
        """States [.., D] → [.., d], and the rows of a band [n, d]."""
        band = self.table.band(number)
        return product(states, band.widen.weight.t()), band.table.weight


def within(cutoffs: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Those that cut a vocabulary of this size."""
    return tuple(cut for cut in cutoffs if cut < size)


def table_of(settings: Settings, size: int) -> nn.Embedding | AdaptiveEmbedding:
    """Where words enter."""
    cutoffs = within(settings.cutoffs, size)
    if settings.adaptive_factor == 1 or not cutoffs:
        return embedding(size, settings.width)
    return AdaptiveEmbedding(size, settings.width, cutoffs, settings.adaptive_factor)


def output_of(table: nn.Embedding | AdaptiveEmbedding, cutoffs: tuple[int, ...]) -> Output:
    """What reads out of a table the words that it reads in."""
    return BandedOutput(table) if isinstance(table, AdaptiveEmbedding) else Output(table.weight, cutoffs)
