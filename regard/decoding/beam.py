"""Beam search: the likeliest hypotheses side by side (Wu et al., 2016, section 7; the paper's section 6.1).

S sentences · W hypotheses per sentence · V vocabulary · K = 2 × beam · B blocks of the vocabulary
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.decoding.search_loop import ActiveHypotheses, Candidates, Choose

BLOCK = 64


def likeliest(beam: int) -> Choose:
    """A chooser of the 2 × beam best: at most one per hypothesis can end, so that enough are left to go on."""

    def choose(allowed: Tensor, active: ActiveHypotheses) -> Candidates:
        best = largest(allowed, active.totals, 2 * beam)  # [S, K], numbers of the hypotheses' tokens, one after another
        log_probability = allowed.flatten(1).gather(1, best)
        return Candidates(best // allowed.size(2), best % allowed.size(2), log_probability)

    return choose


def largest(values: Tensor, totals: Tensor, count: int) -> Tensor:
    """Where the `count` largest sums of a value [S, W, V] and its hypothesis's total [S, W] are, in W × V; largest first.

    They lie in the blocks with the largest maxima, of which there are no more than sums wanted: only those are sorted,
    which on a CPU takes a fraction of the time.
    """
    sentences, width, size = values.shape
    blocks, device = size // BLOCK, values.device
    if width * blocks <= 4 * count:  # too few to choose among
        sums = (values + totals.unsqueeze(2)).flatten(1)  #                                   [S, W × V]
        return sums.topk(min(count, sums.size(1))).indices
    even, odd = values[:, :, : blocks * BLOCK], values[:, :, blocks * BLOCK :]  # odd: what fills no block
    maxima = even.view(sentences, width, blocks, BLOCK).amax(3) + totals.unsqueeze(2)  #              [S, W, B]
    chosen = maxima.flatten(1).topk(count).indices  #                                         [S, K]
    hypothesis, block = chosen // blocks, chosen % blocks
    places = (hypothesis * size + block * BLOCK).unsqueeze(2) + torch.arange(BLOCK, device=device)  # [S, K, BLOCK]
    sums = values.flatten(1).gather(1, places.flatten(1)).view_as(places) + totals.gather(1, hypothesis).unsqueeze(2)
    sums, places = sums.flatten(1), places.flatten(1)
    if odd.size(2):  # looked at in any case
        ends = torch.arange(width, device=device)[:, None] * size + torch.arange(blocks * BLOCK, size, device=device)
        sums = torch.cat([sums, (odd + totals.unsqueeze(2)).flatten(1)], 1)
        places = torch.cat([places, ends.flatten().expand(sentences, -1)], 1)
    return places.gather(1, sums.topk(count).indices)
