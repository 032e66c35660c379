"""Label-smoothed cross entropy (the paper's section 5.4).

`smoothed_loss` is the definition, on logits. `projected_loss` is the same from the states before the output
projection: it works in chunks, so that the logits of all tokens never exist at once, and writes the gradient while the
logits of a chunk are at hand.

N tokens · D width · V vocabulary
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.products import add_over_rows, product, zeros_over_rows

CHUNK = 512  # rows of logits alive at a time


class Loss(NamedTuple):
    """Sums over the tokens of a batch."""

    smoothed: Tensor
    """What training minimises."""
    plain: Tensor
    """Cross entropy without smoothing; its mean is the logarithm of the perplexity."""


def smoothed_loss(logits: Tensor, targets: Tensor, smoothing: float) -> Loss:
    """logits [N, V], targets [N]. The wanted distribution is 1 - ε on the target plus ε spread evenly over all V."""
    log_probabilities = logits.float().log_softmax(-1)  #                            [N, V]
    plain = -log_probabilities.gather(-1, targets[:, None]).squeeze(-1)  #           [N]
    spread = -log_probabilities.mean(-1)  #                                          [N]
    return Loss(((1 - smoothing) * plain + smoothing * spread).sum(), plain.sum().detach())


def projected_loss(states: Tensor, weight: Tensor, targets: Tensor, smoothing: float) -> Loss:
    """states [N, D], output matrix weight [V, D], targets [N] → the loss of states @ weightᵀ."""
    if states.device.type != "cpu":  # memory is short and kernels are launched one by one: leave it to autograd
        return smoothed_loss(product(states, weight), targets, smoothing)
    everywhere, meant = weight.new_full((len(weight),), 1 / len(weight)), states.new_ones(len(states))
    return _in_chunks(states, weight, targets, meant, smoothing, everywhere)


def _in_chunks(
    states: Tensor, weight: Tensor, targets: Tensor, meant: Tensor, smoothing: float, spread: Tensor
) -> Loss:
    """See `_ProjectedLoss`."""
    if not torch.is_grad_enabled():  # within `forward` it never is: only here can be told that nobody wants gradients
        states, weight = states.detach(), weight.detach()
    with torch.autocast("cpu", enabled=False):  # gradients are written in place, into tensors of the weights' type
        exact = states.to(weight.dtype), weight, targets, meant.to(weight.dtype)
        return Loss(*_ProjectedLoss.apply(*exact, smoothing, spread))  # type: ignore[no-untyped-call]


class AdaptiveOutput(Protocol):
    """A vocabulary whose rare tokens are in clusters: see models/adaptive.py."""

    size: int

    def __call__(self, states: Tensor) -> Tensor: ...
    def head(self) -> Tensor: ...
    def tails(self) -> list[tuple[int, int]]: ...
    def tail(self, number: int, states: Tensor) -> tuple[Tensor, Tensor]: ...


def adaptive_loss(states: Tensor, output: AdaptiveOutput, targets: Tensor, smoothing: float) -> Loss:
    """states [N, D], targets [N] → the loss of the output's log-probabilities.

    A rare token costs its cluster's loss in the head and its own within it, so that each cluster is computed only for
    the tokens that are in it: with 33,278 words and two cuts, a seventh of the work. Smoothing wants a little of
    every token of the vocabulary from each, so that with it nothing can be left out.
    """
    if smoothing and output.tails():
        losses = list(_dense_loss(states, output, targets, smoothing))
    else:
        losses = [
            projected_loss(own, weight, wanted, smoothing)
            for _, own, weight, wanted in clusters(states, output, targets)
        ]
    return Loss(*(torch.stack(each).sum() for each in zip(*losses, strict=True)))


def _dense_loss(states: Tensor, output: AdaptiveOutput, targets: Tensor, smoothing: float) -> Iterator[Loss]:
    """The loss of the head and of each cluster, all for every token. A cluster has the share of all its tokens."""
    if states.device.type != "cpu":
        yield smoothed_loss(output(states), targets, smoothing)
        return
    tails, head, size = output.tails(), output.head(), output.size
    spread = head.new_full((len(head),), 1 / size)
    spread[tails[0][0] :] = torch.tensor([(end - begin) / size for begin, end in tails])
    yield _in_chunks(states, head, in_head(targets, tails), states.new_ones(len(states)), smoothing, spread)
    for number, (begin, end) in enumerate(tails):
        own, weight = output.tail(number, states)
        meant = ((targets >= begin) & (targets < end)).to(states)
        wanted = (targets - begin).clamp(0, end - begin - 1)  # any, where none is meant
        yield _in_chunks(own, weight, wanted, meant, smoothing, weight.new_full((len(weight),), 1 / size))


def log_probabilities(states: Tensor, output: AdaptiveOutput, targets: Tensor) -> Tensor:
    """states [N, D], targets [N] → what the output says of each target [N]."""
    found = states.new_zeros(len(states))
    for rows, own, weight, wanted in clusters(states, output, targets):
        each = product(own, weight).log_softmax(-1).gather(-1, wanted[:, None]).squeeze(-1)
        found = found.index_add(0, rows, each)
    return found


def clusters(
    states: Tensor, output: AdaptiveOutput, targets: Tensor
) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Of the head and of each part: rows of the tokens that need it, their states as it reads them, its matrix, what they want.
    A part that nobody needs has none, and a gradient of zeros."""
    tails = output.tails()
    yield torch.arange(len(targets), device=targets.device), states, output.head(), in_head(targets, tails)
    for number, (begin, end) in enumerate(tails):
        rows = ((targets >= begin) & (targets < end)).nonzero().squeeze(1)
        yield rows, *output.tail(number, states[rows]), targets[rows] - begin


