"""Classification as training sees it: what is a batch, what is lost, what is good.

S texts · T positions · C labels
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard import config
from regard.cancellation import check_cancelled
from regard.data.batching import EpochRows, Position, TokenBatches, in_batches, pad
from regard.data.labelled import Example, read_split
from regard.data.prepare import Prepared
from regard.data.subword_sampling import SubwordSampling
from regard.data.tokenizer import PAD, UNKNOWN
from regard.errors import DataError, shown
from regard.evaluation.labels import fit_mixture_weight, fit_temperature
from regard.models.classifier import NgramBag, TextClassifier
from regard.models.outline import outline
from regard.tasks.classification.assets import ClassificationAssets
from regard.tasks.classification.movie import Probe, record_probes
from regard.tasks.classification.naive_bayes import log_count_ratios
from regard.tasks.movie import Filmed, choose
from regard.tasks.task import ENOUGH_EXAMPLES
from regard.tasks.text_assets import guess_vocabulary
from regard.tasks.word_dropout import hide
from regard.training.consistency import Consistency, consistent_loss
from regard.training.loss import Loss, projected_loss, smoothed_loss
from regard.training.trainable import Finished, MicroBatch

EVEN = 0.5  # weight of attention and of n-grams where they count alike
MANY_LABELS = 20  # that few rows may well have, each its own
LABELS = 2  # a guess, where the training text is not there yet
COUNTED = 64  # texts whose n-grams are counted together
HIDDEN = 0.15  # share of the tokens that a text without labels has to be guessed from


class ClassificationTraining(Filmed):
    """Batches, loss and validation of a classification recipe."""

    unit = "texts"

    def __init__(
        self, recipe: config.ClassificationRecipe, prepared: Prepared, micro_batches: int, device: torch.device
    ) -> None:
        self.recipe, self.device = recipe, device
        self.assets: ClassificationAssets = prepared.assets
        self.train, self.valid = prepared.train, prepared.valid
        lengths = np.minimum(self.train.lengths[:, :1], recipe.data.max_tokens).repeat(2, axis=1)  # [N, 2]
        budget = max(1, recipe.training.batch_tokens // micro_batches)
        most = max(1, recipe.training.batch_texts // micro_batches) if recipe.training.batch_texts else sys.maxsize
        self.batches = TokenBatches(lengths, budget, recipe.training.seed, most)
        self.usual = max(1, round(len(lengths) / len(self.batches.plan(0))))
        strength, seed = recipe.training.subword_sampling, recipe.training.seed
        kind = recipe.tokenizer.kind
        self.sampling = SubwordSampling(self.assets.tokenizer, kind, strength, seed) if strength else None
        self.ratios = self._ratios() if recipe.training.naive_bayes else None
        rows = choose(range(len(self.valid)), lambda row: int(self.valid.lengths[row, 0]), recipe.training.probes)
        self.probes = [self._probe(row) for row in rows]

    def take(self, position: tuple[int, int], count: int) -> tuple[list[MicroBatch], tuple[int, int]]:
        """A batch holds many short texts or few long ones. It counts as if it held as many as usual: else each of the few
        would weigh more."""
        parts, place = [], Position(*position)
        for _ in range(count):
            (rows,), after = self.batches.take(place, 1)
            parts.append(MicroBatch(EpochRows(rows, place.epoch), self.usual))
            place = after
        return parts, (place.epoch, place.index)

    def loss(self, model: TextClassifier, batch: EpochRows) -> Loss:
        ids, labels = self._tensors(batch)
        training = self.recipe.training
        if batch.epoch < training.masked_epochs:
            return masked_loss(model, ids)
        if training.word_dropout:
            ids = hide(ids, training.word_dropout)
        return labelled_loss(model, ids, labels, training.label_smoothing, training.r_drop, self.ratios)

    def validate(self, model: TextClassifier) -> dict[str, float]:
        """Plain loss per text, and the share of texts whose most probable label is theirs."""
        logits, labels, _ = self._validation_logits(model)
        loss = torch.nn.functional.cross_entropy(logits, labels)
        return {"loss": loss.item(), "accuracy": 100 * (logits.argmax(-1) == labels).float().mean().item()}

    def frame(self, model: TextClassifier) -> list[dict[str, Any]]:
        return record_probes(model, self.probes, self.assets.tokenizer, self.assets.labels, self.ratios)

    def _probe(self, row: int) -> Probe:
        """A text of the validation set; of one that is read in windows, the first."""
        ids = in_reach(self.valid.source(row), self.recipe.data)[0]
        return Probe(ids.tolist(), self.assets.labels[int(self.valid.target(row)[0])])

    def finish(self, averaged: Callable[[], TextClassifier]) -> Finished:
        """The labels, and what is found on the validation text: how much attention and n-grams count, and the temperature
        at which the model is as sure as it is right."""
        model = averaged()
        logits, labels, weight = self._validation_logits(model)
        assets = replace(self.assets, temperature=fit_temperature(logits.numpy(), labels.numpy()))
        layers, ngrams = _scales(weight)
        return Finished(assets, model.scaled_weights(layers, ngrams if self.ratios is None else ngrams * self.ratios))

    def _validation_logits(self, model: TextClassifier) -> tuple[Tensor, Tensor, float]:
        """Of the validation text: logits [S, C], labels [S], and how much attention should count beside n-grams."""
        texts = [self.valid.source(row) for row in range(len(self.valid))]
        labels = np.array([self.valid.target(row)[0] for row in range(len(self.valid))], dtype=np.int64)

        def read(ids: Tensor) -> list[Tensor]:
            return model.separate_logits(model.encode(ids), ids, self.ratios)

        separate, owners = windows_of(read, model, texts, self.recipe.data, self.recipe.training.batch_tokens)

        def mixed(weight: float) -> Tensor:
            scaled = [scale * logits for scale, logits in zip(_scales(weight), separate, strict=False)]
            return pooled(torch.stack(scaled).sum(0), owners, len(texts))

        weight = fit_mixture_weight(lambda weight: mixed(weight).numpy(), labels) if len(separate) > 1 else EVEN
        return mixed(weight), torch.from_numpy(labels), weight

    def _ratios(self) -> Tensor:
        """Of n-grams, from all the training text: the same whenever a run goes on."""
        with outline():  # only where n-grams are found matters
            bag = NgramBag(self.recipe.model.ngrams, self.recipe.model.buckets, len(self.assets.labels))
        texts = (
            (row, part) for row in range(len(self.train)) for part in in_reach(self.train.source(row), self.recipe.data)
        )
        batches = iter(lambda: list(islice(texts, COUNTED)), [])
        start = self.recipe.model.pooling == "first"
        counted = (
            (torch.from_numpy(pad([part for _, part in batch], start=start)), self._labels([row for row, _ in batch]))
            for batch in batches
        )
        return log_count_ratios(bag, counted, len(self.assets.labels)).to(self.device)

    def _labels(self, rows: Iterable[int]) -> Tensor:
        return torch.tensor([int(self.train.target(row)[0]) for row in rows])

    def _tensors(self, batch: EpochRows) -> tuple[Tensor, Tensor]:
        """Ids [S, T] and labels [S]; of a text that is read in windows, one that changes from pass to pass."""
        texts = []
        for row in batch.rows:
            parts = in_reach(self._cut(int(row), batch.epoch), self.recipe.data)
            texts.append(parts[(int(row) + batch.epoch) % len(parts)])
        ids = pad(texts, start=self.recipe.model.pooling == "first")
        return torch.from_numpy(ids).to(self.device), self._labels(batch.rows).to(self.device)

    def _cut(self, row: int, epoch: int) -> NDArray[Any]:
        """The tokens of a text, with `subword_sampling` others in every epoch."""
        ids: NDArray[Any] = self.train.source(row)
        if self.sampling is None:
            return ids
        return self.sampling.sample(ids, "source", Random(f"{self.recipe.training.seed} {epoch} {row} tokens"))


def _scales(weight: float) -> tuple[float, float]:
    """What the logits of attention and of n-grams are multiplied by, if attention has this weight of 1."""
    return weight / EVEN, (1 - weight) / EVEN


def in_reach(ids: NDArray[Any], data: config.LabelledText) -> list[NDArray[Any]]:
    """What of a text is read: all of it, or what `data.long` says; windows overlap by half."""
    most = data.max_tokens
    if len(ids) <= most:
        return [ids]
    if data.long == "first":
        return [ids[:most]]
    if data.long == "ends":
        return [np.concatenate([ids[: most - most // 2], ids[len(ids) - most // 2 :]])]
    stride = max(1, most // 2)
    starts = [*range(0, len(ids) - most, stride), len(ids) - most]
    return [ids[start : start + most] for start in starts]


def classify_ids(
    model: TextClassifier, texts: Sequence[NDArray[Any]], data: config.LabelledText, batch_tokens: int
) -> Tensor:
    """Logits [S, C] of texts, in the order given."""
    (logits,), owners = windows_of(lambda ids: [model(ids)], model, texts, data, batch_tokens)
    return pooled(logits, owners, len(texts))


def windows_of(
    read: Callable[[Tensor], list[Tensor]],
    model: TextClassifier,
    texts: Sequence[NDArray[Any]],
    data: config.LabelledText,
    batch_tokens: int,
) -> tuple[Tensor, Tensor]:
    """What `read` says of every window, ids [S, T] → O × logits [S, C]: all of them [O, W, C], and whose they are [W]."""
    windows = [(number, part) for number, text in enumerate(texts) for part in in_reach(np.asarray(text), data)]
    found: list[Tensor] = [torch.empty(0)] * len(windows)
    with torch.inference_mode():
        for batch in in_batches([len(part) + 1 for _, part in windows], batch_tokens, 1):
            check_cancelled()
            ids = pad([windows[index][1] for index in batch], start=model.pooling == "first")
            logits = torch.stack(read(torch.from_numpy(ids).to(model.device)))  # [O, S, C]
            for index, each in zip(batch, logits.float().cpu().unbind(1), strict=True):
                found[index] = each
    return torch.stack(found, 1), torch.tensor([number for number, _ in windows])


def pooled(logits: Tensor, owners: Tensor, count: int) -> Tensor:
    """Windows vote: their logits [W, C] → logarithms of the mean probabilities of each of so many texts [S, C]."""
    log_probabilities = logits.log_softmax(-1)  # [W, C]
    if len(owners) == count:  # each has one window
        return log_probabilities
    most = log_probabilities.new_full((count, log_probabilities.size(1)), -math.inf)
    # Of each text the greatest is taken out first: else small ones would vanish in exp.
    most = most.scatter_reduce(0, owners[:, None].expand_as(logits), log_probabilities, "amax")  # [S, C]
    sums = torch.zeros_like(most).index_add(0, owners, (log_probabilities - most[owners]).exp())
    return sums.log() + most - owners.bincount(minlength=count).log()[:, None]


def masked_loss(model: TextClassifier, ids: Tensor) -> Loss:
    """How badly hidden tokens are guessed from the rest (Devlin et al. 2019), per token; the sum counts texts."""
    seen = hide(ids, HIDDEN)
    real = ids != PAD
    hidden = (seen != ids)[real]  # [N]
    states = model.encode(seen)[hidden]
    loss = projected_loss(states, model.embedding.table.weight, ids[real][hidden], 0.0)
    smoothed, plain = (each * (len(ids) / max(1, len(states))) for each in loss)
    # What only labels teach has a gradient of zero rather than none: processes exchange it, and Adam counts its steps.
    waiting = [0 * each.sum() for module in model.after_states() for each in module.parameters()]
    return Loss(smoothed + sum(waiting), plain)


def labelled_loss(
    model: TextClassifier, ids: Tensor, labels: Tensor, smoothing: float, r_drop: float, ratios: Tensor | None = None
) -> Loss:
    """How badly labels are guessed. Attention and n-grams learn apart: what one already knows, the other would else not learn.

    With `r_drop` two passes with other dropouts should say the same (Liang et al. 2021): both losses, and how far they
    differ.
    """
    ids = ids.repeat(2, 1) if r_drop else ids

    def loss(logits: Tensor, smoothing: float) -> Loss:
        if r_drop:
            return consistent_loss(logits, labels, smoothing, Consistency(r_drop))
        return smoothed_loss(logits, labels, smoothing)

    separate = model.separate_logits(model.encode(ids), ids, ratios)
    losses = [loss(each, smoothing).smoothed for each in separate]
    return Loss(torch.stack(losses).sum(), loss(torch.stack(separate).sum(0), 0.0).plain)


def dry_run_sizes(recipe: config.ClassificationRecipe) -> tuple[int, int]:
    """Of the vocabulary, and how many labels the training text has, or a guess."""
    try:
        labels = len({hash(each.label) for each in islice(read_split(recipe.data, "train"), ENOUGH_EXAMPLES)})
    except (DataError, OSError):  # told of at the end, or yet to be downloaded
        labels = LABELS
    return guess_vocabulary(recipe.tokenizer), labels


def survey(recipe: config.ClassificationRecipe, split: str, examples: Iterator[Example]) -> Iterator[str]:
    """Whether there is something to tell apart, and whether the labels are labels."""
    labels: Counter[int] = Counter()  # of hashes: if they are texts, they would fill the memory
    texts, label = set(), ""
    for each in islice(examples, ENOUGH_EXAMPLES):
        label = each.label
        labels[hash(label)] += 1
        texts.add(hash(each.text))
    rows, data = labels.total(), recipe.data
    if split != "train":
        return
    if len(labels) == 1 and rows < ENOUGH_EXAMPLES:
        raise DataError(f"every one of its {rows:,} texts has the label {shown(label)}; there is nothing to learn")
    if len(labels) == 1:
        yield f"each of its first {rows:,} texts has the label {shown(label)}"
    if len(labels) > MANY_LABELS and 2 * len(labels) > rows:
        swapped = f", and data.text = {shown(data.text)} only {len(texts):,} texts: are the columns swapped?"
        what = swapped if len(texts) < len(labels) else ": does it hold text, or a number of each row?"
        yield f"data.label = {shown(data.label)} holds {len(labels):,} different labels in {rows:,} rows{what}"


def dry_run_batch(recipe: config.ClassificationRecipe, tokens: int) -> MicroBatch:
    """Made-up texts of the greatest length."""
    texts = max(1, tokens // recipe.data.max_tokens)
    ids = torch.randint(UNKNOWN + 1, guess_vocabulary(recipe.tokenizer), (texts, recipe.data.max_tokens))
    return MicroBatch(ids, texts)


def dry_run_loss(recipe: config.ClassificationRecipe, model: TextClassifier, batch: Tensor) -> Loss:
    labels = torch.zeros(len(batch), dtype=torch.long)
    return labelled_loss(model, batch, labels, recipe.training.label_smoothing, recipe.training.r_drop)
