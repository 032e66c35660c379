"""Which look aligns best: the one that agrees most with links in the opposite direction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from regard import config
from regard.data.mixture import read_split
from regard.data.progress import progress
from regard.data.sampling import evenly
from regard.errors import UsageError
from regard.tasks.translation.alignment.links import Links, agreement, forward_links
from regard.tasks.translation.alignment.words import (
    AttentionHead,
    Pair,
    encode,
    flat,
    log_probabilities,
    spans_of,
    trouble,
    word_weights,
)
from regard.tasks.translation.translator import Translator

SAMPLE = 100  # pairs on which a look is chosen: hiding their words one by one takes as many passes as they have words


@dataclass(frozen=True)
class Choice:
    """The look whose links are confirmed most often, and how often those of each look were."""

    look: AttentionHead
    reverse: AttentionHead | None = None
    """That of the model of the opposite direction, if there is one."""
    agreement: Mapping[AttentionHead, float] = field(default_factory=dict)
    """Empty if nothing had to be chosen."""

    def lines(self) -> Iterator[str]:
        """A table for people."""
        yield f"looking at {self.look}"
        if self.reverse is not None:
            yield f"in the opposite direction at {self.reverse}"
        if self.agreement:
            yield "agreement of both directions:"
        for look, share in self.agreement.items():
            yield f"  {share:.3f}  {look}"


def validation_pairs(data: config.ParallelText) -> list[tuple[str, str]]:
    """The validation text of a recipe where it is at hand; nothing is downloaded for this."""
    return list(read_split(replace(data, download={}), "valid"))


def choose(
    translator: Translator,
    looks: Sequence[AttentionHead],
    pairs: Sequence[tuple[str, str]],
    reverse: Translator | None = None,
    *,
    show: bool = False,
) -> Choice:
    """Of some looks the one whose links from target to source agree best with links in the other direction, on a sample of pairs.

    With a model of the opposite direction these are its own. Without, they are found by hiding each source word in
    turn: it belongs to the target word that becomes most improbable. (The columns of the same attention would not do:
    they agree with its rows just as well when every look is one step late.)
    """
    if len(looks) == 1 and reverse is None:
        return Choice(looks[0])
    sample = _sample(translator, pairs, reverse)
    if not sample:
        return Choice(looks[0])  # nothing that could be aligned, one way or another
    ours = _forward(translator, encode(translator.tokenizer, sample), looks)
    if reverse is None:
        confirmed = hidden_links(translator, encode(translator.tokenizer, sample), show)
        found = {look: agreement(links, confirmed) for look, links in ours.items()}
        return Choice(max(found, key=lambda look: (found[look], look.layer)), None, found)  # of equals the later layer
    swapped = encode(reverse.tokenizer, [(target, source) for source, target in sample])
    times = {look.read for look in looks}
    opposite = [look for look in heads_of(reverse) if look.read in times]
    theirs = {
        look: [{(source, target) for target, source in each} for each in links]
        for look, links in _forward(reverse, swapped, opposite).items()
    }
    both = {(one, other): agreement(ours[one], theirs[other]) for one, other in product(ours, theirs)}
    best = max(both, key=lambda looks: both[looks])
    return Choice(*best, {look: max(both[look, other] for other in theirs) for look in ours})


def heads_of(
    translator: Translator, layer: int | None = None, head: int | None = None, read: bool | None = None
) -> list[AttentionHead]:
    """All that a model offers, as far as nothing is said of layer, head and time."""
    layers, heads = len(translator.attention_names()["cross"]), translator.model.heads
    for name, given, count in (("layer", layer, layers), ("head", head, heads)):
        if given is not None and not 0 <= given < count:
            raise UsageError(f"there is no {name} {given + 1}; the model's cross-attention has {name}s 1 to {count}")
    times = (False, True) if read is None else (read,)
    return [AttentionHead(each, head, time) for each in (range(layers) if layer is None else [layer]) for time in times]


def _sample(
    translator: Translator, pairs: Sequence[tuple[str, str]], reverse: Translator | None
) -> list[tuple[str, str]]:
    """Pairs that can be aligned, spread evenly: many corpora are sorted by length."""
    fit = [pair for pair, ids in zip(pairs, encode(translator.tokenizer, pairs), strict=True)
           if all(map(flat, ids)) and not trouble(translator, ids)]  # fmt: skip
    if reverse is not None:
        swapped = encode(reverse.tokenizer, [(target, source) for source, target in fit])
        fit = [pair for pair, ids in zip(fit, swapped, strict=True) if not trouble(reverse, ids)]
    return evenly(fit, SAMPLE)


def _forward(
    translator: Translator, pairs: Sequence[Pair], looks: Sequence[AttentionHead]
) -> dict[AttentionHead, list[Links]]:
    found = word_weights(translator, pairs, looks)
    return {look: [forward_links(each[number]) for each in found] for number, look in enumerate(looks)}


def hidden_links(translator: Translator, pairs: Sequence[Pair], show: bool = False) -> list[Links]:
    """For each source word the target word that becomes most improbable when the model may not read it."""
    links: list[Links] = []
    with progress(None if show else False) as bar:
        for pair in bar.track(pairs, description="Choosing where to look"):
            shown = [words for words in range(len(pair.source)) if pair.source[words]]
            without = [Pair([*pair.source[:word], *pair.source[word + 1 :]], pair.target) for word in shown]
            whole, *others = log_probabilities(translator, [pair, *without])
            spans, targets = spans_of(pair.target)
            lost = np.add.reduceat(whole - np.array(others), [span.first for span in spans], axis=-1)
            links.append({(word, targets[int(row.argmax())]) for word, row in zip(shown, lost, strict=True)})
    return links
