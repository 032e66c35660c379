"""The loop that greedy, sampled and beam search share; they differ only in the function that proposes candidates.

S sentences still being written · W hypotheses per sentence · C candidates per sentence · V vocabulary · T tokens written
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.cancellation import check_cancelled
from regard.decoding.constraints import NEVER, Constraints
from regard.decoding.options import Hypothesis, Search
from regard.decoding.steppable import State, Steppable
from regard.errors import UsageError


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


def search_loop(
    model: Steppable,
    source: Any,
    limits: Tensor,
    options: Search,
    constraints: Constraints,
    width: int,
    choose: Choose,
    on_step: StepCallback | None = None,
    first_tokens: Tensor | None = None,
    stopping_criterion: StoppingCriterion | None = None,
) -> list[list[Hypothesis]]:
    """Write every sentence to its end or limit, `width` hypotheses side by side; finished sentences leave the batch.

    A candidate finishes if it ends, reaches the limit or meets the criterion, among the `width` best of its sentence. A
    sentence is over when `width` hypotheses finished, when none is left, or when none that is left could enter the n best.
    These rules make a beam of width 1 exactly greedy.
    """
    nbest, start, end = options.nbest, constraints.special.start, constraints.special.end
    hypotheses: list[list[Hypothesis]] = [[] for _ in range(limits.numel())]
    greatest = torch.tensor([options.penalty(limit) for limit in limits.tolist()], device=limits.device)
    active = _open(model, source, limits, hypotheses)
    finished = active.totals.new_full((active.sentences.numel(), nbest), NEVER)  # the best scores, kept sorted
    count = torch.zeros_like(active.sentences)
    last = torch.full_like(active.sentences, start) if first_tokens is None else first_tokens[active.sentences]
    while active.sentences.numel():
        check_cancelled()
        logits, state = model.step(last, active.state)
        log_probabilities = logits.float().log_softmax(-1).view(*active.totals.shape, -1)  # [N, V] → [S, W, V]
        found = choose(constraints.apply(log_probabilities, active.tokens, active.sentences), active)

        length = active.tokens.size(2) + 1
        totals = active.totals.gather(1, found.parent) + found.log_probability  # [S, C]
        stops = (found.token == end) | (limits[active.sentences] == length).unsqueeze(1)  # [S, C]
        if stopping_criterion is not None:
            stops = stops | stopping_criterion(found, active)
        finishes = stops & (totals > NEVER)
        finishes[:, width:] = False
        scores = totals / options.penalty(length)
        _collect(hypotheses, active, found, totals, scores, finishes, end)
        if active.tokens.size(2):
            _close(hypotheses, active, (totals == NEVER).all(1), options.penalty(length - 1))
        if on_step is not None:
            on_step(found, totals, stops, finishes, options.penalty(length))

        totals = totals.masked_fill(stops, NEVER)
        best = totals.amax(1)
        count = count + finishes.sum(1)
        over = (best == NEVER) | (count >= width)
        if options.early_stop and not options.sample:
            finished = torch.cat([finished, scores.masked_fill(~finishes, NEVER)], 1).topk(nbest).values
            # Log-probabilities only fall, and at the limit they are divided by the most.
            over |= finished[:, -1] >= best / greatest[active.sentences]
        if over.all():
            break
        keep = (~over).nonzero().squeeze(1) if over.any() else None
        active = _go_on(active, state, found, totals, width, keep)
        finished, count = (finished, count) if keep is None else (finished[keep], count[keep])
        last = active.last
    return [_ranked(each, number)[:nbest] for number, each in enumerate(hypotheses)]


def _open(model: Steppable, source: Any, limits: Tensor, hypotheses: list[list[Hypothesis]]) -> ActiveHypotheses:
    """One hypothesis per sentence, of no tokens yet; a sentence that may write nothing is over before the start."""
    sentences = limits.nonzero().squeeze(1)
    state = model.start(source)
    if sentences.numel() < limits.numel():
        for number in (limits == 0).nonzero().squeeze(1).tolist():
            hypotheses[number].append(Hypothesis((), 0.0, 0.0, (), "length"))
        if sentences.numel():
            state = state.select(sentences.unsqueeze(1))
    tokens = sentences.new_empty((sentences.numel(), 1, 0))
    log_probabilities = torch.zeros(tokens.shape, device=limits.device)
    return ActiveHypotheses(state, sentences, tokens, log_probabilities, log_probabilities.sum(-1))


def _go_on(
    active: ActiveHypotheses, state: State, found: Candidates, totals: Tensor, width: int, keep: Tensor | None
) -> ActiveHypotheses:
    """The sentences `keep`, or all, with their candidates as the new hypotheses: the `width` best if there are more."""
    parent, token, log_probability = found.parent, found.token, found.log_probability
    if totals.size(1) > width:
        totals, best = totals.topk(width)  # [S, C] → [S, W]
        parent, token, log_probability = parent.gather(1, best), token.gather(1, best), log_probability.gather(1, best)
    before = active.totals.numel()
    offsets = torch.arange(0, before, active.totals.size(1), device=parent.device).unsqueeze(1)  # [S, 1]
    rows, sentences = parent + offsets, active.sentences  # [S, W], rows of the present state
    if keep is not None:
        rows, sentences, totals = rows[keep], sentences[keep], totals[keep]
        token, log_probability = token[keep], log_probability[keep]
    tokens, log_probabilities = active.tokens.flatten(0, 1), active.log_probabilities.flatten(0, 1)  # [N, T]
    if not torch.equal(rows.flatten(), torch.arange(before, device=rows.device)):
        state, tokens, log_probabilities = state.select(rows), tokens[rows], log_probabilities[rows]  # [S, W, T]
    return ActiveHypotheses(
        state,
        sentences,
        torch.cat([tokens.view(*rows.shape, -1), token.unsqueeze(2)], 2),
        torch.cat([log_probabilities.view(*rows.shape, -1), log_probability.unsqueeze(2)], 2),
        totals,
    )


def _collect(
    hypotheses: list[list[Hypothesis]],
    active: ActiveHypotheses,
    found: Candidates,
    totals: Tensor,
    scores: Tensor,
    finishes: Tensor,
    end: int,
) -> None:
    """Add the candidates that finish to the hypotheses of their sentences."""
    sentence, candidate = finishes.nonzero(as_tuple=True)  # [F], [F]
    if not sentence.numel():
        return
    here = (sentence, candidate)
    parent = (sentence, found.parent[here])
    tokens = torch.cat([active.tokens[parent], found.token[here].unsqueeze(1)], 1)  # [F, T + 1]
    log_probabilities = torch.cat(
        [active.log_probabilities[parent], found.log_probability[here].unsqueeze(1)], 1
    )  # [F, T + 1]
    lists = (active.sentences[sentence], tokens, log_probabilities, totals[here], scores[here])
    for number, ids, logs, total, score in zip(*(each.tolist() for each in lists), strict=True):
        if ids[-1] == end:
            hypothesis = Hypothesis(tuple(ids[:-1]), score, total, tuple(logs), "end")
        else:
            hypothesis = Hypothesis(tuple(ids), score, total, tuple(logs), "length")
        hypotheses[number].append(hypothesis)


def _close(hypotheses: list[list[Hypothesis]], active: ActiveHypotheses, stuck: Tensor, penalty: float) -> None:
    """Of sentences that can go on in no way and never finished, such as where no token may come again: what is written."""
    for row in stuck.nonzero().squeeze(1).tolist():
        own = hypotheses[int(active.sentences[row])]
        if not own:
            total, best = active.totals[row].max(0)
            ids, logs = active.tokens[row, best].tolist(), active.log_probabilities[row, best].tolist()
            own.append(Hypothesis(tuple(ids), total.item() / penalty, total.item(), tuple(logs), "length"))


def _ranked(hypotheses: list[Hypothesis], number: int) -> list[Hypothesis]:
    if not hypotheses:
        raise UsageError(
            f"sentence {number} of the batch has no possible output: the model gives everything allowed"
            " a probability of zero, or its numbers are not numbers"
        )
    return sorted(hypotheses, key=lambda each: -each.score)
