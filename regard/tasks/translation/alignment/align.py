"""Which word came from which: word alignments of given translations, read from the cross-attention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from regard.errors import UsageError
from regard.tasks.texts import LOOK_AHEAD, in_blocks
from regard.tasks.translation.alignment.choice import Choice, choose, heads_of
from regard.tasks.translation.alignment.links import Weights, backward_links, forward_links, grow
from regard.tasks.translation.alignment.words import AttentionHead, Pair, encode, trouble, word_weights
from regard.tasks.translation.translator import Translator


class Link(NamedTuple):
    """A source word and a target word, counted from 0, and how much of its look the one gives the other."""

    source: int
    target: int
    weight: float


@dataclass(frozen=True)
class Alignment:
    """The links of one pair, in order; `trouble` says why there are none, where there could be some."""

    links: tuple[Link, ...] = ()
    trouble: str = ""

    def __str__(self) -> str:
        """In the format that Pharaoh made common: `0-0 1-2`."""
        return " ".join(f"{link.source}-{link.target}" for link in self.links)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"links": [[*link[:2], round(link.weight, 4)] for link in self.links], "trouble": self.trouble or None}


def align(
    translator: Translator,
    sources: Sequence[str],
    targets: Sequence[str],
    *,
    layer: int | None = None,
    head: int | None = None,
    read: bool | None = None,
    reverse: Translator | None = None,
) -> list[Alignment]:
    """Align the words (what spaces divide) of each source with those of its target.

    What is not said of layer and `read` is chosen on a sample of the given pairs; see `choose`.
    """
    if isinstance(sources, str) or isinstance(targets, str) or len(sources) != len(targets):
        raise UsageError("align takes two lists of texts, as many sources as targets")
    pairs = list(zip(sources, targets, strict=True))
    choice = choose(translator, heads_of(translator, layer, head, read), pairs, reverse)
    return list(stream(translator, pairs, choice, reverse))


def stream(
    translator: Translator, pairs: Iterable[tuple[str, str]], choice: Choice, reverse: Translator | None = None
) -> Iterator[Alignment]:
    """One alignment for each pair, in order, in bounded memory."""
    for block in in_blocks(pairs, LOOK_AHEAD):
        ours = encode(translator.tokenizer, block)
        troubles = [trouble(translator, pair) for pair in ours]
        theirs: list[Pair] = []
        if reverse is not None:
            theirs = encode(reverse.tokenizer, [(target, source) for source, target in block])
            opposite = [trouble(reverse, pair, ("target", "source")) for pair in theirs]
            troubles = [one or other for one, other in zip(troubles, opposite, strict=True)]
        fit = [index for index, reason in enumerate(troubles) if not reason]
        found = iter(_matrices(translator, ours, fit, choice.look))
        back = iter(_matrices(reverse, theirs, fit, choice.reverse)) if reverse and choice.reverse else None
        for reason in troubles:
            if reason:
                yield Alignment(trouble=reason)
            else:
                weights = next(found)
                yield Alignment(tuple(_symmetrise(weights, next(back).T if back else None)))


def _matrices(translator: Translator, pairs: list[Pair], fit: list[int], look: AttentionHead) -> Iterator[Weights]:
    return (each[0] for each in word_weights(translator, [pairs[index] for index in fit], [look]))


def _symmetrise(weights: Weights, back: Weights | None) -> Iterator[Link]:
    """Links of both directions; the second is read from the opposite model's weights, or else from the same."""
    links = grow(forward_links(weights), backward_links(weights if back is None else back))
    shares = weights if back is None else (weights + back) / 2
    return (Link(source, target, float(shares[target, source])) for source, target in sorted(links))
