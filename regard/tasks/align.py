"""Which word came from which: word alignments of given translations, read from the cross-attention.

Layers and heads count from 0 here, as in every array; people at the command line count from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import accumulate, product
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from regard import config
from regard.attention.record import record
from regard.data.batching import pad
from regard.data.corpus import read_pairs
from regard.data.progress import progress
from regard.data.tokenizer import PAD, Side, Tokenizer
from regard.decoding.batches import in_batches
from regard.errors import UsageError
from regard.tasks.translator import LOOK_AHEAD, Translator, in_blocks
from regard.view.words import Word, merge

Weights: TypeAlias = NDArray[np.float64]
Links: TypeAlias = set[tuple[int, int]]  # (source word, target word)

SAMPLE = 100  # pairs on which a look is chosen: hiding their words one by one takes as many passes as they have words
TOKENS = 1_024  # computed together; each has a logit for every piece of the vocabulary when words are hidden


class Look(NamedTuple):
    """Where to look: at one head of a layer's cross-attention, or at their mean."""

    layer: int
    head: int | None = None
    read: bool = False
    """A piece looks when it is written; or, one step later, when it is read (Chen et al. 2020)."""

    def __str__(self) -> str:
        which = "mean of heads" if self.head is None else f"head {self.head + 1}"
        return f"layer {self.layer + 1}, {which}, when a piece is {'read' if self.read else 'written'}"


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


class Pair(NamedTuple):
    """A sentence and its translation: the ids of each word. Normalisation may leave a word none."""

    source: list[list[int]]
    target: list[list[int]]


@dataclass(frozen=True)
class Choice:
    """The look whose links are confirmed most often, and how often those of each look were."""

    look: Look
    reverse: Look | None = None
    """That of the model of the opposite direction, if there is one."""
    agreement: Mapping[Look, float] = field(default_factory=dict)
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
    choice = choose(translator, pairs, layer=layer, head=head, read=read, reverse=reverse)
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


def _matrices(translator: Translator, pairs: list[Pair], fit: list[int], look: Look) -> Iterator[Weights]:
    return (each[0] for each in word_weights(translator, [pairs[index] for index in fit], [look]))


