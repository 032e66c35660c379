"""Sampling: each token drawn by its probability, the same draw whatever else is in the batch.

S sentences · P independent samples per sentence · W = 1 at the first step, P afterwards · V vocabulary
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy
import torch
from torch import Tensor

from regard.decoding.constraints import NEVER
from regard.decoding.options import Search
from regard.decoding.search_loop import ActiveHypotheses, Candidates, Choose

COLDEST, HOTTEST = 1e-30, 1e30  # what a float32 can be divided by; beyond, nothing would change


def at_random(options: Search, limits: Tensor, seeds: Sequence[int]) -> Choose:
    """A chooser whose draws depend on the seed, the sentence's own seed, the sample and the step, and on nothing else."""
    uniform = _uniform(options, limits, seeds)
    temperature = min(max(options.temperature, COLDEST), HOTTEST)

    def choose(allowed: Tensor, active: ActiveHypotheses) -> Candidates:
        sentences, width, _ = allowed.shape
        draws = uniform[active.sentences, :, active.tokens.size(2)].view(sentences, width, -1)  # [S, P] → [S, W, P / W]
        # Below the best, which stays at 0: a low temperature then sends the others to -inf, and nothing to infinity.
        logits, ids = _filtered((allowed - allowed.amax(-1, keepdim=True)) / temperature, options)  # [S, W, K]
        cumulative = logits.softmax(-1).cumsum(-1)
        place = torch.searchsorted(cumulative, draws * cumulative[..., -1:], right=True)  # [S, W, P / W]
        place = place.clamp(max=logits.size(-1) - 1)  # NaN gets there, and its log-probability below is NaN, too
        token = place if ids is None else ids.gather(2, place)
        parent = torch.arange(width, device=token.device).view(1, -1, 1).expand(token.shape)
        log_probability = allowed.gather(2, token)
        return Candidates(parent.flatten(1), token.flatten(1), log_probability.flatten(1))  # [S, P]

    return choose


def _filtered(logits: Tensor, options: Search) -> tuple[Tensor, Tensor | None]:
    """What top-k, then top-p leave of the logits, and the ids it belongs to (None: all, in their order)."""
    ids: Tensor | None = None
    if options.top_k:
        logits, ids = logits.topk(min(options.top_k, logits.size(-1)))
    if options.top_p < 1:
        if ids is None:
            logits, ids = logits.sort(-1, descending=True)
        probabilities = logits.softmax(-1)
        # A token stays if those before it do not reach top_p yet; the first always does, however small top_p is.
        reached = probabilities.cumsum(-1) - probabilities >= options.top_p
        reached[..., 0] = False
        logits = logits.masked_fill(reached, NEVER)
    return logits, ids


def _uniform(options: Search, limits: Tensor, seeds: Sequence[int]) -> Tensor:
    """Numbers in [0, 1), [S, P, steps]: a stream of its own for each sample, as long as the longest limit."""
    steps = int(limits.max())
    numbers = numpy.zeros((len(seeds), options.nbest, steps))
    for sentence, own in enumerate(seeds):
        for sample in range(options.nbest):
            stream = numpy.random.Philox(numpy.random.SeedSequence([options.seed, own, sample]))
            numbers[sentence, sample] = numpy.random.Generator(stream).random(steps)
    # Cut to the 24 bits of a float32, since rounding could give 1.
    return torch.from_numpy(numpy.floor(numbers * 2**24) / 2**24).float().to(limits.device)
