"""Two passes over one batch that should say the same, though each lacks something else: other dropouts in R-Drop (Liang et al.
2021), of the second pass also some of the words in SimCut (Gao et al. 2022).

`consistent_loss` is the definition, on logits. `projected_consistent_loss` is the same from the states before the output
projection, in chunks, as in loss.py.

N tokens (or texts) · D width · V vocabulary (or labels)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.products import add_over_rows, product, zeros_over_rows
from regard.training.loss import CHUNK, Loss, smoothed_loss


class Consistency(NamedTuple):
    """How much two passes should agree."""

    weight: float
    both: bool = True
    """R-Drop: both passes are taught, each counting half, and each is drawn to the other. Else only the first is taught, and the
    second is to say what it says (SimCut)."""

    @property
    def taught(self) -> tuple[float, float]:
        """How much the loss of each pass counts."""
        return (0.5, 0.5) if self.both else (1.0, 0.0)


def consistent_loss(logits: Tensor, targets: Tensor, smoothing: float, consistency: Consistency) -> Loss:
    """logits [2 N, V], the second pass after the first, and targets [N]."""
    passes = logits.chunk(2)
    losses = [smoothed_loss(each, targets, smoothing) for each in passes]
    smoothed, plain = (
        sum(share * each for share, each in zip(consistency.taught, kind, strict=True))
        for kind in zip(*losses, strict=True)
    )
    first, second = (each.float().log_softmax(-1) for each in passes)
    apart = distance(first, second, consistency.both)
    return Loss(smoothed + consistency.weight * apart, plain)


def distance(first: Tensor, second: Tensor, both: bool = True) -> Tensor:
    """Of log-probabilities [N, V], the divergence of the second from the first, or the mean of both divergences; summed."""
    if both:
        return ((first.exp() - second.exp()) * (first - second)).sum() / 2
    return (first.exp() * (first - second)).sum()


def projected_consistent_loss(
    states: Tensor, weight: Tensor, targets: Tensor, smoothing: float, consistency: Consistency
) -> Loss:
    """states [2 N, D], output matrix weight [V, D], targets [N] → the loss of states @ weightᵀ."""
    if states.device.type != "cpu":
        return consistent_loss(product(states, weight), targets, smoothing, consistency)
    with torch.autocast("cpu", enabled=False):  # as in loss.py: gradients are written into tensors of the weights' type
        exact = states.to(weight.dtype), weight, targets
        return Loss(*_ProjectedConsistentLoss.apply(*exact, smoothing, consistency))  # type: ignore[no-untyped-call]


class _ProjectedConsistentLoss(torch.autograd.Function):
    """With p and q = softmax of both passes' logits, and u = log p - log q, the divergence is D(p, q) = Σ p u, and

        d D(p, q) / d logits of p = p (u - D(p, q))        d D(p, q) / d logits of q = q - p

    to which comes, of each pass that is taught, the gradient of its cross entropy: see loss.py.
    """

    @staticmethod
    def forward(
        context: Any, states: Tensor, weight: Tensor, targets: Tensor, smoothing: float, consistency: Consistency
    ) -> tuple[Tensor, Tensor]:
        passes, gradients = states.chunk(2), torch.empty_like(states).chunk(2)  # 2 × [N, D]
        weight_gradient = zeros_over_rows(weight)
        smoothed, plain = states.new_zeros(()), states.new_zeros(())
        for start in range(0, len(targets), CHUNK):
            chunk = slice(start, start + CHUNK)
            wanted = targets[chunk, None]
            first, second = logs = [product(each[chunk], weight).log_softmax(-1) for each in passes]  # 2 × [chunk, V]
            apart, drawn = _divergence(first, second, consistency.both)
            smoothed += consistency.weight * apart
            for rows, log, gradient, share, into in zip(
                passes, logs, drawn, consistency.taught, gradients, strict=True
            ):
                gradient *= consistency.weight
                if share:
                    of_target = -log.gather(-1, wanted).sum()
                    plain += share * of_target
                    smoothed += share * ((1 - smoothing) * of_target - smoothing * log.mean(-1).sum())
                    gradient.add_(log.exp(), alpha=share).sub_(share * smoothing / len(weight))
                    gradient.scatter_add_(-1, wanted, log.new_full(wanted.shape, share * (smoothing - 1)))
                into[chunk] = product(gradient, weight.t())
                add_over_rows(weight_gradient, gradient, rows[chunk])
        context.save_for_backward(torch.cat(gradients), weight_gradient)
        context.mark_non_differentiable(plain)
        return smoothed, plain

    @staticmethod
    @once_differentiable
    def backward(context: Any, *upstream: Tensor) -> tuple[Tensor | None, ...]:
        states_gradient, weight_gradient = context.saved_tensors
        return states_gradient * upstream[0], weight_gradient * upstream[0], None, None, None


def _divergence(first: Tensor, second: Tensor, both: bool) -> tuple[Tensor, list[Tensor]]:
    """Of log-probabilities [N, V], what `distance` says, and its gradient for the logits of each."""
    p, q, u = first.exp(), second.exp(), first - second
    forward = (p * u).sum(-1, keepdim=True)  # [N, 1]
    if not both:
        return forward.sum(), [p * (u - forward), q - p]
    backward = -(q * u).sum(-1, keepdim=True)
    gradients = [p * (u - forward + 1) - q, q * (1 - u - backward) - p]
    return (forward + backward).sum() / 2, [each / 2 for each in gradients]
