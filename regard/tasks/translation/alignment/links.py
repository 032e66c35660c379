"""Links between words, as sets: from one direction's weights, joined, and compared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Weights: TypeAlias = NDArray[np.float64]  # [target words, source words]
Links: TypeAlias = set[tuple[int, int]]  # (source word, target word)


def forward_links(weights: Weights) -> Links:
    """For each target word the source word that it looks at most."""
    return {(int(row.argmax()), target) for target, row in enumerate(weights) if row.any()}


def backward_links(weights: Weights) -> Links:
    """For each source word the target word that looks at it most."""
    return {(source, target) for target, source in forward_links(weights.T)}


def grow(forward: Links, backward: Links) -> Links:
    """Grow-diag (Och and Ney 2003): what both directions say, and then, from neighbour to neighbour (diagonal ones
    too), what only one of them says of a word that has no link yet."""
    found, waiting = forward & backward, sorted(forward ^ backward)
    grown = True
    while grown:
        grown = False
        for source, target in waiting:
            free = all(link[0] != source for link in found) or all(link[1] != target for link in found)
            beside = any((source + down, target + right) in found for down, right in product((-1, 0, 1), repeat=2))
            if (source, target) not in found and free and beside:
                found.add((source, target))
                grown = True
    return found


def agreement(ones: Sequence[Links], others: Sequence[Links]) -> float:
    """2 |A ∩ B| / (|A| + |B|), over all pairs."""
    both = sum(len(one & other) for one, other in zip(ones, others, strict=True))
    return 2 * both / max(1, sum(map(len, [*ones, *others])))
