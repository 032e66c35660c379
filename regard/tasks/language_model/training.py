"""Language modelling as training sees it: what is a batch, what is lost, what is good.

S windows · T positions · N tokens
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard import config
from regard.data.batching import pad, require_place
from regard.data.ids import PairIds
from regard.data.prepare import Prepared
from regard.data.tokenizer import PAD, UNKNOWN
from regard.errors import DataError
from regard.models.language_model import LanguageModel
from regard.models.pointer import PointerOutput
from regard.tasks.language_model.movie import Probe, record_probes
from regard.tasks.language_model.streaming import start_token
from regard.tasks.movie import Filmed, choose
from regard.tasks.task import ENOUGH_EXAMPLES
from regard.tasks.text_assets import guess_vocabulary
from regard.tasks.word_dropout import hide
from regard.training.loss import Loss, adaptive_loss, log_probabilities
from regard.training.trainable import Finished, MicroBatch

Windows = NDArray[np.int64]  # [W, 2]: where each one's first wanted token is in the stream, and how many are wanted


class LanguageTraining(Filmed):
    """Batches, loss and validation of a language model's recipe."""

    unit = "tokens"

    def __init__(
        self, recipe: config.LanguageRecipe, prepared: Prepared, micro_batches: int, device: torch.device
    ) -> None:
        self.recipe, self.assets, self.device = recipe, prepared.assets, device
        self.train, self.valid = Stream(prepared.train, recipe.data), Stream(prepared.valid, recipe.data)
        self.budget = max(1, recipe.training.batch_tokens // micro_batches)
        self._planned: tuple[int, list[Windows]] | None = None
        self.words: int = prepared.report.valid.words
        lines = choose(range(len(self.valid.lengths)), lambda row: int(self.valid.lengths[row]), recipe.training.probes)
        self.probes = [Probe(*(each.tolist() for each in self.valid.line(row))) for row in lines]

    def take(self, position: tuple[int, int], count: int) -> tuple[list[MicroBatch], tuple[int, int]]:
        epoch, index = position
        parts = []
        for _ in range(count):
            planned = self._plan(epoch)
            require_place(index, len(planned), epoch)
            parts.append(MicroBatch(planned[index], int(planned[index][:, 1].sum())))
            epoch, index = (epoch, index + 1) if index + 1 < len(planned) else (epoch + 1, 0)
        return parts, (epoch, index)

    def _plan(self, epoch: int) -> list[Windows]:
        """The batches of an epoch, a pure function of (seed, epoch)."""
        if self._planned is None or self._planned[0] != epoch:
            random = np.random.Generator(np.random.PCG64([self.recipe.training.seed, epoch]))
            windows = self.train.windows(int(random.integers(self.recipe.data.max_tokens)))
            self._planned = (epoch, filled(windows[random.permutation(len(windows))], self.budget))
        return self._planned[1]

    def loss(self, model: LanguageModel, batch: Windows) -> Loss:
        read, wanted = self._tensors(self.train, batch)
        if share := self.recipe.training.word_dropout:
            read = hide(read, share)
        return language_loss(model, read, wanted, self.recipe.training.label_smoothing)

    def validate(self, model: LanguageModel) -> dict[str, float]:
        """Plain loss per token, and perplexity per word whatever the tokens are; windows begin anew, so both are a little
        worse than what `regard evaluate` finds with a sliding context."""
        total, tokens = 0.0, 0
        for batch in filled(self.valid.windows(0), self.recipe.training.batch_tokens):
            read, wanted = self._tensors(self.valid, batch)
            total += language_loss(model, read, wanted, smoothing=0.0).plain.item()
            tokens += int((wanted != PAD).sum())
        return {"loss": total / tokens, "perplexity": math.exp(min(total / max(1, self.words), 100.0))}

    def frame(self, model: LanguageModel) -> list[dict[str, Any]]:
        return record_probes(model, self.probes, self.assets.tokenizer)

    def finish(self, averaged: Callable[[], LanguageModel]) -> Finished:
        return Finished(self.assets)

    def _tensors(self, stream: Stream, batch: Windows) -> tuple[Tensor, Tensor]:
        """Tokens as they are read, and as they should go on [S, T]."""
        read, wanted = zip(*(stream.window(*each) for each in batch.tolist()), strict=True)
        return tuple(torch.from_numpy(pad(each)).to(self.device) for each in (read, wanted))  # type: ignore[return-value]


class Stream:
    """Text cut into windows: anywhere, if lines follow each other, or within each line, if it is a document."""

    def __init__(self, ids: PairIds, data: config.PlainText) -> None:
        self.ids, self.most, self.whole = ids.stream, data.max_tokens, data.documents == "stream"
        self.lengths = ids.lengths[:, 0]
        self._begins = np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)[:-1]])  # of each document

    def windows(self, shift: int) -> Windows:
        """All windows; those of a stream begin `shift` tokens later, so that epochs cut it at other places."""
        if self.whole:
            cuts = np.arange(shift or self.most, len(self.ids), self.most)
            begins, ends = np.concatenate([[0], cuts]), np.concatenate([cuts, [len(self.ids)]])
            return np.stack([begins, ends - begins], 1)
        lengths = self.lengths.astype(np.int64)
        counts = -(-lengths // self.most)  # windows of each document
        offsets = self.most * (np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts))
        left = np.repeat(lengths, counts) - offsets
        return np.stack([np.repeat(self._begins, counts) + offsets, np.minimum(left, self.most)], 1)

    def window(self, begin: int, length: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """What is read, one token behind what is wanted. A stream begins as if a line had ended, a document with START."""
        wanted = self.ids[begin : begin + length]
        read = np.empty(length, dtype=np.int64)
        read[1:] = wanted[:-1]
        first = begin == 0 if self.whole else self._begins[np.searchsorted(self._begins, begin, "right") - 1] == begin
        read[0] = self.ids[begin - 1] if not first else start_token(self.whole)
        return read, wanted

    def line(self, row: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """A line as if nothing stood before it, or its beginning: what is read, and what is wanted."""
        begin, length = int(self._begins[row]), min(int(self.lengths[row]), self.most)
        wanted = np.asarray(self.ids[begin : begin + length], dtype=np.int64)
        return np.concatenate([[start_token(self.whole)], wanted[:-1]]), wanted


def filled(windows: Windows, tokens: int) -> list[Windows]:
    """Windows side by side in batches of about so many tokens."""
    sums, cuts = np.cumsum(windows[:, 1]), [0]
    while cuts[-1] < len(windows):
        before = sums[cuts[-1] - 1] if cuts[-1] else 0
        fit = int(np.searchsorted(sums, before + tokens, "right"))
        cuts.append(max(fit, cuts[-1] + 1))  # one that is too long is alone
    return [windows[begin:end] for begin, end in pairwise(cuts)]


def language_loss(model: LanguageModel, read: Tensor, wanted: Tensor, smoothing: float) -> Loss:
    """Without a pointer only real positions are computed."""
    real = wanted != PAD
    packed = model.pointer is None and not bool(real.all())
    states = model(read, packed=packed)  # [N, D], or [S, T, D]
    pointed = model.point(states, read)
    states = states if packed else states[real]
    return next_loss(model, states, pointed and pointed.select(real), wanted[real], smoothing)


def next_loss(
    model: LanguageModel, states: Tensor, pointed: PointerOutput | None, wanted: Tensor, smoothing: float = 0.0
) -> Loss:
    """Of states [N, D] that should have expected the wanted [N]; only the parts of the vocabulary that hold one are
    computed. What points at places takes no smoothing: `recipes.py` refuses the two together."""
    if pointed is None:
        return adaptive_loss(states, model.output, wanted, smoothing)
    surprise = -next_log_probabilities(model, states, pointed, wanted).sum()
    return Loss(surprise, surprise.detach())


def next_log_probabilities(
    model: LanguageModel, states: Tensor, pointed: PointerOutput | None, wanted: Tensor
) -> Tensor:
    """Of each of the wanted [N] after states [N, D]."""
    own = log_probabilities(states, model.output, wanted)
    return own if pointed is None else pointed.log_probability(own, wanted)


def survey(recipe: config.LanguageRecipe, split: str, examples: Iterator[str]) -> Iterator[str]:
    """Whether a word stands in any of the lines."""
    if not sum(map(bool, islice(examples, ENOUGH_EXAMPLES))):
        raise DataError("all lines are blank")
    return iter(())


def dry_run_sizes(recipe: config.LanguageRecipe) -> tuple[int]:
    """Of the vocabulary."""
    return (guess_vocabulary(recipe.tokenizer),)


def dry_run_batch(recipe: config.LanguageRecipe, tokens: int) -> MicroBatch:
    """Made-up windows."""
    length = min(tokens, recipe.data.max_tokens)
    ids = torch.randint(UNKNOWN + 1, guess_vocabulary(recipe.tokenizer), (max(1, tokens // length), length))
    return MicroBatch(ids, ids.numel())


def dry_run_loss(recipe: config.LanguageRecipe, model: LanguageModel, batch: Tensor) -> Loss:
    return language_loss(model, batch, batch, recipe.training.label_smoothing)
