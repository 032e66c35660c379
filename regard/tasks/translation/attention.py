"""What a model attended to while it wrote one output: the arrays by name, and the ways to look at them.

`to_dict` is all that a page knows; docs/files.md describes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import UsageError
from regard.tasks.alternatives import Alternatives
from regard.tasks.translation.warnings import alignment_layer, coverage, repeated_words, spelled_words, unseen_words
from regard.view.arrays import pack, pack_probabilities
from regard.view.inside import Stack, pack_walk, side_of, walk_size
from regard.view.words import merge, words_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from regard.attention.record import Record

KINDS = ("cross", "encoder", "decoder")
START, END = "<s>", "</s>"


def no_record() -> Record:
    """Late: whoever translates without torch never needs it."""
    from regard.attention.record import Record

    return Record({})


@dataclass(frozen=True)
class SearchHypothesis:
    """One hypothesis of the search, one token longer than its parent."""

    parent: int
    """Which of the step before's `kept`."""
    token: str
    log_probability: float
    total: float
    score: float
    text: str


@dataclass(frozen=True)
class SearchStep:
    """The hypotheses that survived one position."""

    kept: list[SearchHypothesis]
    finished: list[SearchHypothesis]


@dataclass(frozen=True, repr=False)
class Attention:
    """Every attention weight of one output, as [layers, heads, queries, keys] by kind, and what else a page shows."""

    title: str
    text: str
    """What was read: the text, or one part of a text that is too long for one pass."""
    translation: str
    """What was written."""
    source_tokens: list[str]
    """Tokens that the encoder read; "▁" begins a word."""
    target_tokens: list[str]
    """Tokens that the decoder wrote: row t of `decoder` and `cross` is the look taken in order to write token t."""
    weights: Mapping[str, NDArray[np.floating[Any]]]
    """`encoder`, `decoder` and `cross`, as far as the model has them."""
    names: Mapping[str, list[str]] = field(default_factory=dict)
    """By kind, what the model calls its layers: the names to switch their heads off by."""
    off: Mapping[str, list[list[int]]] = field(default_factory=dict)
    """By kind, the heads of each layer that were switched off; their weights are shown, but reach nothing."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """What to tell of the model, such as parameters or BLEU."""
    shape: Mapping[str, str | int] = field(default_factory=dict)
    """The model's sizes and choices by name, such as width and norm."""
    alternatives: list[Alternatives] = field(default_factory=list)
    """Of each token written."""
    steps: list[SearchStep] = field(default_factory=list)
    """What the search did …"""
    search: Mapping[str, str | int | float | bool] = field(default_factory=dict)
    """… and its options by name."""
    beside: str | None = None
    """What that search found, where it is not the translation: another engine wrote that, and cannot be watched."""
    positions: NDArray[np.floating[Any]] | None = None
    """What marks the positions, [positions, width]."""
    stacks: Sequence[Stack] = ()
    """The layers that a page can walk through."""
    lens: Sequence[Sequence[Mapping[str, Any]]] = ()
    """Of each decoder layer and token, what the model would write if it ended there (logit lens)."""
    matrices: Callable[[], Mapping[str, Mapping[str, Any]]] | None = None
    """Gives the weight matrices of those layers, by module and letter, as strips: a page may want them."""
    parts: int = 1
    """How many parts the whole text has; this is one of them."""
    tags: int = 0
    """Source tokens before the sentence: into which language."""
    record: Record = field(default_factory=no_record)
    """All recorded tensors of the pass."""

    def __post_init__(self) -> None:
        if unknown := set(self.weights) - set(KINDS):
            raise UsageError(f"cannot show attention of kind {', '.join(sorted(unknown))}; known: {', '.join(KINDS)}")
        if not self.weights:
            raise UsageError("cannot show attention: the model gave none")
        for kind in self.kinds:
            queries, keys = self.axes(kind)
            shape = self.weights[kind].shape
            if len(shape) != 4 or 0 in shape or shape[2:] != (len(queries), len(keys)):
                wanted = f"[layers, heads, {len(queries)}, {len(keys)}]"
                raise UsageError(f"cannot show {kind} attention of shape {list(shape)}: the tokens ask for {wanted}")
            if not np.isfinite(self.weights[kind]).all():
                raise UsageError(f"cannot show {kind} attention: it holds values that are not numbers")

    def __repr__(self) -> str:
        return f"Attention({self.text!r} → {self.translation!r}: {', '.join(self.kinds)})"

    @property
    def kinds(self) -> list[str]:
        """Those present, the most telling first."""
        return [kind for kind in KINDS if kind in self.weights]

    @property
    def read_tokens(self) -> list[str]:
        """What the decoder read when it wrote each token: the token before."""
        return [START, *self.target_tokens[:-1]] if self.target_tokens else []

    def axes(self, kind: str) -> tuple[list[str], list[str]]:
        """The tokens along the queries and along the keys."""
        return {
            "cross": (self.target_tokens, self.source_tokens),
            "encoder": (self.source_tokens, self.source_tokens),
            "decoder": (self.target_tokens, self.read_tokens),
        }[kind]

    def words(self, kind: str, layer: int = -1) -> NDArray[np.float64]:
        """One layer's weights between words, mean over its heads: [query words, key words]."""
        self.check(kind, layer)
        queries, keys = (words_of(tokens) for tokens in self.axes(kind))
        return merge(self.mean(kind, layer), queries, keys)

    def mean(self, kind: str, layer: int = -1) -> NDArray[np.float64]:
        """One layer's weights, mean over the heads that are not switched off: [queries, keys]."""
        weights = np.asarray(self.weights[kind][layer], dtype=np.float64)
        off = self.off[kind][layer] if kind in self.off else []
        on = [head for head in range(len(weights)) if head not in off]
        return weights[on].mean(0) if on else np.zeros_like(weights[0])

    def check(self, kind: str, layer: int, head: int | None = None) -> None:
        """Refuse what the model does not have."""
        if kind not in self.weights:
            raise UsageError(f"the model has no {kind!r} attention; it has {', '.join(self.kinds)}")
        layers, heads = self.weights[kind].shape[:2]
        if not -layers <= layer < layers:
            raise UsageError(f"there is no layer {layer}; {kind} attention has layers 0 to {layers - 1}")
        if head is not None and not 0 <= head < heads:
            raise UsageError(f"there is no head {head}; {kind} attention has heads 0 to {heads - 1}")

    def warnings(self) -> list[dict[str, Any]]:
        """What a reader should mistrust: source words that nobody looked at or that the model cannot know (they are
        spelled in bytes), and output that repeats itself."""
        looked = "cross" in self.weights
        covered = self.coverage() if looked else np.zeros(0)
        covered[: self.tags] = np.inf  # nothing is lost with them
        runs = unseen_words(covered, self.source_tokens) if looked else []
        return [
            *({"kind": "unseen", "side": "source", "words": list(run)} for run in runs),
            *({"kind": "spelled", "side": "source", "words": list(run)} for run in spelled_words(self.source_tokens)),
            *(
                {"kind": "repeated", "side": "target", "words": list(run)}
                for run in repeated_words(self.target_tokens, self.source_tokens)
            ),
        ]

    def coverage(self) -> NDArray[np.float64]:
        """How much attention each source token got from all that was written: [K]."""
        weights = self.mean("cross", alignment_layer(len(self.weights["cross"])))
        # [Q, K]; what the length limit cut off has no row for the end
        ended = self.target_tokens[-1:] == [END]
        return np.asarray(coverage(weights) if ended else weights.sum(0), dtype=np.float64)

    def to_dict(self, *, walk: bool = True) -> dict[str, Any]:
        """All that a page draws, as plain JSON values."""
        return {
            "title": self.title,
            "facts": dict(self.facts),
            "shape": dict(self.shape),
            "parts": self.parts,
            "source": side_of(self.text, self.source_tokens),
            "target": side_of(self.translation, self.target_tokens),
            "read": side_of("", self.read_tokens),
            "attention": {
                kind: {
                    "names": list(self.names.get(kind, [])),
                    "off": self.off.get(kind, [[] for _ in self.weights[kind]]),
                    "weights": pack_probabilities(self.weights[kind]),
                }
                for kind in self.kinds
            },
            "alternatives": [asdict(each) for each in self.alternatives],
            "steps": [asdict(step) for step in self.steps],
            "search": dict(self.search) or None,
            "beside": self.beside,
            "positions": None if self.positions is None else pack(self.positions),
            "stacks": [asdict(stack) for stack in self.stacks],
            "warnings": self.warnings(),
            "walk": self.walk() if walk else None,
            "lens": [list(layer) for layer in self.lens],
            "matrices": dict(self.matrices()) if walk and self.matrices else {},
        }

    @property
    def walk_size(self) -> int:
        """How many numbers a walk through the computation takes."""
        return walk_size(self.record)

    def walk(self) -> dict[str, dict[str, Any]] | None:
        """The recorded tensors by module and name, without the batch axis; None if nothing was recorded."""
        return pack_walk(self.record)

    def save(self, path: str | Path) -> None:
        """Write the page: one HTML file that needs nothing else, neither files nor network."""
        from regard.view.scenes import write_page

        write_page(Path(path), [self])

    def plot(self, kind: str = "", layer: int = -1, head: int | None = None) -> Figure:
        """One map as a matplotlib figure: a layer's mean over its heads, or one head of it."""
        from regard.tasks.translation.plot import plot

        return plot(self, kind or self.kinds[0], layer, head)

    def _repr_html_(self) -> str:
        from regard.view.scenes import in_a_frame

        return in_a_frame(self)
