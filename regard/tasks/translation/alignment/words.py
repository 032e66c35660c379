"""A given pair, word by word: its ids, how its words look at each other, and how probable its tokens are.

Layers and heads count from 0 here, as in every array; people at the command line count from 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch

from regard.attention.record import record
from regard.data.batching import in_batches
from regard.data.tokenizer import PAD, Side, Tokenizer
from regard.tasks.translation.alignment.links import Weights
from regard.tasks.translation.native import known_pairs
from regard.tasks.translation.translator import Translator
from regard.view.words import Word, merge

TOKENS = 1_024  # computed together; each has a logit for every token of the vocabulary when words are hidden


class AttentionHead(NamedTuple):
    """Where to look: at one head of a layer's cross-attention, or at their mean."""

    layer: int
    head: int | None = None
    read: bool = False
    """A token looks when it is written; or, one step later, when it is read (Chen et al. 2020)."""

    def __str__(self) -> str:
        which = "mean of heads" if self.head is None else f"head {self.head + 1}"
        return f"layer {self.layer + 1}, {which}, when a token is {'read' if self.read else 'written'}"


class Pair(NamedTuple):
    """A sentence and its translation: the ids of each word. Normalisation may leave a word none."""

    source: list[list[int]]
    target: list[list[int]]


def encode(tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> list[Pair]:
    """The ids of each word by itself: no token goes over a space, so that together they are those of the line."""

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
        if (tokens := len(flat(words))) > room:
            return f"the {name} has {tokens} tokens, but the positions of {translator.recipe.name} end at {room}"
    return ""


def word_weights(translator: Translator, pairs: Sequence[Pair], looks: Sequence[AttentionHead]) -> list[list[Weights]]:
    """For each pair and look, how much each target word looks at each source word: [target words, source words].

    What falls to the end of the source is no alignment and left out; rows sum to 1, or to 0 if a word has no tokens.
    """
    model = translator.model
    names = translator.attention_names()["cross"]
    found: list[list[Weights]] = [[] for _ in pairs]
    lengths = [1 + max(len(flat(words)) for words in pair) for pair in pairs]
    for batch in in_batches(lengths, TOKENS, 1):
        with ExitStack() as stack, torch.inference_mode():
            seen = {look.layer: stack.enter_context(record(model.get_submodule(names[look.layer]))) for look in looks}
            model(*_read(translator, [pairs[index] for index in batch]))
        for look in looks:
            heads = seen[look.layer]["model"]["weights"]  # [S, H, T, K]
            weights = (heads.mean(1) if look.head is None else heads[:, look.head]).cpu().numpy()
            for row, index in zip(weights, batch, strict=True):
                found[index].append(_merged(row, pairs[index], look.read))
    return found


def _merged(weights: Weights, pair: Pair, read: bool) -> Weights:
    """Tokens → words: a word is looked at as much as its tokens together, and looks as they do on average."""
    (keys, sources), (queries, targets) = (spans_of(words) for words in pair)
    merged = np.zeros((len(pair.target), len(pair.source)))
    if keys and queries:
        shown = weights[read : read + queries[-1].end, : keys[-1].end].astype(np.float64)
        shown /= np.maximum(shown.sum(-1, keepdims=True), 1e-12)
        merged[np.ix_(targets, sources)] = merge(shown, queries, keys)
    return merged


def spans_of(words: list[list[int]]) -> tuple[list[Word], list[int]]:
    """The tokens of each word that has any, and which words those are."""
    ends = list(accumulate(len(ids) for ids in words))
    kept = [index for index, ids in enumerate(words) if ids]
    return [Word(ends[index] - len(words[index]), ends[index]) for index in kept], kept


def _read(translator: Translator, pairs: Sequence[Pair]) -> tuple[torch.Tensor, torch.Tensor]:
    sources, targets = [flat(pair.source) for pair in pairs], [flat(pair.target) for pair in pairs]
    return known_pairs(translator.model, sources, targets)


def flat(words: list[list[int]]) -> list[int]:
    return [token for ids in words for token in ids]


def log_probabilities(translator: Translator, pairs: Sequence[Pair]) -> list[Weights]:
    """Of each target token given its source and the tokens before it; the end is left out."""
    model, found = translator.model, []
    share = max(1, TOKENS // (1 + len(flat(pairs[0].target))))
    for first in range(0, len(pairs), share):
        source, read = _read(translator, pairs[first : first + share])
        wanted = torch.nn.functional.pad(read[:, 1:], (0, 1), value=PAD)
        with torch.inference_mode():
            logits = model.project(model(source, read))  # [S, T, V]
            chosen = logits.gather(-1, wanted[..., None])[..., 0] - logits.logsumexp(-1)
        found += list(chosen[:, :-1].double().cpu().numpy())
    return found
