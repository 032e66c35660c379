"""Who may look at whom. In every mask of regard, True = may look; `additive_mask` turns one into what is added to scores.
`require_mask` refuses one that could be read in two ways.

B batch · Q query positions · K key positions
"""

from __future__ import annotations

import torch
from torch import Tensor

from regard.errors import UsageError, whole

PAD = 0  # the id that fills up rows


def padding_mask(ids: Tensor) -> Tensor:
    """Nobody looks at padding: ids [B, K] → [B, 1, 1, K], the same for every head and query."""
    if not isinstance(ids, Tensor) or ids.ndim != 2 or ids.is_floating_point() or ids.dtype == torch.bool:
        given = f"{list(ids.shape)} of {dtype_name(ids)}" if isinstance(ids, Tensor) else type(ids).__name__
        raise UsageError(f"a padding mask is made of ids, a tensor [batch, positions] of whole numbers; not of {given}")
    return (ids != PAD)[:, None, None, :]


def causal_mask(queries: int, keys: int | None = None, device: torch.device | None = None) -> Tensor:
    """No position looks at a later one: [Q, K]. With more keys than queries, the queries are the last positions."""
    queries = whole(queries, "the queries of a causal mask")
    keys = queries if keys is None else whole(keys, "the keys of a causal mask")
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


def additive_mask(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """0 where a query may look, else the lowest number: for a mask that many attentions share, made once for all.

    The lowest finite number and not -inf, as a row of -inf would make softmax NaN. No query may be without a key.
    """
    return (~mask).to(dtype).mul_(torch.finfo(dtype).min)


def as_numbers(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """`additive_mask` of a mask, or what is numbers already."""
    return additive_mask(mask, dtype) if mask.dtype == torch.bool else mask


def as_mask(mask: Tensor) -> Tensor:
    """The other way round: True where a query may look, also if numbers say so."""
    return mask if mask.dtype == torch.bool else mask == 0


def require_mask(mask: Tensor, scores: tuple[int, ...]) -> None:
    """A mask that means one thing, and broadcasts to the scores [.., Q, K]."""
    require_one_meaning(mask)
    if broadcast_shape(mask.shape, scores) != scores:
        raise UsageError(
            f"a mask of shape {list(mask.shape)} does not fit scores of shape {list(scores)}, [.., queries, keys]: "
            f"each size of the mask, counted from the last, must be 1 or the scores' own{_missing_axes(mask, scores)}"
        )


def _missing_axes(mask: Tensor, scores: tuple[int, ...]) -> str:
    """What to write if the mask is of whole sequences, as padding is, and lacks the axes between them and the keys."""
    by_axes = {2: (scores[0], scores[-1]), 3: (scores[0], *scores[-2:])}
    if mask.ndim >= len(scores) or by_axes.get(mask.ndim) != tuple(mask.shape):
        return ""
    between = ", ".join(["None"] * (len(scores) - mask.ndim))
    return f"; one for each sequence is mask[:, {between}]"


def require_one_meaning(mask: Tensor) -> None:
    """Booleans, or numbers that can only be meant to be added: 0 and 1 would be added as if they were a hint."""
    if not isinstance(mask, Tensor):
        raise UsageError(
            f"a mask is a tensor of booleans, True = may look; not {type(mask).__name__}; torch.as_tensor(mask) makes one"
        )
    if mask.dtype == torch.bool:
        return
    write = "write mask=mask != 0 if 1 means may look, mask=mask == 0 if it means hidden"
    if not mask.is_floating_point():
        raise UsageError(f"a mask of {dtype_name(mask)} can be read in two ways, and is refused; {write}")
    if mask.isnan().any() or mask.isposinf().any():
        raise UsageError("the mask holds NaN or +inf; numbers of a mask are added to the scores, and −inf hides")
    if mask.any() and ((mask == 0) | (mask == 1)).all():
        raise UsageError(
            f"a mask of {dtype_name(mask)} is added to the scores, and this one holds nothing but 0 and 1, which looks like one that "
            f"shows and hides; {write}"
        )


def broadcast_shape(one: torch.Size | tuple[int, ...], other: torch.Size | tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that both broadcast to, if there is one."""
    long, short = sorted((tuple(one), tuple(other)), key=len, reverse=True)
    short = (1,) * (len(long) - len(short)) + short
    fits = all(a == b or 1 in (a, b) for a, b in zip(long, short, strict=True))
    return tuple(b if a == 1 else a for a, b in zip(long, short, strict=True)) if fits else None


def dtype_name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
