"""What one pass through a model showed besides its outcome: every weight, the positions, and each step of the computation.

All tasks tell it alike, so that one page can draw it; docs/files.md describes the JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.view.arrays import pack, pack_probabilities
from regard.view.words import texts_of, words_of

if TYPE_CHECKING:
    from torch import Tensor

    from regard.attention.record import Record

AXES = {
    "vectors": 2, "positions": 2, "query": 3, "key": 3, "value": 3, "scores": 3, "head_outputs": 3, "added": 2, "normed": 2,
    "hidden": 2, "output": 2, "memory": 2, "states": 2, "pooled": 1,
}  # fmt: skip
"""The tensors of a walk and how many axes each has, that of the batch left out."""
SHOWN_POSITIONS = 64  # of a table, at least


def _nothing_recorded() -> Record:
    """The record of a look that is made up."""
    from regard.attention.record import Record  # with torch, which a page by itself does not need

    return Record({})


@dataclass(frozen=True)
class Stack:
    """Layers that can be walked through, by what the model calls their modules."""

    kind: str
    """That of their self-attention: `encoder` or `decoder`."""
    side: str
    """Whose tokens they compute: `source` or `target`."""
    embedding: str
    layers: str
    count: int
    end: str
    """What follows them: `memory` for another stack, `next` token, or `label`."""
    cross: bool = False
    """Whether each layer also looks at the other stack's memory."""


@dataclass(frozen=True)
class Inside:
    """Of a model with one kind of attention at most."""

    shape: Mapping[str, str | int] = field(default_factory=dict)
    """The model's sizes and choices by name, such as width and norm."""
    names: Sequence[str] = ()
    """What the model calls its attentions, first layer first: the names to switch their heads off by."""
    off: Sequence[list[int]] = ()
    """The heads of each layer that were switched off; their weights are shown, but reach nothing."""
    positions: NDArray[np.floating[Any]] | None = None
    """What marks the positions, [positions, width]."""
    stacks: Sequence[Stack] = ()
    record: Record = field(default_factory=_nothing_recorded)
    """All recorded tensors of the pass."""
    lens: Sequence[Sequence[Mapping[str, Any]]] = ()
    """Of each layer and position, what the model would predict if it ended there."""
    matrices: Callable[[], Mapping[str, Mapping[str, Any]]] | None = None
    """Gives the weight matrices of the stacks, by module and letter, as strips (view/matrices.py): a page may want them."""

    def attention(self, weights: NDArray[np.floating[Any]]) -> dict[str, Any]:
        """Weights [layers, heads, queries, keys] as a page reads them."""
        return {
            "names": list(self.names),
            "off": list(self.off) or [[] for _ in weights],
            "weights": pack_probabilities(weights),
        }

    def to_dict(self, *, walk: bool) -> dict[str, Any]:
        """All but the weights, as plain JSON values."""
        return {
            "shape": dict(self.shape),
            "positions": None if self.positions is None else pack(self.positions),
            "stacks": [asdict(stack) for stack in self.stacks],
            "walk": pack_walk(self.record) if walk else None,
            "lens": [list(layer) for layer in self.lens],
            "matrices": dict(self.matrices()) if walk and self.matrices else {},
        }


def walked(record: Record) -> dict[tuple[str, str], Tensor]:
    """The tensors of a walk by module and name, without the batch axis."""
    return {
        (module, name): tensor[0] if tensor.dim() > AXES[name] else tensor
        for module in record
        for name, tensor in record[module].items()
        if name in AXES and not (name == "output" and "added" in record[module])  # which is one of the others
    }


def states_after(record: Record, stack: Stack) -> list[Tensor]:
    """The vectors [T, D] after each layer of a stack: what its last sub-layer gave."""
    subs = ("after_feed_forward", "after_cross", "after_self")
    layers = [f"{stack.layers}.{layer}" for layer in range(stack.count)]
    last = [next(f"{layer}.{sub}" for sub in subs if f"{layer}.{sub}" in record) for layer in layers]
    return [record[module]["output"].flatten(0, -2) for module in last]


def walk_size(record: Record) -> int:
    """How many numbers a walk through the computation takes."""
    return sum(tensor.numel() for tensor in walked(record).values())


def pack_walk(record: Record) -> dict[str, dict[str, Any]] | None:
    """The tensors of a walk as a page reads them; None if nothing was recorded."""
    walk: dict[str, dict[str, Any]] = {}
    for (module, name), tensor in walked(record).items():
        walk.setdefault(module, {})[name] = pack(tensor.float().cpu().numpy())
    return walk or None


def shape_of(settings: object) -> dict[str, str | int]:
    """A model's sizes and choices by name."""
    return {name: value for name, value in vars(settings).items() if isinstance(value, str | int)}


def side_of(text: str, tokens: list[str]) -> dict[str, Any]:
    """A sentence for a page: its text, its tokens, and the words that they make up."""
    words = zip(words_of(tokens), texts_of(tokens), strict=True)
    return {
        "text": text,
        "tokens": tokens,
        "words": [{"first": word.first, "end": word.end, "text": read} for word, read in words],
    }
