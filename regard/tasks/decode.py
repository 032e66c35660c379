"""Ids of any number of sentences → hypotheses: how a translation model is driven through the one search."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from regard import config
from regard.data.batching import pad
from regard.data.tokenizer import END, PAD, START, UNKNOWN
from regard.decoding.batches import in_batches
from regard.decoding.options import Hypothesis, Search, Special
from regard.decoding.search import search
from regard.decoding.walk import Watch
from regard.models.build import Model

SPECIAL = Special(start=START, end=END, pad=PAD, unknown=UNKNOWN)


def known_pairs(
    model: Model, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor]:
    """What the model reads of pairs whose target is known: source ids [S, K], and target ids one place late [S, T]."""
    arrays = (
        pad([np.array(ids, dtype=np.int64) for ids in sources], end=True),
        pad([np.array(ids, dtype=np.int64) for ids in targets], start=True),
    )
    source, read = (torch.from_numpy(array).to(model.output.weight.device) for array in arrays)
    return source, read


def length_limit(source_length: int, settings: config.Decoding, max_positions: int, prefix_length: int = 0) -> int:
    """The most steps an output may take, its end included; a function of the sentence and its prefix alone."""
    own = int(min(settings.max_ratio * source_length, max_positions)) + settings.max_extra
    return min(prefix_length + own, max_positions)


def decode(
    model: Model,
    sources: Sequence[Sequence[int]],
    options: Search,
    settings: config.Decoding,
    prefixes: Sequence[Sequence[int]] | None = None,
    watch: Watch | None = None,
) -> list[list[Hypothesis]]:
    """Ids in, hypotheses out, in the order given; inside, sentences of similar length share a batch."""
    device = model.output.weight.device
    width = options.nbest if options.sample else options.beam
    found: list[list[Hypothesis]] = [[] for _ in sources]
    prefixes = [()] * len(sources) if prefixes is None else prefixes
    for batch in in_batches([len(source) + 1 for source in sources], settings.batch_tokens, width):
        ids = pad([np.array(sources[index], dtype=np.int64) for index in batch], end=True)  # [S, K]
        limits = [
            length_limit(len(sources[index]), settings, model.max_positions, len(prefixes[index])) for index in batch
        ]
        results = search(
            model,
            torch.from_numpy(ids).to(device),
            torch.tensor(limits, device=device),
            options,
            SPECIAL,
            prefixes=[prefixes[index] for index in batch],
            seeds=[zlib.crc32(np.array(sources[index], dtype="<i4").tobytes()) for index in batch],
            watch=watch,
        )
        for index, hypotheses in zip(batch, results, strict=True):
            found[index] = hypotheses
    return found
