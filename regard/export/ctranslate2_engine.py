"""CTranslate2 as an engine for a model of regard.

Its search is asked for what ours does (docs/export.md says how, and what remains different); where scores are asked for,
what it finds is scored once more, so that they mean the same on every engine.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard import config
from regard.cancellation import check_cancelled
from regard.config.stored import find_model
from regard.data.batching import in_batches
from regard.data.tokenizer import END, PAD, START, UNKNOWN
from regard.decoding.options import Hypothesis, Search, length_limit
from regard.errors import CheckpointError, UsageError
from regard.export.conversions import converted, find_kept
from regard.export.folder import CTRANSLATE2 as NAME
from regard.export.folder import fingerprint, need, read_description
from regard.tasks.translation.warnings import is_suspect

if TYPE_CHECKING:
    from regard.tasks.task import Trained

NO_PENALTY = 1e-6  # at exactly 0 CTranslate2 would search on until the first place of the beam ends
NEAREST = 0.6  # length ** (0.6 α) falls nearest to ((5 + length) / 6) ** α for the lengths of sentences
IMPOSSIBLE = -1e9  # CTranslate2's score of what leaves a forced prefix is below
SCORED_TOKENS = 512  # logits of so many positions are held at a time, by each thread; more is slower


def open_engine(model: str | Path | Trained, int8: bool = False, threads: int = 0) -> CTranslate2Engine:
    """An engine for a model; that of a file is converted once and kept in this person's cache folder."""
    need(NAME)
    if not isinstance(model, str | Path):
        from regard.export.ctranslate2 import write_model  # late, as below: it needs torch

        with tempfile.TemporaryDirectory(prefix="regard-") as temporary:
            write_model(model, Path(temporary))
            return CTranslate2Engine(Path(temporary), int8, threads)  # all is in memory once this returns
    file = find_model(model)
    made_from = fingerprint(file)

    def convert(folder: Path) -> bool:
        from regard.export.ctranslate2 import write_model
        from regard.tasks.trained import load_trained

        write_model(load_trained(file), folder, made_from=made_from)
        return fingerprint(file) == made_from  # else it changed meanwhile

    with converted(made_from, convert) as folder:
        return CTranslate2Engine(folder, int8, threads)


def open_kept(made_from: str, int8: bool = False, threads: int = 0) -> CTranslate2Engine | None:
    """An engine for the model file of that fingerprint, if it was converted before: without torch, and in no time."""
    folder = find_kept(made_from)
    return None if folder is None else CTranslate2Engine(folder, int8, threads)


@dataclass(frozen=True)
class Finding:
    """What CTranslate2 found: tokens, the end among them where it was written, and their log-probability."""

    tokens: tuple[int, ...]
    total: float
    attention: Sequence[Sequence[float]] = ()
    """Of every token to every source token, if asked for: [T, K]."""
    known_from: int = 0
    """The first of its rows that is told as it was."""

    @property
    def text(self) -> tuple[int, ...]:
        return self.tokens[:-1] if self.tokens[-1] == END else self.tokens


