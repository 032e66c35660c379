"""A model's weight matrices as strips small enough for a page: block by block, the strongest number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.view.arrays import pack

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.view.inside import Stack

MOST_ROWS, MOST_COLUMNS = 16, 64


def matrices_of(model: nn.Module, stacks: Sequence[Stack]) -> dict[str, dict[str, Any]]:
    """By module and the paper's letter, those of layers that can be walked through; weights in 8 bits are not shown."""
    found: dict[str, dict[str, Any]] = {}
    for stack in stacks:
        for layer in range(stack.count):
            name = f"{stack.layers}.{layer}"
            module: Any = model.get_submodule(name)
            if not hasattr(module.self_attention.output, "weight"):
                return {}
            kinds = ("self_attention", "cross_attention") if stack.cross else ("self_attention",)
            parts = {kind: _of_attention(getattr(module, kind)) for kind in kinds}
            if (feed_forward := module.feed_forward) is not None:
                parts["feed_forward"] = {"1": [feed_forward.widen.weight], "2": [feed_forward.narrow.weight]}
            for part, matrices in parts.items():
                found[f"{name}.{part}"] = {letter: _packed(each) for letter, each in matrices.items()}
    return found


def _of_attention(attention: Any) -> dict[str, list[Tensor]]:
    """Queries, keys and values of each head [E, D], and what mixes the heads [D, H × F]."""
    keys, values = attention.total_key_width, attention.total_value_width
    if hasattr(attention, "query_key_value"):
        query, key, value = attention.query_key_value.weight.split([keys, keys, values])
    else:
        query = attention.query.weight
        key, value = attention.key_value.weight.split([keys, values])
    by_head = {letter: list(each.chunk(attention.heads)) for letter, each in (("Q", query), ("K", key), ("V", value))}
    return {**by_head, "O": [attention.output.weight]}


def _packed(matrices: Sequence[Tensor]) -> dict[str, Any]:
    outputs, inputs = matrices[0].shape
    strips = [strip_of(each.detach().float().cpu().numpy()) for each in matrices]
    return {"shape": [inputs, outputs], "strips": pack(strips)}


def strip_of(weight: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    """[outputs, inputs] → [at most 16, at most 64]: of each block the number farthest from zero; a small matrix stays whole."""
    rows, columns = (
        np.arange(min(size, most)) * size // min(size, most)
        for size, most in zip(weight.shape, (MOST_ROWS, MOST_COLUMNS), strict=True)
    )
    highest, lowest = (
        larger.reduceat(larger.reduceat(weight, rows, 0), columns, 1) for larger in (np.maximum, np.minimum)
    )
    return np.where(highest >= -lowest, highest, lowest)
