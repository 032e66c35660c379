"""Each query looks at every key it may, and takes a weighted mix of the values (the paper's section 3.2.1).

`attend` is the definition, for people: it looks at what it is given. `attend_unchecked` is the same without that look;
`attend_batched` has its gradient written out, for training on a CPU; `attend_fused` goes through torch's fused kernel, which
never holds the weights. Tests hold them equal.

B batch · H heads · Q query positions · K key positions · E width of a query or key · F width of a value
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from regard.attention.masks import additive_mask, broadcast_shape, dtype_name, require_mask
from regard.errors import UsageError, shown

COLDEST = 1e-6  # scores divided by less may have no number


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    temperature: float = 1.0,
    hard: bool = False,
    scale: bool = True,
    drop: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """The mix of values for each query, and the weights that made it. A query that may look at nothing gets zeros.

    `query` [B, H, Q, E], `key` [B, H, K, E] and `value` [B, H, K, F], or with any other sizes before the last two that fit.
    `mask` broadcasts to [B, H, Q, K]: booleans, True = may look; or real numbers, which are added to the scores. What could
    be read either way, whole numbers or nothing but 0.0 and 1.0, is refused. Scores are divided by temperature · √E, without
    `scale` by the temperature alone. `hard` puts all weight on the best key, the first of equals: the limit of a temperature
    that falls towards 0, which is itself refused.
    """
    require_fit(query, key, value, mask)
    require_temperature(temperature)
    require_scale(scale)
    if not isinstance(hard, bool):
        raise UsageError(f"hard is True or False, not {shown(hard)}")
    if not (drop is None or callable(drop)):
        raise UsageError(f"drop is called with the weights, such as torch.nn.Dropout(0.1); it cannot be {shown(drop)}")
    return attend_unchecked(query, key, value, mask, temperature=temperature, hard=hard, scale=scale, drop=drop)


def attend_unchecked(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    temperature: float = 1.0,
    hard: bool = False,
    scale: bool = True,
    drop: Callable[[Tensor], Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """The definition, line by line, for who knows that all fits."""
    root = query.size(-1) ** 0.5 if scale else 1.0
    scores = query @ key.transpose(-2, -1) / (temperature * root)  # [B, H, Q, K]
    weights = to_weights(scores, mask, hard=hard)  #                 [B, H, Q, K], rows sum to 1
    mixed = drop(weights) if drop is not None else weights
    return mixed @ value, weights  #                                 [B, H, Q, F], [B, H, Q, K]


def to_weights(scores: Tensor, mask: Tensor | None = None, *, hard: bool = False) -> Tensor:
    """Scores → weights over the last axis. Shared by every kind of attention."""
    if mask is not None and mask.dtype != torch.bool:
        mask = mask.to(scores.dtype)  # NumPy's own numbers have 64 bits
        scores, mask = scores + mask, mask != float("-inf")
    if mask is not None:
        # The lowest finite number, not -inf: a row of -inf would make softmax and its gradient NaN.
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = hardmax(scores) if hard else scores.softmax(-1)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


def hardmax(scores: Tensor) -> Tensor:
    """All weight on the highest score, the first of equals."""
    if not scores.size(-1):
        return scores
    return torch.zeros_like(scores).scatter(-1, scores.argmax(-1, keepdim=True), 1.0)


def attend_fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    scale: bool = True,
    dropout: float = 0.0,
) -> Tensor:
    """Soft attention without the weights, in one kernel."""
    mixed = functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, dropout_p=dropout, scale=None if scale else 1.0
    )
    if mask is None or mask.dtype != torch.bool:
        return mixed
    return mixed.masked_fill(~mask.any(-1, keepdim=True), 0.0)


def attend_batched(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    scale: bool = True,
    keep: Tensor | None = None,
) -> Tensor:
    """Soft attention in two matrix products, and in four backward; `keep` [B, H, Q, K] is dropout's mask.

    Autograd would find the same gradients with several more passes over the scores, and transposed copies of the keys.
    """
    if mask is not None and mask.dtype == torch.bool:
        if not mask.any(-1).all():  # only the definition knows what to do for a query that may look at nothing
            drop = None if keep is None else lambda weights: weights * keep
            return attend_unchecked(query, key, value, mask, scale=scale, drop=drop)[0]
        mask = additive_mask(mask, query.dtype)
    factor = query.size(-1) ** -0.5 if scale else 1.0
    if not torch.is_grad_enabled():
        return _mix(query, key, value, mask, keep, factor)[0]
    mixed: Tensor = _Attend.apply(query, key, value, mask, keep, factor)  # type: ignore[no-untyped-call]
    return mixed


def _mix(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, keep: Tensor | None, factor: float
) -> tuple[Tensor, Tensor]:
    """`mask` is added to the scores, which are multiplied by `factor`."""
    scores = query @ key.transpose(-2, -1)  #                                     [B, H, Q, K]
    scores = scores.mul_(factor) if mask is None else torch.add(mask, scores, alpha=factor, out=scores)
    weights = scores.softmax(-1)
    return (weights if keep is None else weights * keep) @ value, weights  #      [B, H, Q, F], [B, H, Q, K]


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        keep: Tensor | None,
        factor: float,
    ) -> Tensor:
        mixed, weights = _mix(query, key, value, mask, keep, factor)
        context.factor = factor
        context.save_for_backward(query, key, value, weights, keep)
        return mixed

    @staticmethod
    @once_differentiable  # autograd would take the saved weights for constants
    def backward(context: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None, None]:
        query, key, value, weights, keep = context.saved_tensors
        (of_mixed,) = gradients
        of_weights = of_mixed @ value.transpose(-2, -1)  #                        [B, H, Q, K]
        kept = weights
        if keep is not None:
            of_weights, kept = of_weights.mul_(keep), weights * keep
        of_value = kept.transpose(-2, -1) @ of_mixed  #                           [B, H, K, F]
        of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype).mul_(context.factor)
        return of_scores @ key, of_scores.transpose(-2, -1) @ query, of_value, None, None, None


def require_fit(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    """query [.., Q, E], key [.., K, E] and value [.., K, F] make one attention, and the mask is of its scores."""
    named = {"query": query, "key": key, "value": value}
    shapes = ", ".join(f"{name} {list(each.shape)}" for name, each in named.items() if isinstance(each, Tensor))
    for name, each in named.items():
        if not isinstance(each, Tensor):
            raise UsageError(f"{name} must be a tensor, not {type(each).__name__}")
        if each.ndim < 2 or not each.is_floating_point():
            raise UsageError(
                f"{name} must hold real numbers, [.., positions, width]; it is {list(each.shape)} of {dtype_name(each)}"
            )
    if len({(each.dtype, each.device) for each in named.values()}) > 1:
        kinds = ", ".join(f"{name} {dtype_name(each)} on {each.device}" for name, each in named.items())
        raise UsageError(f"query, key and value must be of one type and on one device: {kinds}")
    if not query.size(-1):
        raise UsageError(f"a query of no numbers asks nothing: {shapes}")
    if query.size(-1) != key.size(-1):
        raise UsageError(
            f"a query of {query.size(-1)} numbers cannot be compared with a key of {key.size(-1)}: {shapes}; "
            "the last sizes of query and key must be equal"
        )
    if key.size(-2) != value.size(-2):
        raise UsageError(
            f"{key.size(-2)} keys cannot lead to {value.size(-2)} values: {shapes}; each key needs its value"
        )
    batch = broadcast_shape(query.shape[:-2], key.shape[:-2])
    if batch is None or broadcast_shape(batch, value.shape[:-2]) is None:
        raise UsageError(f"what stands before positions and width, batch and heads, does not fit: {shapes}")
    if mask is not None:
        require_mask(mask, (*batch, query.size(-2), key.size(-2)))


def require_scale(scale: object) -> None:
    """PyTorch's `scale` is the factor itself; here it is a question."""
    if not isinstance(scale, bool):
        raise UsageError(
            f"scale is True or False, whether scores are divided by the root of the key's width; not {shown(scale)}. "
            "For a factor β of your own: scale=False, temperature=1 / β"
        )


def require_temperature(temperature: object) -> None:
    """Above zero. At zero stands hard attention, which has a name of its own."""
    number = temperature.detach() if isinstance(temperature, Tensor) else temperature
    if not isinstance(number, Real | Tensor) or (isinstance(number, Tensor) and number.numel() != 1):
        raise UsageError(f"the temperature must be one number above 0, not {temperature!r}")
    degrees = float(number)
    hint = "; hard attention, its limit, is hard=True" if 0 <= degrees < COLDEST else ""
    if math.isnan(degrees) or degrees <= 0:
        raise UsageError(f"the temperature must be above 0, not {degrees:g}{hint}")
    if hint:
        raise UsageError(f"the temperature must be at least {COLDEST:g}, not {degrees:g}: scores would overflow{hint}")
