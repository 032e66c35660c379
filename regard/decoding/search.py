"""The one search: anything steppable in, the n best hypotheses of each sentence out. Greedy, sampled and beam search share
its loop, and differ only in the function that proposes candidates.

S sentences still being written · W hypotheses per sentence · C candidates per sentence · V vocabulary · T tokens written
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.cancellation import check_cancelled
from regard.decoding.candidates import (
    NEVER,
    ActiveHypotheses,
    Candidates,
    Choose,
    Constraints,
    StepCallback,
    StoppingCriterion,
    at_random,
    likeliest,
    most_probable,
)
from regard.decoding.options import Hypothesis, Search, SpecialTokens
from regard.decoding.steppable import State, Steppable
from regard.errors import UsageError
from regard.products import threads_that_help


def search(
    model: Steppable,
    source: Any,
    limits: Tensor,
    options: Search,
    special: SpecialTokens,
    prefixes: Sequence[Sequence[int]] | None = None,
    seeds: Sequence[int] | None = None,
    on_step: StepCallback | None = None,
    first_tokens: Tensor | None = None,
    stopping_criterion: StoppingCriterion | None = None,
) -> list[list[Hypothesis]]:
    """The n best outputs of each of the S sentences in `source`, best first; at least one, and fewer if no more exist.

    `limits` [S], on the model's device, is the greatest number of steps of each sentence, of which the end token is one;
    what has not ended by then finishes with the reason `length`. `prefixes` are forced, and their log-probabilities
    count. `seeds` are the sentences' own, and make samples independent of the batch; else a sentence's place is its seed.
    `on_step` is called after every step; see trace.py. `first_tokens` [S] stand where the start token would: of a text that
    goes on, its last token, if `source` is all before it. `stopping_criterion` finishes what it likes, with the reason
    `length`.
    """
    count = limits.numel()
    prefixes = [()] * count if prefixes is None else prefixes
    seeds = range(count) if seeds is None else seeds
    _check(limits.tolist(), special, prefixes, seeds)
    if not count:
        return []
    with torch.inference_mode(), threads_that_help(model):
        constraints = Constraints(special, options.no_repeat_ngram, prefixes, limits.device)
        if options.sample:
            choose = at_random(options, limits, seeds)
        else:
            choose = most_probable if options.beam == 1 else likeliest(options.beam)
        return search_loop(
            model,
            source,
            limits,
            options,
            constraints,
            options.width,
            choose,
            on_step,
            first_tokens,
            stopping_criterion,
        )


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
    shortest, any_finished = min(limits[active.sentences].tolist(), default=0), False
    last = torch.full_like(active.sentences, start) if first_tokens is None else first_tokens[active.sentences]
    while active.sentences.numel():
        check_cancelled()
        logits, state = model.step(last, active.state)
        log_probabilities = logits.float().log_softmax(-1).view(*active.totals.shape, -1)  # [N, V] → [S, W, V]
        found = choose(constraints.apply(log_probabilities, active.tokens, active.sentences), active)

        length = active.tokens.size(2) + 1
        totals = active.totals.gather(1, found.parent) + found.log_probability  # [S, C]
        stops = found.token == end  # [S, C]
        if length >= shortest:
            stops = stops | (limits[active.sentences] == length).unsqueeze(1)
        if stopping_criterion is not None:
            stops = stops | stopping_criterion(found, active)
        finishes = stops & (totals > NEVER)
        if finishes.size(1) > width:
            finishes[:, width:] = False
        scores = totals / options.penalty(length)
        finish_now = _collect(hypotheses, active, found, totals, scores, finishes, end)
        if on_step is not None:
            on_step(found, totals, stops, finishes, options.penalty(length))

        going = totals.masked_fill(stops, NEVER)
        best = going.amax(1)
        over = best == NEVER
        if finish_now:
            any_finished = True
            count = count + finishes.sum(1)
            finished = torch.cat([finished, scores.masked_fill(~finishes, NEVER)], 1).topk(nbest).values
        if any_finished:
            over |= count >= width
            if options.early_stop and not options.sample:
                # Log-probabilities only fall, and at the limit they are divided by the most.
                over |= finished[:, -1] >= best / greatest[active.sentences]
        keep = None
        if over.any():
            if active.tokens.size(2):
                _close(hypotheses, active, (totals == NEVER).all(1), options.penalty(length - 1))
            keep = (~over).nonzero().squeeze(1)
            if not keep.numel():
                break
        active = _go_on(active, state, found, going, width, keep)
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
    before, alone = active.totals.numel(), active.totals.size(1) == totals.size(1) == 1
    offsets = torch.arange(0, before, active.totals.size(1), device=parent.device).unsqueeze(1)  # [S, 1]
    rows, sentences = parent + offsets, active.sentences  # [S, W], rows of the present state
    if keep is not None:
        rows, sentences, totals = rows[keep], sentences[keep], totals[keep]
        token, log_probability = token[keep], log_probability[keep]
    tokens, log_probabilities = active.tokens.flatten(0, 1), active.log_probabilities.flatten(0, 1)  # [N, T]
    if keep is not None or not (alone or torch.equal(rows.flatten(), torch.arange(before, device=rows.device))):
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
) -> bool:
    """Add the candidates that finish to the hypotheses of their sentences; whether any does."""
    sentence, candidate = finishes.nonzero(as_tuple=True)  # [F], [F]
    if not sentence.numel():
        return False
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
    return True


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


def _check(limits: list[int], special: SpecialTokens, prefixes: Sequence[Sequence[int]], seeds: Sequence[int]) -> None:
    for name, given in (("prefixes", prefixes), ("seeds", seeds)):
        if len(given) != len(limits):
            raise UsageError(f"{len(given)} {name} were given for {len(limits)} sentences; give one for each")
    for number, (limit, prefix, seed) in enumerate(zip(limits, prefixes, seeds, strict=True)):
        if limit < 0:
            raise UsageError(f"the limit of sentence {number} is {limit}; it cannot be below 0")
        if len(prefix) > limit:
            raise UsageError(
                f"the prefix of sentence {number} has {len(prefix)} tokens, more than the {limit} it may have:"
                " shorten the prefix or raise the limit"
            )
        if unwanted := {*special.suppressed, special.end}.intersection(prefix):
            raise UsageError(f"the prefix of sentence {number} holds {min(unwanted)}, which is not a token of text")
        if seed < 0:
            raise UsageError(f"the seed of sentence {number} is {seed}; it cannot be below 0")
