"""Ways to go on, proposed at each step of the search: greedy the most probable token, a beam the likeliest hypotheses side by
side (Wu et al., 2016, section 7; the paper's section 6.1), sampling a draw that is the same whatever else is in the batch.
Before that, `Constraints` say what may not be written.

S sentences · W hypotheses per sentence · C candidates per sentence · V vocabulary · T tokens written
K = 2 × beam · B blocks of the vocabulary · P independent samples per sentence, of which W is 1 at the first step, P afterwards
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy
import torch
from torch import Tensor

from regard.decoding.options import Search, SpecialTokens
from regard.decoding.steppable import State

NEVER = float("-inf")
FREE = -1
BLOCK = 64
COLDEST, HOTTEST = 1e-30, 1e30  # what a float32 can be divided by; beyond, nothing would change


@dataclass(frozen=True)
class ActiveHypotheses:
    """All that is being written. One whose total is -inf is dead: finished, or impossible under the constraints."""

    state: State
    sentences: Tensor  # [S], their places in the caller's batch
    tokens: Tensor  # [S, W, T]
    log_probabilities: Tensor  # [S, W, T]
    totals: Tensor  # [S, W], their sums

    @property
    def last(self) -> Tensor:
        return self.tokens[:, :, -1].flatten()  # [S, W] → [N]


@dataclass(frozen=True)
class Candidates:
    """Ways to go on, best first in a beam, and otherwise one for each active hypothesis, in their order."""

    parent: Tensor  # [S, C], which of its sentence's hypotheses each one continues
    token: Tensor  # [S, C]
    log_probability: Tensor  # [S, C], of the token


Choose = Callable[[Tensor, ActiveHypotheses], Candidates]
"""(log-probabilities [S, W, V], -inf where a constraint forbids, and the hypotheses) → candidates."""

StepCallback = Callable[[Candidates, Tensor, Tensor, Tensor, float], None]
"""(candidates, and of each its total, whether it stops and whether it finishes [S, C]; the length penalty) at each step."""

StoppingCriterion = Callable[[Candidates, ActiveHypotheses], Tensor]
"""(candidates, and the hypotheses they continue) → which of them finish, for a reason only the caller knows [S, C]."""


def most_probable(allowed: Tensor, active: ActiveHypotheses) -> Candidates:
    """One candidate for the one hypothesis of each sentence."""
    best, token = allowed.squeeze(1).max(-1, keepdim=True)  # [S, 1, V] → [S, 1]
    return Candidates(token.new_zeros(token.shape), token, best)


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


class Constraints:
    """Forced prefixes, no repeated n-gram, and never a start, padding or unknown token.

    They act on log-probabilities, which stay the model's for all that remains.
    """

    def __init__(
        self, special: SpecialTokens, no_repeat_ngram: int, prefixes: Sequence[Sequence[int]], device: torch.device
    ) -> None:
        self.special = special
        self.no_repeat_ngram = no_repeat_ngram
        self.suppressed = torch.tensor(sorted(special.suppressed), dtype=torch.long, device=device)
        longest = max(map(len, prefixes), default=0)
        filled = [[*prefix, *[FREE] * (longest - len(prefix))] for prefix in prefixes]
        self.forced = torch.tensor(filled, dtype=torch.long, device=device).view(len(prefixes), longest)

    def apply(self, scores: Tensor, tokens: Tensor, sentences: Tensor) -> Tensor:
        """Log-probabilities [S, W, V], written on, with -inf for what may not follow `tokens` [S, W, T]."""
        written = tokens.size(-1)
        forced = self.forced[sentences, written] if written < self.forced.size(1) else None  # [S]
        if forced is not None:
            index = forced.clamp(min=0).view(-1, 1, 1).expand(-1, scores.size(1), 1)  # [S, W, 1]
            only = torch.full_like(scores, NEVER).scatter_(2, index, scores.gather(2, index))
        scores.index_fill_(2, self.suppressed, NEVER)
        if 0 < self.no_repeat_ngram <= written:
            scores.scatter_(2, self._repeating(tokens), NEVER)
        return scores if forced is None else torch.where((forced == FREE).view(-1, 1, 1), scores, only)

    def _repeating(self, tokens: Tensor) -> Tensor:
        """Tokens that would repeat an n-gram, [S, W, T - n + 1]; padding, which is forbidden anyway, elsewhere."""
        ngrams = tokens.unfold(2, self.no_repeat_ngram, 1)  # [S, W, T - n + 1, n]
        recent = tokens[:, :, tokens.size(2) - self.no_repeat_ngram + 1 :]  # [S, W, n - 1]
        again = (ngrams[..., :-1] == recent.unsqueeze(2)).all(-1)  # [S, W, T - n + 1]
        return ngrams[..., -1].masked_fill(~again, self.special.pad)
