"""The walk that greedy, sampled and beam search share; they differ only in the function that proposes candidates.

S sentences still being written · W paths per sentence · C candidates per sentence · V vocabulary · T tokens written
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.decoding.constraints import NEVER, Rules
from regard.decoding.options import Hypothesis, Search
from regard.decoding.steppable import State, Steppable
from regard.errors import UsageError


@dataclass(frozen=True)
class Paths:
    """All that is being written. A path whose total is -inf is dead: finished, or impossible under the rules."""

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
    """Ways to go on, best first in a beam, and otherwise one for each path, in the order of the paths."""

    parent: Tensor  # [S, C], which of its sentence's paths each one continues
    token: Tensor  # [S, C]
    log_probability: Tensor  # [S, C], of the token


Choose = Callable[[Tensor, Paths], Candidates]
"""(log-probabilities [S, W, V], -inf where a rule forbids, and the paths) → candidates."""

Watch = Callable[[Candidates, Tensor, Tensor, Tensor, float], None]
"""(candidates, and of each its total, whether it stops and whether it finishes [S, C]; the length penalty) at each step."""

Halt = Callable[[Candidates, Paths], Tensor]
"""(candidates, and the paths they continue) → which of them finish, for a reason only the caller knows [S, C]."""


def walk(
    model: Steppable,
    source: Any,
    limits: Tensor,
    options: Search,
    rules: Rules,
    width: int,
    choose: Choose,
    watch: Watch | None = None,
    firsts: Tensor | None = None,
    halt: Halt | None = None,
) -> list[list[Hypothesis]]:
    """Write every sentence to its end or limit, `width` paths side by side; finished sentences leave the batch.

    A candidate finishes if it ends, reaches the limit or is halted, among the `width` best of its sentence. A sentence
    is over when `width` hypotheses finished, when no path is left, or when none that is left could enter the n best.
    These rules make a beam of width 1 exactly greedy.
    """
    nbest, end = options.nbest, rules.special.end
    hypotheses: list[list[Hypothesis]] = [[] for _ in range(limits.numel())]
    greatest = torch.tensor([options.penalty(limit) for limit in limits.tolist()], device=limits.device)
    paths = _open(model, source, limits, hypotheses)
    finished = paths.totals.new_full((paths.sentences.numel(), nbest), NEVER)  # the best scores, kept sorted
    count = torch.zeros_like(paths.sentences)
    last = torch.full_like(paths.sentences, rules.special.start) if firsts is None else firsts[paths.sentences]
    while paths.sentences.numel():
        logits, state = model.step(last, paths.state)
        log_probabilities = logits.float().log_softmax(-1).view(*paths.totals.shape, -1)  # [N, V] → [S, W, V]
        found = choose(rules.apply(log_probabilities, paths.tokens, paths.sentences), paths)

        length = paths.tokens.size(2) + 1
        totals = paths.totals.gather(1, found.parent) + found.log_probability  # [S, C]
        stops = (found.token == end) | (limits[paths.sentences] == length).unsqueeze(1)  # [S, C]
        if halt is not None:
            stops = stops | halt(found, paths)
        finishes = stops & (totals > NEVER)
        finishes[:, width:] = False
        scores = totals / options.penalty(length)
        _collect(hypotheses, paths, found, totals, scores, finishes, end)
        if paths.tokens.size(2):
            _close(hypotheses, paths, (totals == NEVER).all(1), options.penalty(length - 1))
        if watch is not None:
            watch(found, totals, stops, finishes, options.penalty(length))

        totals = totals.masked_fill(stops, NEVER)
        best = totals.amax(1)
        count = count + finishes.sum(1)
        over = (best == NEVER) | (count >= width)
        if options.early_stop and not options.sample:
            finished = torch.cat([finished, scores.masked_fill(~finishes, NEVER)], 1).topk(nbest).values
            # Log-probabilities only fall, and at the limit they are divided by the most.
            over |= finished[:, -1] >= best / greatest[paths.sentences]
        if over.all():
            break
        keep = (~over).nonzero().squeeze(1) if over.any() else None
        paths = _go_on(paths, state, found, totals, width, keep)
        if keep is not None:
            finished, count = finished[keep], count[keep]
        last = paths.last
    return [_ranked(each, number)[:nbest] for number, each in enumerate(hypotheses)]


def _open(model: Steppable, source: Any, limits: Tensor, hypotheses: list[list[Hypothesis]]) -> Paths:
    """One path per sentence, of no tokens yet; a sentence that may write nothing is over before the start."""
    sentences = limits.nonzero().squeeze(1)
    state = model.start(source)
    if sentences.numel() < limits.numel():
        for number in (limits == 0).nonzero().squeeze(1).tolist():
            hypotheses[number].append(Hypothesis((), 0.0, 0.0, (), "length"))
        if sentences.numel():
            state = state.select(sentences.unsqueeze(1))
    tokens = sentences.new_empty((sentences.numel(), 1, 0))
    nothing = torch.zeros(tokens.shape, device=limits.device)
    return Paths(state, sentences, tokens, nothing, nothing.sum(-1))


def _go_on(paths: Paths, state: State, found: Candidates, totals: Tensor, width: int, keep: Tensor | None) -> Paths:
    """The sentences `keep`, or all, with their candidates as the new paths: the `width` best if there are more."""
    parent, token, log_probability = found.parent, found.token, found.log_probability
    if totals.size(1) > width:
        totals, best = totals.topk(width)  # [S, C] → [S, W]
        parent, token, log_probability = parent.gather(1, best), token.gather(1, best), log_probability.gather(1, best)
    before = paths.totals.numel()
    offsets = torch.arange(0, before, paths.totals.size(1), device=parent.device).unsqueeze(1)  # [S, 1]
    rows, sentences = parent + offsets, paths.sentences  # [S, W], rows of the present state
    if keep is not None:
        rows, sentences, totals = rows[keep], sentences[keep], totals[keep]
        token, log_probability = token[keep], log_probability[keep]
    tokens, log_probabilities = paths.tokens.flatten(0, 1), paths.log_probabilities.flatten(0, 1)  # [N, T]
    if not torch.equal(rows.flatten(), torch.arange(before, device=rows.device)):
        state, tokens, log_probabilities = state.select(rows), tokens[rows], log_probabilities[rows]  # [S, W, T]
    return Paths(
        state,
        sentences,
        torch.cat([tokens.view(*rows.shape, -1), token.unsqueeze(2)], 2),
        torch.cat([log_probabilities.view(*rows.shape, -1), log_probability.unsqueeze(2)], 2),
        totals,
    )


def _collect(
    hypotheses: list[list[Hypothesis]],
    paths: Paths,
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
    tokens = torch.cat([paths.tokens[parent], found.token[here].unsqueeze(1)], 1)  # [F, T + 1]
    parts = torch.cat([paths.log_probabilities[parent], found.log_probability[here].unsqueeze(1)], 1)  # [F, T + 1]
    lists = (paths.sentences[sentence], tokens, parts, totals[here], scores[here])
    for number, ids, logs, total, score in zip(*(each.tolist() for each in lists), strict=True):
        if ids[-1] == end:
            hypothesis = Hypothesis(tuple(ids[:-1]), score, total, tuple(logs), "end")
        else:
            hypothesis = Hypothesis(tuple(ids), score, total, tuple(logs), "length")
        hypotheses[number].append(hypothesis)


def _close(hypotheses: list[list[Hypothesis]], paths: Paths, stuck: Tensor, penalty: float) -> None:
    """Of sentences that can go on in no way and never finished, such as where no piece may come again: what is written."""
    for place in stuck.nonzero().squeeze(1).tolist():
        own = hypotheses[int(paths.sentences[place])]
        if not own:
            total, best = paths.totals[place].max(0)
            ids, logs = paths.tokens[place, best].tolist(), paths.log_probabilities[place, best].tolist()
            own.append(Hypothesis(tuple(ids), total.item() / penalty, total.item(), tuple(logs), "length"))


def _ranked(hypotheses: list[Hypothesis], number: int) -> list[Hypothesis]:
    if not hypotheses:
        raise UsageError(
            f"sentence {number} of the batch has no possible output: the model gives everything allowed"
            " a probability of zero, or its numbers are not numbers"
        )
    return sorted(hypotheses, key=lambda each: -each.score)
