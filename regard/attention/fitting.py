"""What is given to an attention must fit together, and a mask must mean one thing. Looked at where people call, never on
the way of a model that trains or decodes.

Q queries · K keys · E width of a query or key · F width of a value
"""

from __future__ import annotations

import math
from numbers import Real

import torch
from torch import Tensor

from regard.errors import UsageError


def require_fit(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    """query [.., Q, E], key [.., K, E] and value [.., K, F] make one attention, and the mask is of its scores."""
    named = {"query": query, "key": key, "value": value}
    shapes = ", ".join(f"{name} {list(each.shape)}" for name, each in named.items() if isinstance(each, Tensor))
    for name, each in named.items():
        if not isinstance(each, Tensor):
            raise UsageError(f"{name} must be a tensor, not {type(each).__name__}")
        if each.ndim < 2 or not each.is_floating_point():
            raise UsageError(
                f"{name} must hold real numbers, [.., positions, width]; it is {list(each.shape)} of {_kind(each)}"
            )
    if len({(each.dtype, each.device) for each in named.values()}) > 1:
        kinds = ", ".join(f"{name} {_kind(each)} on {each.device}" for name, each in named.items())
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
    batch = _together(query.shape[:-2], key.shape[:-2])
    if batch is None or _together(batch, value.shape[:-2]) is None:
        raise UsageError(f"what stands before positions and width, batch and heads, does not fit: {shapes}")
    if mask is not None:
        require_mask(mask, (*batch, query.size(-2), key.size(-2)))


def require_mask(mask: Tensor, scores: tuple[int, ...]) -> None:
    """A mask that means one thing, and broadcasts to the scores [.., Q, K]."""
    require_one_meaning(mask)
    if _together(mask.shape, scores) != scores:
        raise UsageError(
            f"a mask of shape {list(mask.shape)} does not fit scores of shape {list(scores)}, [.., queries, keys]: "
            "each size of the mask, counted from the last, must be 1 or the scores' own"
        )


def require_one_meaning(mask: Tensor) -> None:
    """Booleans, or numbers that can only be meant to be added: 0 and 1 would be added as if they were a hint."""
    if not isinstance(mask, Tensor):
        raise UsageError(f"a mask is a tensor of booleans, True = may look; not {type(mask).__name__}")
    if mask.dtype == torch.bool:
        return
    write = "write mask=mask != 0 if 1 means may look, mask=mask == 0 if it means hidden"
    if not mask.is_floating_point():
        raise UsageError(f"a mask of {_kind(mask)} can be read in two ways, and is refused; {write}")
    if mask.isnan().any():
        raise UsageError("the mask holds NaN; numbers of a mask are added to the scores")
    if mask.any() and ((mask == 0) | (mask == 1)).all():
        raise UsageError(
            f"a mask of {_kind(mask)} is added to the scores, and this one holds nothing but 0 and 1, which looks like one that "
            f"shows and hides; {write}"
        )


def require_width(x: Tensor, width: int, what: str) -> None:
    """What a layer is given has the width it was made for."""
    if x.size(-1) != width:
        raise UsageError(f"{what} of shape {list(x.shape)} is {x.size(-1)} wide; this attention was made for {width}")


def require_temperature(temperature: object) -> None:
    """Above zero. At zero stands hard attention, which has a name of its own."""
    number = temperature.detach() if isinstance(temperature, Tensor) else temperature
    if not isinstance(number, Real | Tensor) or (isinstance(number, Tensor) and number.numel() != 1):
        raise UsageError(f"the temperature must be one number above 0, not {temperature!r}")
    degrees = float(number)
    if math.isnan(degrees) or degrees <= 0:
        hint = "; hard attention, its limit, is hard=True" if degrees == 0 else ""
        raise UsageError(f"the temperature must be above 0, not {degrees:g}{hint}")


def _together(one: torch.Size | tuple[int, ...], other: torch.Size | tuple[int, ...]) -> tuple[int, ...] | None:
    """The shape that both broadcast to, if there is one."""
    long, short = sorted((tuple(one), tuple(other)), key=len, reverse=True)
    short = (1,) * (len(long) - len(short)) + short
    fits = all(a == b or 1 in (a, b) for a, b in zip(long, short, strict=True))
    return tuple(b if a == 1 else a for a, b in zip(long, short, strict=True)) if fits else None


def _kind(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
