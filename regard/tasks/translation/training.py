"""Translation as training sees it: what is a batch, what is lost, what is good.

S sentences · K source positions · T target positions
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard import config
from regard.data.augmentation import Augmentation, Ids, LineBatches
from regard.data.batching import Position, Rows, in_batches, pad
from regard.data.corpus import require_aligned
from regard.data.lexicon import lexicon
from regard.data.mixture import Mixture, read_direction
from regard.data.prepare import Prepared
from regard.data.subword_sampling import SubwordSampling
from regard.data.tokenizer import PAD, UNKNOWN
from regard.decoding.options import Search
from regard.errors import DataError
from regard.evaluation.scores import bleu, sentence_chrf
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.models.shortlist import Lexicon
from regard.tasks.movie import Filmed
from regard.tasks.task import ENOUGH_EXAMPLES
from regard.tasks.text_assets import guess_vocabulary
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.confidence import ENOUGH, calibrate
from regard.tasks.translation.confidence import NAME as CONFIDENCE
from regard.tasks.translation.movie import choose_probes, record_probes
from regard.tasks.translation.native import decode
from regard.tasks.translation.warnings import LONG_ENOUGH, USUAL_RATIO
from regard.tasks.word_dropout import hide
from regard.training.consistency import Consistency, projected_consistent_loss
from regard.training.loss import Loss, projected_loss
from regard.training.trainable import Finished, MicroBatch

SENTENCE = 25  # tokens of a made-up sentence
CALIBRATED = 200  # validation sentences that are translated for the confidence, each time a model is written
ENOUGH_PAIRS = 1_000  # to say what lengths are usual


class TranslationTraining(Filmed):
    """Batches, loss and validation of a translation recipe."""

    unit = "tokens"

    def __init__(
        self, recipe: config.TranslationRecipe, prepared: Prepared, micro_batches: int, device: torch.device
    ) -> None:
        self.recipe, self.tokenizer, self.device = recipe, prepared.assets.tokenizer, device
        self.train, self.valid = prepared.train, prepared.valid
        self.sentences: int = prepared.report.sentences
        budget = max(1, recipe.training.batch_tokens // micro_batches)
        seed, data = recipe.training.seed, recipe.data
        directions = data.directions
        weights = [each.weight for each in directions]
        self.mixture = Mixture(prepared.report.sizes("train"), weights, data.temperature, seed) if data.corpus else None
        self.tags = [[self.tokenizer.tag(tag) for tag in each.tags] for each in directions]
        self.valid_tags = [
            tags for tags, size in zip(self.tags, prepared.report.sizes("valid"), strict=True) for _ in range(size)
        ]
        self.batches = LineBatches(self.train.lengths, budget, seed, data.join, data.max_tokens, self.mixture)
        strength = recipe.training.subword_sampling
        sampling = SubwordSampling(self.tokenizer, recipe.tokenizer.kind, strength, seed) if strength else None
        self.augmentation = Augmentation(self.train, self.tokenizer, data, seed, sampling)
        self.both_ways = round(recipe.training.bidirectional * recipe.training.updates * micro_batches)
        """So many batches are learned in both directions first."""
        self.sources, self.references = self._validation_text()
        self.probes = choose_probes(self.sources, self.references, self.tokenizer, recipe.training.probes)

    def take(self, position: tuple[int, int], count: int) -> tuple[list[MicroBatch], tuple[int, int]]:
        taken, after = self.batches.take_lines(Position(*position), count)
        first = self.batches.number(Position(*position)) if self.both_ways else 0
        batches = [
            self.augmentation.in_turns(batch) if number < self.both_ways else self.augmentation.pairs(batch)
            for number, batch in enumerate(taken, start=first)
        ]
        batches = [self._tagged(batch.lines, pairs) for batch, pairs in zip(taken, batches, strict=True)]
        parts = [MicroBatch(pairs, sum(len(target) + 1 for _, target in pairs)) for pairs in batches]  # each END counts
        return parts, (after.epoch, after.index)

    def _tagged(self, lines: list[Rows], pairs: list[tuple[Ids, Ids]]) -> list[tuple[Ids, Ids]]:
        """Before each source, what its direction and its corpus are called."""
        if self.mixture is None or not any(self.tags):
            return pairs
        owners = [self.mixture.owner(int(rows[0])) for rows in lines]
        return [
            (np.concatenate([np.array(self.tags[owner], dtype=np.int64), source]), target)
            for owner, (source, target) in zip(owners, pairs, strict=True)
        ]

    def loss(self, model: Model, batch: list[tuple[np.ndarray, np.ndarray]]) -> Loss:
        return training_loss(model, *self._tensors(batch), self.recipe.training, sorted(set(chain(*self.tags))))

    def validate(self, model: Model) -> dict[str, float]:
        """Plain loss per token of the whole validation text, and BLEU of some of its sentences decoded greedily."""
        total, tokens = 0.0, 0
        for rows in in_batches(self.valid.lengths.max(1).tolist(), self.recipe.training.batch_tokens, 1):
            tensors = self._tensors([
                (np.concatenate([np.array(self.valid_tags[row], dtype=np.int64), self.valid.source(row)]), self.valid.target(row))
                for row in rows
            ])  # fmt: skip
            total += translation_loss(model, *tensors, smoothing=0.0).plain.item()
            tokens += int((tensors[2] != PAD).sum())
        greedy = Search(beam=1, length_penalty="none")
        outputs = decode(model, self.sources, greedy, self.recipe.decoding)
        texts = [self.tokenizer.decode(best[0].tokens) for best in outputs]
        return {"loss": total / tokens, "bleu": bleu(texts, self.references, self.recipe.data.target_language)}

    def frame(self, model: Model) -> list[dict[str, Any]]:
        return record_probes(model, self.probes, self.tokenizer, self.recipe.decoding)

    def finish(self, averaged: Callable[[], Model]) -> Finished:
        # All but one in a thousand sources are at most this long: what the model can be trusted with.
        longest = int(np.quantile(self.batches.line_lengths(0)[:, 0], 0.999))
        told = {
            "source_tokens": longest,
            "source_sentences": self.sentences,
            "length_ratio": usual_ratio(self.train.lengths),
            **self._calibration(averaged),
        }
        return Finished(TranslationAssets(self.tokenizer, self._lexicon), provenance=told)

    def _calibration(self, written: Callable[[], Model]) -> dict[str, Any]:
        """What probabilities say of quality, learned from some validation sentences as `translate` would write them."""
        step = math.ceil(len(self.sources) / CALIBRATED)
        sources, references = self.sources[::step], self.references[::step]
        if len(sources) < ENOUGH:
            return {}
        settings = self.recipe.decoding
        search = Search(settings.beam, length_penalty=settings.length_penalty, alpha=settings.alpha)
        found = [best[0] for best in decode(written(), sources, search, settings)]
        texts = [self.tokenizer.decode(each.tokens) for each in found]
        means = [float(np.mean(each.token_log_probabilities or [0.0])) for each in found]
        return {CONFIDENCE: calibrate(means, sentence_chrf(texts, references))}

    @cached_property
    def _lexicon(self) -> Lexicon:
        """What translates what, for shortlists."""
        table, frequent = lexicon(self.train, self.tokenizer.size("source"), self.tokenizer.size("target"))
        return Lexicon(torch.from_numpy(table), torch.from_numpy(frequent))

    def _tensors(self, pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[Tensor, Tensor, Tensor]:
        """Source [S, K], and target as the decoder reads it and as it should write it [S, T]."""
        source = pad([source for source, _ in pairs], end=True)
        targets = [target for _, target in pairs]
        arrays = (source, pad(targets, start=True), pad(targets, end=True))
        source_ids, read, wanted = (torch.from_numpy(array).to(self.device, non_blocking=True) for array in arrays)
        return source_ids, read, wanted

    def _validation_text(self) -> tuple[list[list[int]], list[str]]:
        """Sentences to decode, none too long, spread evenly over the file: many corpora are sorted by length."""
        data = self.recipe.data
        kept: list[tuple[list[int], str]] = []
        for direction, tags in zip(data.directions, self.tags, strict=True):
            pairs = list(read_direction(direction, "valid"))
            sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
            encoded = self.tokenizer.encode_all(sources, "source"), self.tokenizer.encode_all(targets, "target")
            kept += [
                ([*tags, *source], reference)
                for source, target, reference in zip(*encoded, targets, strict=True)
                if 0 < len(source) <= data.max_tokens and 0 < len(target) <= data.max_tokens
            ]
        chosen = kept[:: math.ceil(len(kept) / self.recipe.training.validate_sentences)]
        return [source for source, _ in chosen], [reference for _, reference in chosen]


def translation_loss(model: Model, source: Tensor, read: Tensor, wanted: Tensor, smoothing: float) -> Loss:
    """Only real positions are computed, and projected onto the vocabulary."""
    states = model(source, read, packed=True)  # [N, D]
    return projected_loss(states, model.output.weight, wanted[wanted != PAD], smoothing)


def training_loss(
    model: Model,
    source: Tensor,
    read: Tensor,
    wanted: Tensor,
    settings: config.TranslationTraining,
    spared: Sequence[int] = (),
) -> Loss:
    """What training minimises: with words hidden, but for tags that are spared, and of two passes where these should agree."""
    consistency = Consistency(settings.r_drop or settings.simcut, both=settings.r_drop > 0)

    def changed(ids: Tensor) -> Tensor:
        ids = ids.repeat(2, 1) if consistency.weight else ids
        ids = hide(ids, settings.word_dropout, spared) if settings.word_dropout else ids
        if consistency.weight and not consistency.both:
            first, second = ids.chunk(2)
            ids = torch.cat([first, hide(second, settings.cutoff, spared)])
        return ids

    source, read = changed(source), changed(read)
    if not consistency.weight:
        return translation_loss(model, source, read, wanted, settings.label_smoothing)
    states = model(source, read, packed=True)  # [2 N, D]
    return projected_consistent_loss(
        states, model.output.weight, wanted[wanted != PAD], settings.label_smoothing, consistency
    )


def survey(recipe: config.TranslationRecipe, split: str, examples: Iterator[tuple[str, str]]) -> Iterator[str]:
    """Whether two files are aligned to their ends, and whether `data.max_tokens` leaves anything.

    No token reaches over a space, so a side has at least as many tokens as words, whatever the tokenizer will be.
    """
    data, read, skipped = recipe.data, 0, 0
    for pair in islice(examples, ENOUGH_EXAMPLES):
        read += 1
        skipped += not all(pair) or max(sum(map(bool, side.split(" "))) for side in pair) > data.max_tokens
    if read == ENOUGH_EXAMPLES and not data.corpus and len(data.files_of(split)) == 2:
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
    return training_loss(model, source, target, target, recipe.training)


def usual_ratio(lengths: np.ndarray) -> list[float]:
    """Target tokens for each of the source [N, 2] that all but two in a thousand training pairs lie between."""
    enough = lengths[lengths[:, 0] >= LONG_ENOUGH]
    if len(enough) < ENOUGH_PAIRS:
        return list(USUAL_RATIO)
    return [round(float(each), 3) for each in np.quantile(enough[:, 1] / enough[:, 0], (0.001, 0.999))]
