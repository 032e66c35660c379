"""Translation as training sees it: what is a batch, what is lost, what is good.

S sentences · K source positions · T target positions
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard import config
from regard.data.batching import Position, TokenBatches, pad
from regard.data.corpus import read_pairs, require_aligned
from regard.data.ids import PairIds
from regard.data.lexicon import lexicon
from regard.data.prepare import Prepared
from regard.data.tokenizer import PAD, UNKNOWN
from regard.decoding.batches import in_batches
from regard.decoding.options import Search
from regard.errors import DataError
from regard.evaluation.scores import bleu
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.models.shortlist import Lexicon
from regard.tasks.task import ENOUGH_EXAMPLES
from regard.tasks.text_assets import guess_vocabulary
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.movie import choose_probes, record_probes
from regard.tasks.translation.native import decode
from regard.tasks.translation.warnings import LONG_ENOUGH, USUAL_RATIO
from regard.training.loss import Loss, projected_loss
from regard.training.trainable import Finished, MicroBatch

SENTENCE = 25  # tokens of a made-up sentence
ENOUGH_PAIRS = 1_000  # to say what lengths are usual


class TranslationTraining:
    """Batches, loss and validation of a translation recipe."""

    unit = "tokens"

    def __init__(
        self, recipe: config.TranslationRecipe, prepared: Prepared, micro_batches: int, device: torch.device
    ) -> None:
        self.recipe, self.tokenizer, self.device = recipe, prepared.assets.tokenizer, device
        self.train, self.valid = prepared.train, prepared.valid
        self.sentences: int = prepared.report.sentences
        budget = max(1, recipe.training.batch_tokens // micro_batches)
        self.batches = TokenBatches(self.train.lengths, budget, recipe.training.seed)
        self.sources, self.references = self._validation_text()
        self.probes = choose_probes(self.sources, self.references, self.tokenizer, recipe.training.probes)

    def take(self, position: tuple[int, int], count: int) -> tuple[list[MicroBatch], tuple[int, int]]:
        taken, after = self.batches.take(Position(*position), count)
        parts = [
            MicroBatch(rows, int(self.train.lengths[rows, 1].sum()) + len(rows)) for rows in taken
        ]  # each END counts
        return parts, (after.epoch, after.index)

    def loss(self, model: Model, batch: np.ndarray) -> Loss:
        return translation_loss(model, *self._tensors(self.train, batch), self.recipe.training.label_smoothing)

    def validate(self, model: Model) -> dict[str, float]:
        """Plain loss per token of the whole validation text, and BLEU of some of its sentences decoded greedily."""
        total, tokens = 0.0, 0
        for rows in in_batches(self.valid.lengths.max(1).tolist(), self.recipe.training.batch_tokens, 1):
            tensors = self._tensors(self.valid, np.array(rows))
            total += translation_loss(model, *tensors, smoothing=0.0).plain.item()
            tokens += int((tensors[2] != PAD).sum())
        greedy = Search(beam=1, length_penalty="none")
        outputs = decode(model, self.sources, greedy, self.recipe.decoding)
        texts = [self.tokenizer.decode(best[0].tokens) for best in outputs]
        return {"loss": total / tokens, "bleu": bleu(texts, self.references, self.recipe.data.target_language)}

    def frame_due(self, update: int, validating: bool) -> bool:
        training = self.recipe.training
        return bool(training.probes) and (
            validating or not update or bool(training.probe_every and update % training.probe_every == 0)
        )

    def frame(self, model: Model) -> list[dict[str, Any]]:
        return record_probes(model, self.probes, self.tokenizer, self.recipe.decoding)

    def finish(self, averaged: Callable[[], Model]) -> Finished:
        # All but one in a thousand sources are at most this long: what the model can be trusted with.
        longest = int(np.quantile(self.train.lengths[:, 0], 0.999))
        told = {
            "source_tokens": longest,
            "source_sentences": self.sentences,
            "length_ratio": usual_ratio(self.train.lengths),
        }
        return Finished(TranslationAssets(self.tokenizer, self._lexicon), provenance=told)

    @cached_property
    def _lexicon(self) -> Lexicon:
        """What translates what, for shortlists."""
        table, frequent = lexicon(self.train, self.tokenizer.size("source"), self.tokenizer.size("target"))
        return Lexicon(torch.from_numpy(table), torch.from_numpy(frequent))

    def _tensors(self, ids: PairIds, rows: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        """Source [S, K], and target as the decoder reads it and as it should write it [S, T]."""
        source = pad([ids.source(row) for row in rows], end=True)
        targets = [ids.target(row) for row in rows]
        arrays = (source, pad(targets, start=True), pad(targets, end=True))
        source_ids, read, wanted = (torch.from_numpy(array).to(self.device, non_blocking=True) for array in arrays)
        return source_ids, read, wanted

    def _validation_text(self) -> tuple[list[list[int]], list[str]]:
        """Sentences to decode, none too long, spread evenly over the file: many corpora are sorted by length."""
        data = self.recipe.data
        sources, targets = zip(*read_pairs(data.valid, data, "valid"), strict=True)
        encoded = self.tokenizer.encode_all(sources, "source"), self.tokenizer.encode_all(targets, "target")
        kept = [
            (source, reference)
            for source, target, reference in zip(*encoded, targets, strict=True)
            if 0 < len(source) <= data.max_tokens and 0 < len(target) <= data.max_tokens
        ]
        chosen = kept[:: math.ceil(len(kept) / self.recipe.training.validate_sentences)]
        return [source for source, _ in chosen], [reference for _, reference in chosen]


def translation_loss(model: Model, source: Tensor, read: Tensor, wanted: Tensor, smoothing: float) -> Loss:
    """Only real positions are computed, and projected onto the vocabulary."""
    states = model(source, read, packed=True)  # [N, D]
    return projected_loss(states, model.output.weight, wanted[wanted != PAD], smoothing)


def read_split(data: config.ParallelText, split: str) -> Iterator[tuple[str, str]]:
    """The pairs of `train`, `valid` or a test set."""
    return read_pairs(data.files_of(split), data, split)


def survey(recipe: config.TranslationRecipe, split: str, examples: Iterator[tuple[str, str]]) -> Iterator[str]:
    """Whether two files are aligned to their ends, and whether `data.max_tokens` leaves anything.

    No token reaches over a space, so a side has at least as many tokens as words, whatever the tokenizer will be.
    """
    data, read, skipped = recipe.data, 0, 0
    for pair in islice(examples, ENOUGH_EXAMPLES):
        read += 1
        skipped += not all(pair) or max(sum(map(bool, side.split(" "))) for side in pair) > data.max_tokens
    if read == ENOUGH_EXAMPLES and len(data.files_of(split)) == 2:
        require_aligned(data.files_of(split), data)
    if split not in ("train", "valid") or 2 * skipped <= read:
        return
    limit = f"a side is empty or has more words than data.max_tokens = {data.max_tokens:,}"
    if skipped == read < ENOUGH_EXAMPLES:
        raise DataError(f"none of its {read:,} pairs can be used: {limit}")
    yield f"{skipped:,} of {read:,} pairs will be skipped, or more: {limit}"


def dry_run_sizes(recipe: config.TranslationRecipe) -> tuple[int, int]:
    """Of both vocabularies, as far as the settings tell."""
    vocabulary = guess_vocabulary(recipe.tokenizer)
    return vocabulary, vocabulary


def dry_run_batch(recipe: config.TranslationRecipe, tokens: int) -> MicroBatch:
    """Made-up sentences with about so many target tokens."""
    length = min(SENTENCE, tokens, recipe.data.max_tokens)
    ids = torch.randint(UNKNOWN + 1, guess_vocabulary(recipe.tokenizer), (2, max(1, tokens // length), length))
    return MicroBatch(ids, ids[1].numel())


def dry_run_loss(recipe: config.TranslationRecipe, model: Model, batch: Tensor) -> Loss:
    source, target = batch  # [S, K], [S, T]
    return translation_loss(model, source, target, target, recipe.training.label_smoothing)


def usual_ratio(lengths: np.ndarray) -> list[float]:
    """Target tokens for each of the source [N, 2] that all but two in a thousand training pairs lie between."""
    enough = lengths[lengths[:, 0] >= LONG_ENOUGH]
    if len(enough) < ENOUGH_PAIRS:
        return list(USUAL_RATIO)
    return [round(float(each), 3) for each in np.quantile(enough[:, 1] / enough[:, 0], (0.001, 0.999))]