def in_head(targets: Tensor, tails: list[tuple[int, int]]) -> Tensor:
    """What the head should say: a frequent token itself, or the cluster of a rare one."""
    wanted = targets
    for number, (begin, end) in enumerate(tails):
        wanted = torch.where((targets >= begin) & (targets < end), tails[0][0] + number, wanted)
    return wanted


class _ProjectedLoss(torch.autograd.Function):
    """Cross entropy of softmax(logits) with the wanted distribution (1 - ε) `meant` on the target + ε `spread`.

    Over a whole vocabulary every target is meant, and spread is 1 / V; over a part of it, `meant` [N] is 0 for tokens
    whose target is elsewhere, and spread [V] sums to the part's share. So the wanted sum to m ≤ 1, and
    with p = softmax(logits), d loss / d logits = m p - (1 - ε) meant on the target - ε spread everywhere.

    The last term is the same for all tokens, so its share of both gradients is a product of sums, and the mean of a row
    of logits is the state times the mean of the output matrix: neither needs a pass over the logits. Nor does m, which
    multiplies the narrow side of each product.
    """

    @staticmethod
    def forward(
        context: Any, states: Tensor, weight: Tensor, targets: Tensor, meant: Tensor, smoothing: float, spread: Tensor
    ) -> tuple[Tensor, Tensor]:
        mean_weight = spread @ weight  #                                               [D]
        share = smoothing * spread.sum(dtype=torch.float64).item()
        mass = (1 - smoothing) * meant + share  #                                      [N]
        wants_gradient = any(context.needs_input_grad)
        states_gradient = torch.empty_like(states) if wants_gradient else None
        weight_gradient = zeros_over_rows(weight) if wants_gradient else None
        smoothed, plain = states.new_zeros(()), states.new_zeros(())
        for start in range(0, states.size(0), CHUNK):
            chunk = slice(start, start + CHUNK)
            rows, wanted, own, weighing = states[chunk], targets[chunk, None], meant[chunk], mass[chunk]
            logits = product(rows, weight)  #                                          [chunk, V]
            of_target = logits.gather(-1, wanted).squeeze(-1)  #                       [chunk]
            log_probabilities = logits.log_softmax(-1)  #                              [chunk, V]
            of_rows = -log_probabilities.gather(-1, wanted).squeeze(-1)  #             [chunk]
            plain += own @ of_rows
            smoothed += (weighing * of_rows + share * of_target - smoothing * (rows @ mean_weight)).sum()
            if states_gradient is not None and weight_gradient is not None:
                gradient = log_probabilities.exp_()  #                                 [chunk, V], still without m
                gradient.scatter_add_(-1, wanted, ((smoothing - 1) * own / weighing)[:, None])
                states_gradient[chunk] = product(gradient, weight.t())
                add_over_rows(weight_gradient, gradient, rows * weighing[:, None])
        if states_gradient is not None and weight_gradient is not None:
            states_gradient.mul_(mass[:, None]).sub_(mean_weight, alpha=smoothing)
            weight_gradient.addr_(spread, states.sum(0), alpha=-smoothing)
        context.save_for_backward(states_gradient, weight_gradient)
        context.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    @once_differentiable
    def backward(context: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        states_gradient, weight_gradient = context.saved_tensors
        return states_gradient * upstream[0], weight_gradient * upstream[0], None, None, None, None
