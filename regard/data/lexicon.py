"""Which target pieces translate which source pieces: IBM Model 1 (Brown et al. 1993), learned from the prepared ids.

Decoding may then look for its next piece among a few hundred instead of the whole vocabulary (a shortlist).

P source-target pairings of all sentences · U different ones
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from regard.data.ids import PairIds
from regard.data.sampling import evenly
from regard.data.tokenizer import END, PAD

PAIRINGS = 6_000_000  # at most this many are looked at: some 600 MB and a few seconds
ITERATIONS = 4
WIDTH = 32
"""Target pieces remembered for each source piece."""

Ids = NDArray[np.int64]


def lexicon(pairs: PairIds, source_size: int, target_size: int, pairings: int = PAIRINGS) -> NDArray[np.int32]:
    """[source vocabulary, WIDTH]: the likeliest translations of each piece, best first, filled up with PAD.

    The row of END, which closes every source, holds the most frequent target pieces.
    """
    lengths = pairs.lengths[:].astype(np.int64)
    share = pairings / max(1, int((lengths[:, 0] * lengths[:, 1]).sum()))
    rows = evenly(range(len(lengths)), max(1, int(len(lengths) * min(1.0, share))))
    sources, targets = [pairs.source(row) for row in rows], [pairs.target(row) for row in rows]
    table = np.full((source_size, WIDTH), PAD, dtype=np.int32)
    source, target, probability = translation_probabilities(sources, targets, target_size)
    order = np.lexsort((target, -probability, source))
    source, target = source[order], target[order]
    rank = np.arange(len(source)) - np.searchsorted(source, source)  # among those of the same source piece
    kept = rank < WIDTH
    table[source[kept], rank[kept]] = target[kept]
    frequency = np.bincount(np.concatenate(targets).astype(np.int64), minlength=target_size)
    frequent = np.argsort(-frequency, kind="stable")[:WIDTH]
    table[END, : len(frequent)] = np.where(frequency[frequent] > 0, frequent, PAD)
    return table


def translation_probabilities(
    sources: Sequence[NDArray[np.generic]], targets: Sequence[NDArray[np.generic]], target_size: int
) -> tuple[Ids, Ids, NDArray[np.float64]]:
    """For each pairing of pieces that share a sentence, [U] each: source, target, P(target | source)."""
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
