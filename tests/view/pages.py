"""What the tests of viewing look at: attention at random, or as given, between given tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.tasks.translation.attention import Attention

SOURCE = ["▁A", "▁dog", "▁run", "s", ".", "</s>"]
TARGET = ["▁Ein", "▁Hund", "▁renn", "t", "</s>"]


def at_random(layers: int, heads: int, queries: int, keys: int, seed: int = 0) -> NDArray[np.float64]:
    """Weights whose rows sum to 1."""
    scores = np.exp(2 * np.random.default_rng(seed).normal(size=(layers, heads, queries, keys)))
    return np.asarray(scores / scores.sum(-1, keepdims=True))


def seen(source: list[str] = SOURCE, target: list[str] = TARGET, **changes: Any) -> Attention:
    """All three kinds in two layers of two heads, unless `weights` are given."""
    settings: dict[str, Any] = {
        "title": "a run",
        "text": "".join(source[:-1]).replace("▁", " ").strip(),
        "translation": "".join(target[:-1]).replace("▁", " ").strip(),
        "source_tokens": source,
        "target_tokens": target,
        **changes,
    }
    if "weights" not in settings:
        settings["weights"] = {
            "encoder": at_random(2, 2, len(source), len(source), seed=1),
            "decoder": at_random(2, 2, len(target), len(target), seed=2),
            "cross": at_random(2, 2, len(target), len(source), seed=3),
        }
    return Attention(**settings)
