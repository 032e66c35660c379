"""Which target tokens translate which source tokens: IBM Model 1 (Brown et al. 1993), learned from the prepared ids.

Decoding may then look for its next token among a few hundred instead of the whole vocabulary (a shortlist).

P source-target pairings of all sentences · U different ones
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.data.ids import PairIds
from regard.data.sampling import evenly
from regard.data.tokenizer import PAD

PAIRINGS = 6_000_000  # at most this many are looked at: some 600 MB and a few seconds
ITERATIONS = 4
WIDTH = 12
"""Target tokens remembered for each source token …"""
FREQUENT = 1_000
"""… besides the most frequent, which may stand in any sentence."""

Ids = NDArray[np.int64]


def lexicon(
    pairs: PairIds, source_size: int, target_size: int, pairings: int = PAIRINGS, common: int = FREQUENT
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The likeliest translations of each token [source vocabulary, WIDTH], best first, filled up with PAD; and the most
    frequent target tokens, which are not repeated among the translations."""
    lengths = pairs.lengths[:].astype(np.int64)
    share = pairings / max(1, int((lengths[:, 0] * lengths[:, 1]).sum()))
    rows = evenly(range(len(lengths)), max(1, int(len(lengths) * min(1.0, share))))
    sources, targets = [pairs.source(row) for row in rows], [pairs.target(row) for row in rows]
    counts = np.bincount(np.concatenate(targets).astype(np.int64), minlength=target_size)
    frequent = np.argsort(-counts, kind="stable")[: min(common, int((counts > 0).sum()))]
    source, target, probability = translation_probabilities(sources, targets, target_size)
    rare = ~np.isin(target, frequent)
    source, target, probability = source[rare], target[rare], probability[rare]
    order = np.lexsort((target, -probability, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)  # among those of the same source token
    kept = rank < WIDTH
    table = np.full((source_size, WIDTH), PAD, dtype=np.int32)
    table[source[kept], rank[kept]] = target[kept]
    return table, frequent.astype(np.int32)


def translation_probabilities(
    sources: Sequence[NDArray[np.generic]], targets: Sequence[NDArray[np.generic]], target_size: int
) -> tuple[Ids, Ids, NDArray[np.float64]]:
    """For each pairing of tokens that share a sentence, [U] each: source, target, P(target | source)."""
    source_lengths = np.array([len(each) for each in sources], dtype=np.int64)
    target_lengths = np.array([len(each) for each in targets], dtype=np.int64)
    sentence = np.repeat(np.arange(len(targets)), target_lengths)  # of each target position
    partners = source_lengths[sentence]  #                           how many source positions each may come from
    starts = np.cumsum(partners) - partners  #                       where its pairings begin among all P
    offset = np.repeat((np.cumsum(source_lengths) - source_lengths)[sentence] - starts, partners)
    source = np.concatenate(sources).astype(np.int64)[offset + np.arange(len(offset))]  # [P]
    target = np.repeat(np.concatenate(targets).astype(np.int64), partners)  #             [P]
    different, which = np.unique(source * target_size + target, return_inverse=True)  #   [U], [P]
    source_of = different // target_size
    probability = np.ones(len(different))
    for _ in range(ITERATIONS):
        shares = probability[which]
        shares /= np.repeat(np.add.reduceat(shares, starts), partners)  # how much of each target position it explains
        counts = np.bincount(which, shares, len(different))
        probability = counts / np.bincount(source_of, counts)[source_of]
    return source_of, different % target_size, probability
