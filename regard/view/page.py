"""Attention of one translation → JSON → one HTML file that needs nothing else, neither files nor network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import UsageError

KINDS = ("cross", "encoder", "decoder")
START = "<s>"
DECIMALS = 4
DATA_MARK = "__ATTENTION_DATA__"


@dataclass(frozen=True)
class AttentionPage:
    """One sentence, its translation and who looked at whom. A model without some kind of attention leaves it out."""

    title: str
    source_tokens: list[str]
    """Pieces that the encoder read; "▁" begins a word."""
    target_tokens: list[str]
    """Pieces that the decoder wrote: row t of "decoder" and "cross" is the look taken in order to write piece t."""
    translation: str
    source_text: str
    attention: Mapping[str, ArrayLike]
    """By kind ("encoder", "decoder", "cross"), the weights as [layer][head][query][key]."""
    model: Mapping[str, str] = field(default_factory=dict)
    """Facts to show beside the sentence, such as parameters or BLEU."""

    def axes(self, kind: str) -> tuple[list[str], list[str]]:
        """The pieces along the queries and along the keys. A decoder reads what it wrote, one place later."""
        read_by_decoder = [START, *self.target_tokens[:-1]] if self.target_tokens else []
        return {
            "cross": (self.target_tokens, self.source_tokens),
            "encoder": (self.source_tokens, self.source_tokens),
            "decoder": (self.target_tokens, read_by_decoder),
        }[kind]

    def weights(self, kind: str) -> NDArray[np.float64]:
        """[layer, head, query, key], checked against the pieces."""
        weights = np.asarray(self.attention[kind], dtype=np.float64)
        queries, keys = self.axes(kind)
        if weights.ndim != 4 or 0 in weights.shape or weights.shape[2:] != (len(queries), len(keys)):
            wanted = f"[layers, heads, {len(queries)}, {len(keys)}]"
            raise UsageError(
                f"cannot show {kind} attention of shape {list(weights.shape)}: the pieces ask for {wanted}"
            )
        if not np.isfinite(weights).all():
            raise UsageError(f"cannot show {kind} attention: it holds values that are not numbers (NaN or infinity)")
        return weights

    def kinds(self) -> list[str]:
        """Those present, the most telling first."""
        if unknown := set(self.attention) - set(KINDS):
            raise UsageError(f"cannot show attention of kind {', '.join(sorted(unknown))}; known: {', '.join(KINDS)}")
        if not self.attention:
            raise UsageError("cannot show attention: the model gave none")
        return [kind for kind in KINDS if kind in self.attention]


class Seen(Protocol):
    """What a task shows of one translation."""

    @property
    def source_tokens(self) -> list[str]: ...
    @property
    def target_tokens(self) -> list[str]: ...
    @property
    def weights(self) -> Mapping[str, ArrayLike]: ...


def page_of(seen: Seen, source_text: str, translation: str, title: str, facts: Mapping[str, str]) -> AttentionPage:
    """The page of what a model's `attention(text)` returned."""
    return AttentionPage(title, seen.source_tokens, seen.target_tokens, translation, source_text, seen.weights, facts)


def to_dict(maps: AttentionPage) -> dict[str, Any]:
    """All that the page draws, as plain JSON values; weights keep four decimals."""
    return {
        "title": maps.title,
        "source_text": maps.source_text,
        "translation": maps.translation,
        "source_tokens": list(maps.source_tokens),
        "target_tokens": list(maps.target_tokens),
        "model": dict(maps.model),
        "maps": {
            kind: {
                "queries": maps.axes(kind)[0],
                "keys": maps.axes(kind)[1],
                "weights": maps.weights(kind).round(DECIMALS).tolist(),
            }
            for kind in maps.kinds()
        },
    }


def render(maps: AttentionPage) -> str:
    """The page as text."""
    data = json.dumps(to_dict(maps), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    before, _, after = files("regard.view").joinpath("page.html").read_text(encoding="utf-8").partition(DATA_MARK)
    # Without any "<" the sentence can neither end the script element nor open a comment in it.
    return before + data.replace("<", "\\u003c") + after


def write_page(maps: AttentionPage, path: Path) -> None:
    """Write the page, making its folder if need be."""
    page = render(maps)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the attention page to {path}: {error.strerror or error}") from None