class CTranslate2Engine:
    """Decodes as `regard.tasks.translation.native.decode` does, by CTranslate2, with `threads` batches at a time (0: one per core).

    Unless scores are asked for, nothing is scored once more, which takes up to half the time: `token_log_probabilities` stays empty, and
    scores are those of the search, too high by what the forbidden tokens would have got: of a trained model hardly anything.
    """

    def __init__(self, folder: Path, int8: bool = False, threads: int = 0) -> None:
        need(NAME)
        import ctranslate2

        description = read_description(folder)
        if description is None or description["engine"] != NAME:
            raise CheckpointError(f"{folder} is no export of regard for CTranslate2; see `regard export --to {NAME}`")
        self.int8 = int8 or bool(description["int8"])
        self.about = f"ctranslate2 {ctranslate2.__version__}, {'int8' if self.int8 else 'float32'}"
        self.max_positions = int(description["recipe"]["model"]["max_positions"])
        self.threads = threads or os.cpu_count() or 1
        self._source, self._target = read_vocabularies(folder)
        self._ids = {token: number for number, token in enumerate(self._target)}
        self._callers, self._counting = 0, threading.Lock()  # who decodes at this moment
        try:
            # One thread for each batch and many batches: faster than the reverse, and no slower for one sentence.
            self._translator = ctranslate2.Translator(
                str(folder),
                compute_type="int8" if self.int8 else "float32",
                inter_threads=self.threads,
                intra_threads=1,
            )
        except (RuntimeError, ValueError) as error:
            raise CheckpointError(f"CTranslate2 cannot load {folder}: {error}") from None

    def decode(
        self,
        sources: Sequence[Sequence[int]],
        options: Search,
        settings: config.Decoding,
        prefixes: Sequence[Sequence[int]] | None = None,
    ) -> list[list[Hypothesis]]:
        """Ids in, hypotheses out, in the order given; nothing is written for a source of no tokens."""
        if options.sample:
            raise UsageError("CTranslate2 cannot repeat what a seed drew; to sample, use the engine native")
        prefixes = [()] * len(sources) if prefixes is None else prefixes
        limits = [
            length_limit(len(source), settings, self.max_positions, len(prefix))
            for source, prefix in zip(sources, prefixes, strict=True)
        ]
        with self._counting:
            self._callers += 1
        try:
            findings = self._find(sources, prefixes, limits, options, settings)
        finally:
            with self._counting:
                self._callers -= 1
        ranked = self._ranked(sources, prefixes, findings, options)
        if options.coverage:
            self._tell_coverage(sources, ranked, findings, settings.batch_tokens)
        return [each or [Hypothesis((), 0.0, 0.0, (), "length")] for each in ranked]

    def _find(
        self,
        sources: Sequence[Sequence[int]],
        prefixes: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: Search,
        settings: config.Decoding,
    ) -> list[list[Finding]]:
        """All that the search finished, of each sentence.

        CTranslate2 has one limit for a batch; a sentence whose search came to its own is searched again among equals.
        Of what ends last at least one is always among what is found, so nothing escapes.
        """
        found: list[list[Finding]] = [[] for _ in sources]
        writing = [index for index, limit in enumerate(limits) if limit and sources[index]]
        # CTranslate2 treats the first step of a batch differently where anything in it has a prefix.
        jobs = []
        for forced in (False, True):
            group = [index for index in writing if bool(prefixes[index]) is forced]
            jobs += self._jobs(group, [len(sources[index]) + 1 for index in group], options.beam, settings.batch_tokens)
        self._run(jobs, found, sources, prefixes, limits, options)
        equals: dict[tuple[int, bool], list[int]] = defaultdict(list)
        for job in jobs:
            greatest = max(limits[index] for index in job)
            for index in job:
                if limits[index] < greatest and any(len(each.tokens) >= limits[index] for each in found[index]):
                    equals[limits[index], bool(prefixes[index])].append(index)
        self._run(equals.values(), found, sources, prefixes, limits, options)
        return found

    def _jobs(self, group: list[int], lengths: list[int], beam: int, batch_tokens: int) -> list[list[int]]:
        """Batches of similar length, at least one for every thread that other callers leave if there are sentences enough."""
        share = max(1, sum(lengths) * beam // max(1, self.threads // max(1, self._callers)))
        return [[group[place] for place in batch] for batch in in_batches(lengths, min(batch_tokens, share), beam)]

    def _run(
        self,
        jobs: Iterable[list[int]],
        found: list[list[Finding]],
        sources: Sequence[Sequence[int]],
        prefixes: Sequence[Sequence[int]],
        limits: Sequence[int],
        options: Search,
    ) -> None:
        """Search every job, side by side, and put what is found where it belongs."""
        never = [[self._target[each]] for each in (PAD, START, UNKNOWN)]
        # CTranslate2 divides by length ** strength; that decides only what is left out if more than a beam has ended.
        strength = {"paper": NEAREST * options.alpha, "mean": 1.0, "none": 0.0}[options.length_penalty] or NO_PENALTY
        waiting = []
        for job in jobs:
            results = self._translator.translate_batch(
                [self._tokens(self._source, sources[index]) for index in job],
                [self._tokens(self._target, prefixes[index]) for index in job] if prefixes[job[0]] else None,
                asynchronous=True,
                beam_size=options.beam,
                num_hypotheses=options.beam,
                length_penalty=strength,
                no_repeat_ngram_size=options.no_repeat_ngram,
                suppress_sequences=never,
                return_end_token=True,
                return_scores=True,
                return_attention=options.coverage,
                max_input_length=0,
                max_decoding_length=max(limits[index] for index in job),
                min_decoding_length=0,
            )
            # In company, a beam's first step is told with the attention of another sentence (CTranslate2 4.8.4).
            known = 0 if options.beam == 1 or len(job) == 1 else 1
            waiting += [(index, result, known) for index, result in zip(job, results, strict=True)]
        for index, pending, known in waiting:
            check_cancelled()
            result = pending.result()
            attention = result.attention or [()] * len(result.hypotheses)
            found[index] = [
                Finding(tuple(self._ids[token] for token in tokens), score * len(tokens) ** strength, rows, known)
                for tokens, score, rows in zip(result.hypotheses, result.scores, attention, strict=True)
                if score * len(tokens) ** strength > IMPOSSIBLE
            ]

    def _ranked(
        self,
        sources: Sequence[Sequence[int]],
        prefixes: Sequence[Sequence[int]],
        findings: list[list[Finding]],
        options: Search,
    ) -> list[list[Hypothesis]]:
        """The n best of each sentence by our length penalty, scored by the model's own probabilities.

        CTranslate2 leaves forbidden tokens out of its probabilities, and forced ones out of its scores. So what has a
        prefix is scored before it is ranked.
        """
        chosen = []
        for prefix, found in zip(prefixes, findings, strict=True):
            best = sorted(found, key=lambda each: -each.total / options.penalty(len(each.tokens)))
            chosen.append(best if prefix else best[: options.nbest])
        if not options.scores and not any(prefixes):
            return [[hypothesis(each, each.total, (), options) for each in found] for found in chosen]
        scored = iter(
            self._translator.score_batch(
                [self._tokens(self._source, sources[index]) for index, found in enumerate(chosen) for _ in found],
                [self._tokens(self._target, each.text) for found in chosen for each in found],
                max_batch_size=SCORED_TOKENS,
                batch_type="tokens",
                max_input_length=0,
            )
        )
        ranked = []
        for found in chosen:
            # The end is scored as well, whether it was written or not.
            parts = [tuple(next(scored).log_probs[: len(each.tokens)]) for each in found]
            hypotheses = [hypothesis(each, sum(logs), logs, options) for each, logs in zip(found, parts, strict=True)]
            ranked.append(sorted(hypotheses, key=lambda each: -each.score)[: options.nbest])
        return ranked

    def _tell_coverage(
        self,
        sources: Sequence[Sequence[int]],
        ranked: list[list[Hypothesis]],
        findings: list[list[Finding]],
        batch_tokens: int,
    ) -> None:
        """Of the best of each sentence, how much attention each source token got.

        Where the first step's is not known, it is computed only if it may matter: more attention leaves no word unseen that
        was seen without. It is what anything begins with, so that it is known after one step of any search.
        """
        untold: dict[int, NDArray[np.float32]] = {}
        for index, (best, found) in enumerate(zip(ranked, findings, strict=True)):
            if best:
                own = next(each for each in found if each.text == best[0].tokens)
                covered = coverage_of(own)
                best[0] = replace(best[0], coverage=covered)
                tokens = self._tokens(self._source, (*sources[index], END))
                if own.text and own.known_from and covered is not None and is_suspect(covered, tokens):
                    untold[index] = covered
        jobs = self._jobs(list(untold), [len(sources[index]) + 1 for index in untold], 1, batch_tokens)
        waiting = []
        for job in jobs:
            read = [self._tokens(self._source, sources[index]) for index in job]
            results = self._translator.translate_batch(
                read, asynchronous=True, beam_size=1, max_decoding_length=1, return_attention=True, max_input_length=0
            )
            waiting += list(zip(job, results, strict=True))
        for index, pending in waiting:
            check_cancelled()
            first = np.array(pending.result().attention[0][0], dtype=np.float32)  # [K]
            ranked[index][0] = replace(ranked[index][0], coverage=untold[index] + first)

    def _tokens(self, vocabulary: list[str], ids: Sequence[int]) -> list[str]:
        return [vocabulary[each] for each in ids]


def hypothesis(found: Finding, total: float, parts: tuple[float, ...], options: Search) -> Hypothesis:
    score = total / options.penalty(len(found.tokens))
    return Hypothesis(found.text, score, total, parts, "end" if found.tokens[-1] == END else "length")


def coverage_of(found: Finding) -> NDArray[np.float32] | None:
    """How much attention each source token got in all [K], of the steps that are known."""
    if len(found.attention) != len(found.tokens):  # every token's, if it was asked for
        return None
    rows = np.array(found.attention, dtype=np.float32)  # [T, K]
    covered: NDArray[np.float32] = rows[found.known_from : len(found.text)].sum(0)
    return covered


def read_vocabularies(folder: Path) -> tuple[list[str], list[str]]:
    """Source and target tokens of an export, by id."""
    shared = folder / "shared_vocabulary.json"
    names = (
        (shared, shared) if shared.exists() else (folder / f"{side}_vocabulary.json" for side in ("source", "target"))
    )
    try:
        source, target = (json.loads(name.read_text(encoding="utf-8")) for name in names)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"cannot read the vocabulary in {folder}: {error}; export the model again") from None
    return source, target
