"""Ids of any number of sentences → hypotheses: how a translation model is driven through the one search."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard import config
from regard.attention.record import record
from regard.data.batching import in_batches, pad
from regard.data.tokenizer import END, PAD, START, UNKNOWN
from regard.decoding.candidates import StepCallback
from regard.decoding.options import Hypothesis, Search, SpecialTokens, length_limit
from regard.decoding.search import search
from regard.decoding.steppable import Steppable
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.models.ensemble import EncoderDecoderEnsemble
from regard.models.shortlist import Shortlisted, Shortlists
from regard.products import threads_that_help
from regard.tasks.translation.warnings import alignment_layer, coverage

CHUNK = 512  # rows of logits alive at a time
SPECIAL = SpecialTokens(start=START, end=END, pad=PAD, unknown=UNKNOWN)


def known_pairs(
    model: Model, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor]:
    """What the model reads of pairs whose target is known: source ids [S, K], and target ids one place late [S, T]."""
    arrays = (
        pad([np.array(ids, dtype=np.int64) for ids in sources], end=True),
        pad([np.array(ids, dtype=np.int64) for ids in targets], start=True),
    )
    source, read = (torch.from_numpy(array).to(model.device) for array in arrays)
    return source, read


def log_probabilities(
    model: Model, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> list[list[float]]:
    """Of each target's tokens given its source and the tokens before them, and then of its end; all in one pass."""
    wanted = torch.tensor([token for target in targets for token in (*target, END)], device=model.device)  # [N]
    with torch.inference_mode(), threads_that_help(model):
        states = model(*known_pairs(model, sources, targets), packed=True)  # [N, D]
        parts = zip(torch.split(states, CHUNK), torch.split(wanted, CHUNK), strict=True)
        own = [model.project(rows).log_softmax(-1).gather(-1, tokens[:, None])[:, 0] for rows, tokens in parts]
    return [each.tolist() for each in torch.split(torch.cat(own), [len(target) + 1 for target in targets])]


def coverages(
    model: Model, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
) -> list[NDArray[np.float32]]:
    """Of each pair how much attention each source token, and the end, got from all that was written; in one pass."""
    if isinstance(model, EncoderDecoderEnsemble):  # each member looked where it looked: the mean of all
        looks = [coverages(member, sources, targets) for member in model.each()]
        return [np.mean(of_pair, 0, dtype=np.float32) for of_pair in zip(*looks, strict=True)]
    names = model.attention_names()["cross"]
    aligning = model.get_submodule(names[alignment_layer(len(names))])
    # A record of the whole model would hold many times as much.
    with torch.inference_mode(), threads_that_help(model), record(aligning) as seen:
        model(*known_pairs(model, sources, targets))
    weights = seen["model"]["weights"].mean(1).cpu().numpy()  # [S, H, T + 1, K + 1] → [S, T + 1, K + 1]
    lengths = zip(map(len, sources), map(len, targets), strict=True)
    return [coverage(weights[row, : target + 1, : source + 1]) for row, (source, target) in enumerate(lengths)]


class Decodable(Steppable, Protocol):
    """What the search can drive: a Transformer, or one that another program computes."""

    max_positions: int

    @property
    def device(self) -> torch.device: ...


class Native:
    """The engine that is regard's own search."""

    def __init__(self, model: Decodable, shortlists: Shortlists | None = None) -> None:
        """With `shortlists` only what translates a sentence's own tokens, or is frequent, is looked for."""
        self.model, self.shortlists, self.about = model, shortlists, "native"

    def decode(
        self,
        sources: Sequence[Sequence[int]],
        options: Search,
        settings: config.Decoding,
        prefixes: Sequence[Sequence[int]] | None = None,
        on_step: StepCallback | None = None,
    ) -> list[list[Hypothesis]]:
        """Ids in, hypotheses out, in the order given; inside, sentences of similar length share a batch."""
        found: list[list[Hypothesis]] = [[] for _ in sources]
        prefixes = [()] * len(sources) if prefixes is None else prefixes
        lengths = [len(source) + len(prefix) + 1 for source, prefix in zip(sources, prefixes, strict=True)]
        for batch in in_batches(lengths, settings.batch_tokens, options.width):
            chosen = [sources[index] for index in batch], [prefixes[index] for index in batch]
            for index, hypotheses in zip(batch, self._batch(*chosen, options, settings, on_step), strict=True):
                found[index] = hypotheses
        return found

    def _batch(
        self,
        sources: Sequence[Sequence[int]],
        prefixes: Sequence[Sequence[int]],
        options: Search,
        settings: config.Decoding,
        on_step: StepCallback | None,
    ) -> list[list[Hypothesis]]:
        device, longest = self.model.device, self.model.max_positions
        ids = pad([np.array(source, dtype=np.int64) for source in sources], end=True)  # [S, K]
        limits = [
            length_limit(len(source), settings, longest, len(prefix))
            for source, prefix in zip(sources, prefixes, strict=True)
        ]
        shortlisted = self.shortlists.of(self.model, sources, prefixes) if self.shortlists is not None else None
        results = search(
            shortlisted or self.model,
            torch.from_numpy(ids).to(device),
            torch.tensor(limits, device=device),
            options,
            SPECIAL,
            prefixes=prefixes if shortlisted is None else [shortlisted.to_shortlist(prefix) for prefix in prefixes],
            seeds=[zlib.crc32(np.array(source, dtype="<i4").tobytes()) for source in sources],
            on_step=on_step if on_step is None or shortlisted is None else _with_vocabulary_ids(on_step, shortlisted),
        )
        if shortlisted is None:
            return results
        return [[replace(each, tokens=shortlisted.to_vocabulary(each.tokens)) for each in nbest] for nbest in results]


def _with_vocabulary_ids(on_step: StepCallback, shortlisted: Shortlisted) -> StepCallback:
    """Tells of the whole vocabulary's tokens what the search does with numbers of the shortlist."""
    return lambda found, *rest: on_step(replace(found, token=shortlisted.ids[found.token]), *rest)


def decode(
    model: Model,
    sources: Sequence[Sequence[int]],
    options: Search,
    settings: config.Decoding,
    prefixes: Sequence[Sequence[int]] | None = None,
    on_step: StepCallback | None = None,
) -> list[list[Hypothesis]]:
    """What the native engine makes of a model."""
    return Native(model).decode(sources, options, settings, prefixes, on_step)
