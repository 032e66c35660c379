"""One attention map as a matplotlib figure, for notebooks and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from regard.errors import UsageError, install
from regard.view.words import text_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from regard.tasks.translation.attention import Attention

INCHES_PER_TOKEN = 0.32


def plot(seen: Attention, kind: str, layer: int, head: int | None) -> Figure:
    """A layer's mean over its heads, or one head of it. Needs matplotlib: pip install -e '.[plot]'."""
    try:
        from matplotlib.figure import Figure  # not pyplot: a figure by itself leaves no global state behind
    except ImportError:
        raise UsageError(f"plotting needs matplotlib: {install('plot')}") from None
    seen.check(kind, layer, head)
    weights = np.asarray(seen.weights[kind][layer])  # [heads, queries, keys]
    shown = weights.mean(0) if head is None else weights[head]
    queries, keys = ([text_of([token]) or "␣" for token in tokens] for tokens in seen.axes(kind))
    figure = Figure(
        figsize=(2 + INCHES_PER_TOKEN * len(keys), 1.5 + INCHES_PER_TOKEN * len(queries)), layout="constrained"
    )
    axes = figure.subplots()
    image = axes.imshow(shown, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    # What a sentence has between two dollars is no formula.
    axes.set_xticks(range(len(keys)), keys, rotation=60, ha="left", rotation_mode="anchor", parse_math=False)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(queries)), queries, parse_math=False)
    which = "mean of heads" if head is None else f"head {head}"
    axes.set_title(f"{kind} attention, layer {layer % len(seen.weights[kind])}, {which}")
    figure.colorbar(image, ax=axes, label="weight")
    return figure