def encode(tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> list[Pair]:
    """The ids of each word by itself: no piece goes over a space, so that together they are those of the line."""

    def side(texts: Iterable[str], name: Side) -> Iterator[list[list[int]]]:
        words = [text.split() for text in texts]
        ids = iter(tokenizer.encode_all([word for line in words for word in line], name))
        return ([next(ids) for _ in line] for line in words)

    sources, targets = side((pair[0] for pair in pairs), "source"), side((pair[1] for pair in pairs), "target")
    return [Pair(*each) for each in zip(sources, targets, strict=True)]


def trouble(translator: Translator, pair: Pair, names: tuple[str, str] = ("source", "target")) -> str:
    """Why a model cannot align a pair, or nothing. An empty side is no trouble: it has no links."""
    room = translator.model.max_positions - 1  # one position is that of the sentence's end or start
    for name, words in zip(names, pair, strict=True):
        if (pieces := len(_flat(words))) > room:
            return f"the {name} has {pieces} pieces, but the positions of {translator.recipe.name} end at {room}"
    return ""


def word_weights(translator: Translator, pairs: Sequence[Pair], looks: Sequence[Look]) -> list[list[Weights]]:
    """For each pair and look, how much each target word looks at each source word: [target words, source words].

    What falls to the end of the source is no alignment and left out; rows sum to 1, or to 0 if a word has no pieces.
    """
    model = translator.model
    names = model.attention_names()["cross"]
    found: list[list[Weights]] = [[] for _ in pairs]
    lengths = [1 + max(len(_flat(words)) for words in pair) for pair in pairs]
    for batch in in_batches(lengths, TOKENS, 1):
        with ExitStack() as stack, torch.inference_mode():
            seen = {look.layer: stack.enter_context(record(model.get_submodule(names[look.layer]))) for look in looks}
            model(*_tensors(translator, [pairs[index] for index in batch]))
        for look in looks:
            heads = seen[look.layer]["model"]["weights"]  # [S, H, T, K]
            weights = (heads.mean(1) if look.head is None else heads[:, look.head]).cpu().numpy()
            for row, index in zip(weights, batch, strict=True):
                found[index].append(_merged(row, pairs[index], look.read))
    return found


def _merged(weights: Weights, pair: Pair, read: bool) -> Weights:
    """Pieces → words: a word is looked at as much as its pieces together, and looks as they do on average."""
    (keys, sources), (queries, targets) = (_spans(words) for words in pair)
    merged = np.zeros((len(pair.target), len(pair.source)))
    if keys and queries:
        shown = weights[read : read + queries[-1].end, : keys[-1].end].astype(np.float64)
        shown /= np.maximum(shown.sum(-1, keepdims=True), 1e-12)
        merged[np.ix_(targets, sources)] = merge(shown, queries, keys)
    return merged


def _spans(words: list[list[int]]) -> tuple[list[Word], list[int]]:
    """The pieces of each word that has any, and which words those are."""
    ends = list(accumulate(len(ids) for ids in words))
    kept = [index for index, ids in enumerate(words) if ids]
    return [Word(ends[index] - len(words[index]), ends[index]) for index in kept], kept


def _tensors(translator: Translator, pairs: Sequence[Pair]) -> tuple[torch.Tensor, torch.Tensor]:
    """Source ids [S, K] and target ids as the decoder reads them [S, T]."""
    device = translator.model.output.weight.device
    source, read = (
        pad([np.array(_flat(pair.source), dtype=np.int64) for pair in pairs], end=True),
        pad([np.array(_flat(pair.target), dtype=np.int64) for pair in pairs], start=True),
    )
    return torch.from_numpy(source).to(device), torch.from_numpy(read).to(device)


def _flat(words: list[list[int]]) -> list[int]:
    return [piece for ids in words for piece in ids]


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


def _symmetrise(weights: Weights, back: Weights | None) -> Iterator[Link]:
    """Links of both directions; the second is read from the opposite model's weights, or else from the same."""
    links = grow(forward_links(weights), backward_links(weights if back is None else back))
    shares = weights if back is None else (weights + back) / 2
    return (Link(source, target, float(shares[target, source])) for source, target in sorted(links))


def agreement(ones: Sequence[Links], others: Sequence[Links]) -> float:
    """2 |A ∩ B| / (|A| + |B|), over all pairs."""
    both = sum(len(one & other) for one, other in zip(ones, others, strict=True))
    return 2 * both / max(1, sum(map(len, [*ones, *others])))


def validation_pairs(data: config.ParallelText) -> list[tuple[str, str]]:
    """The validation text of a recipe where it is at hand; nothing is downloaded for this."""
    return list(read_pairs(data.valid, replace(data, download={}), "valid"))


def choose(
    translator: Translator,
    pairs: Sequence[tuple[str, str]],
    *,
    layer: int | None = None,
    head: int | None = None,
    read: bool | None = None,
    reverse: Translator | None = None,
    show: bool = False,
) -> Choice:
    """The look whose links from target to source agree best with links in the other direction, on a sample of pairs.

    With a model of the opposite direction these are its own. Without, they are found by hiding each source word in
    turn: it belongs to the target word that becomes most improbable. (The columns of the same attention would not do:
    they agree with its rows just as well when every look is one step late.)
    """
    looks = _looks(translator, layer, head, read)
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
    theirs = {
        look: [{(source, target) for target, source in each} for each in links]
        for look, links in _forward(reverse, swapped, _looks(reverse, None, None, read)).items()
    }
    both = {(one, other): agreement(ours[one], theirs[other]) for one, other in product(ours, theirs)}
    best = max(both, key=lambda looks: both[looks])
    return Choice(*best, {look: max(both[look, other] for other in theirs) for look in ours})


def _looks(translator: Translator, layer: int | None, head: int | None, read: bool | None) -> list[Look]:
    layers, heads = len(translator.model.attention_names()["cross"]), translator.recipe.model.heads
    for name, given, count in (("layer", layer, layers), ("head", head, heads)):
        if given is not None and not 0 <= given < count:
            raise UsageError(f"there is no {name} {given + 1}; the model's cross-attention has {name}s 1 to {count}")
    times = (False, True) if read is None else (read,)
    return [Look(each, head, time) for each in (range(layers) if layer is None else [layer]) for time in times]


def _sample(
    translator: Translator, pairs: Sequence[tuple[str, str]], reverse: Translator | None
) -> list[tuple[str, str]]:
    """Pairs that can be aligned, spread evenly: many corpora are sorted by length."""
    fit = [pair for pair, ids in zip(pairs, encode(translator.tokenizer, pairs), strict=True)
           if all(map(_flat, ids)) and not trouble(translator, ids)]  # fmt: skip
    if reverse is not None:
        swapped = encode(reverse.tokenizer, [(target, source) for source, target in fit])
        fit = [pair for pair, ids in zip(fit, swapped, strict=True) if not trouble(reverse, ids)]
    count = min(SAMPLE, len(fit))
    return [fit[number * len(fit) // count] for number in range(count)]


def _forward(translator: Translator, pairs: Sequence[Pair], looks: Sequence[Look]) -> dict[Look, list[Links]]:
    found = word_weights(translator, pairs, looks)
    return {look: [forward_links(each[number]) for each in found] for number, look in enumerate(looks)}


def hidden_links(translator: Translator, pairs: Sequence[Pair], show: bool = False) -> list[Links]:
    """For each source word the target word that becomes most improbable when the model may not read it."""
    links: list[Links] = []
    with progress(None if show else False) as bar:
        for pair in bar.track(pairs, description="Choosing where to look"):
            shown = [words for words in range(len(pair.source)) if pair.source[words]]
            without = [Pair([*pair.source[:word], *pair.source[word + 1 :]], pair.target) for word in shown]
            whole, *others = _log_probabilities(translator, [pair, *without])
            spans, targets = _spans(pair.target)
            lost = np.add.reduceat(whole - np.array(others), [span.first for span in spans], axis=-1)
            links.append({(word, targets[int(row.argmax())]) for word, row in zip(shown, lost, strict=True)})
    return links


def _log_probabilities(translator: Translator, pairs: Sequence[Pair]) -> list[Weights]:
    """Of each target piece given its source and the pieces before it; the end is left out."""
    model, found = translator.model, []
    share = max(1, TOKENS // (1 + len(_flat(pairs[0].target))))
    for first in range(0, len(pairs), share):
        source, read = _tensors(translator, pairs[first : first + share])
        wanted = torch.nn.functional.pad(read[:, 1:], (0, 1), value=PAD)
        with torch.inference_mode():
            logits = model.project(model(source, read))  # [S, T, V]
            chosen = logits.gather(-1, wanted[..., None])[..., 0] - logits.logsumexp(-1)
        found += list(chosen[:, :-1].double().cpu().numpy())
    return found
