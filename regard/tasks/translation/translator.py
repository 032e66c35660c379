"""A trained model at work: raw text in, raw text out, one answer for every line.

`regard.load("runs/x")` returns a Translator.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, overload

import numpy as np

from regard import config
from regard.cancellation import check_cancelled
from regard.data.batching import in_batches, pad
from regard.data.sentences import space_between
from regard.data.tokenizer import END, Side
from regard.decoding.options import Hypothesis, Search
from regard.errors import UsageError
from regard.tasks.provenance import told_range
from regard.tasks.texts import LOOK_AHEAD, Texts, in_blocks, shown
from regard.tasks.translation.confidence import confidence
from regard.tasks.translation.engine import FastEngine, about
from regard.tasks.translation.inputs import check_flags
from regard.tasks.translation.reading import Reader, ReadPart, keeps_more, lost_values
from regard.tasks.translation.recording import AttentionRecording
from regard.tasks.translation.results import Options, Translation, concatenate
from regard.tasks.translation.scoring import PairScoring
from regard.tasks.translation.splitting import Part, join_texts
from regard.tasks.translation.warnings import USUAL_RATIO, Doubt, doubts
from regard.tasks.vectors import Reading, TextVectors, Window

if TYPE_CHECKING:
    from torch import Tensor
    from typing_extensions import Unpack  # part of typing only from Python 3.11 on

    from regard.models.layers import Table


class Translator(PairScoring, AttentionRecording, TextVectors):
    """A model, its tokenizer and its recipe, ready to translate."""

    recipe: config.TranslationRecipe
    sides = ("source", "target")

    @overload
    def translate(self, text: str, **options: Unpack[Options]) -> Translation: ...
    @overload
    def translate(self, text: Texts, **options: Unpack[Options]) -> list[Translation]: ...

    def translate(self, text: str | Texts, **options: Unpack[Options]) -> Translation | list[Translation]:
        """Translate one text or many; a list in, a list out, in the same order. The options are those of `Options`."""
        if isinstance(text, str):
            return next(self.stream([text], **options))
        if not isinstance(text, list | tuple):
            raise UsageError(f"translate takes a text or a list of texts, not {shown(text)}")
        return list(self.stream(text, **options))

    def stream(
        self, texts: Iterable[str], *, look_ahead: int = LOOK_AHEAD, **options: Unpack[Options]
    ) -> Iterator[Translation]:
        """Translate any number of texts in bounded memory: one answer for each, in order.

        `look_ahead` texts are read before the first is answered: many are faster, one suits a conversation.
        """
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            raise UsageError(f"stream takes an iterable of texts, such as a list, not {shown(texts)}")
        if not isinstance(look_ahead, int) or look_ahead < 1:
            raise UsageError(f"look_ahead must be a whole number of at least 1, not {look_ahead!r}")
        self = self._into(options)
        return self._blocks(texts, look_ahead, *self._asked(options), options)

    def translate_parts(self, text: str, on_text: Callable[[str], None], **options: Unpack[Options]) -> Translation:
        """What `translate` answers, but `on_text` is told each new stretch of it as soon as it is there: first one sentence, then
        twice as many each time, which are translated together."""
        self = self._into(options).directed(text)
        search, settings, prefix = self._asked(options)
        parts = self.split(text, options.get("split", True))
        found: list[tuple[ReadPart, list[Hypothesis], list[Doubt] | None]] = []
        told = ""
        while len(found) < len(parts):
            check_cancelled()
            some = parts[len(found) : 2 * len(found) + 1]
            prefixes = [[] if found or number else prefix for number in range(len(some))]
            found += self._translated(some, search, settings, prefixes, options)
            texts = [self._read(part, best[0], None).text for part, best, _ in found]
            whole = join_texts(parts[: len(found)], texts, space_between(self.recipe.data.target_language))
            if whole != told:
                on_text(whole[len(told) :])
            told = whole
        return self._join(parts, found, search.nbest, options.get("warnings", False))

    def _asked(self, options: Options) -> tuple[Search, config.Decoding, list[int]]:
        """How to search, and what every output begins with; what is wrong with the options is said before anything is read."""
        search, settings = self.search_options(**options)
        prefix = self._prefix(options)
        check_flags(split=options.get("split", True), warnings=options.get("warnings", False))
        self._reader(options)
        return replace(search, coverage=options.get("warnings", False)), settings, prefix

    def _blocks(
        self,
        texts: Iterable[str],
        look_ahead: int,
        search: Search,
        settings: config.Decoding,
        prefix: list[int],
        options: Options,
    ) -> Iterator[Translation]:
        before = 0
        for block in in_blocks(texts, look_ahead):
            for number, text in enumerate(block, start=before):
                if not isinstance(text, str):
                    raise UsageError(f"text {number} (counting from 0) is {shown(text)}, not a string")
            yield from self._each_directed(block, search, settings, prefix, options)
            before += len(block)

    def _each_directed(
        self, texts: Sequence[str], search: Search, settings: config.Decoding, prefix: list[int], options: Options
    ) -> Iterator[Translation]:
        """Translations in the order of their texts; those into one language are made together."""
        if self.fixed:
            yield from self._together(texts, search, settings, prefix, options)
            return
        directed = [self.directed(text) for text in texts]
        languages = [each.recipe.data.target_language for each in directed]
        made = {
            language: each._together(
                [text for text, own in zip(texts, languages, strict=True) if own == language],
                search, settings, prefix, options,
            )
            for language, each in dict(zip(languages, directed, strict=True)).items()
        }  # fmt: skip
        for language in languages:
            yield next(made[language])

    def _together(
        self, texts: Sequence[str], search: Search, settings: config.Decoding, prefix: list[int], options: Options
    ) -> Iterator[Translation]:
        """Of texts in one direction."""
        parts = [self.split(text, options.get("split", True)) for text in texts]
        prefixes = [prefix if number == 0 else [] for of_text in parts for number in range(len(of_text))]
        every = [part for of_text in parts for part in of_text]
        found = self._translated(every, search, settings, prefixes, options)
        for of_text in parts:
            yield self._join(of_text, [next(found) for _ in of_text], search.nbest, options.get("warnings", False))

    def _translated(
        self,
        parts: Sequence[Part],
        search: Search,
        settings: config.Decoding,
        prefixes: list[list[int]],
        options: Options,
    ) -> Iterator[tuple[ReadPart, list[Hypothesis], list[Doubt] | None]]:
        """Of each part how it was read, what was written, and what speaks against that."""
        read, decoded = self._decode([part.text for part in parts], self._reader(options), search, settings, prefixes)
        doubted = self._doubts(read, decoded) if options.get("warnings") else repeat(None)
        return zip(read, decoded, doubted, strict=False)

    def _decode(
        self,
        texts: list[str],
        reader: Reader,
        search: Search,
        settings: config.Decoding,
        prefixes: list[list[int]],
    ) -> tuple[list[ReadPart], list[list[Hypothesis]]]:
        """Hypotheses of every part, and how it was read in the end. If a value was lost, another hypothesis of the beam may
        have it, or one that was read without placeholders."""

        def decoded(parts: Sequence[ReadPart], begun: list[list[int]], search: Search) -> list[list[Hypothesis]]:
            to_read = [number for number, part in enumerate(parts) if not part.copied or begun[number]]
            encoded, begun = self._encoded([parts[number] for number in to_read]), [begun[number] for number in to_read]
            found = iter(self.engine.decode(encoded, search, settings, begun) if to_read else ())
            return [next(found) if number in set(to_read) else [reader.copy(part)] for number, part in enumerate(parts)]

        read = reader.read(texts)
        found = decoded(read, prefixes, search)
        again = [number for number, part in enumerate(read) if part.lost_in(found[number][0], self.tokenizer)]
        if again:
            lacking, begun = [read[number] for number in again], [prefixes[number] for number in again]
            held = [found[number] for number in again]
            if search.width > search.nbest:
                held = decoded(lacking, begun, replace(search, nbest=search.width))
            plain = [reader.plain(part) for part in lacking]
            for number, part, best, bare in zip(again, plain, held, decoded(plain, begun, search), strict=True):
                best = read[number].ranked(best, self.tokenizer)[: search.nbest]
                if keeps_more(read[number], best[0], part, bare[0], self.tokenizer):
                    read[number], best = part, bare
                found[number] = best
        return read, found

    def _doubts(self, read: list[ReadPart], decoded: list[list[Hypothesis]]) -> list[list[Doubt]]:
        """Of the best translation of each part, what speaks against it."""
        sources = self._encoded(read)
        targets = [list(best[0].tokens) for best in decoded]
        covered = {number: best[0].coverage for number, best in enumerate(decoded) if best[0].coverage is not None}
        untold = [number for number, part in enumerate(read) if number not in covered and not part.copied]
        if untold and self._tells_coverage():
            from regard.tasks.translation.native import coverages

            lengths = [1 + max(len(sources[number]), len(targets[number])) for number in untold]
            for batch in in_batches(lengths, self.recipe.decoding.batch_tokens, 1):
                check_cancelled()
                numbers = [untold[place] for place in batch]
                pairs = [sources[number] for number in numbers], [targets[number] for number in numbers]
                covered.update(zip(numbers, coverages(self.model, *pairs), strict=True))
        showing = [self.tokenizer.showing(part.values) for part in read]
        return [
            []
            if part.copied
            else doubts(
                shown.tokens([*source[len(self.tags) :], END], "source"),
                shown.tokens(target, "target"),
                None if number not in covered else covered[number][len(self.tags) :],
                told_range(self.provenance, "length_ratio", USUAL_RATIO),
            )
            for number, (part, shown, source, target) in enumerate(zip(read, showing, sources, targets, strict=True))
        ]

    def _tells_coverage(self) -> bool:
        """Whether the model looks at the source, so that one can see what it left out."""
        return "cross" in self.model.attention_names()

    def _join(
        self,
        parts: list[Part],
        found: list[tuple[ReadPart, list[Hypothesis], list[Doubt] | None]],
        nbest: int,
        warned: bool,
    ) -> Translation:
        """One translation from those of a text's parts; alternatives pair the n-th best of each part."""
        ranks = [
            concatenate(
                parts,
                [
                    self._read(part, best[min(rank, len(best) - 1)], None if rank else doubted)
                    for part, best, doubted in found
                ],
                space_between(self.recipe.data.target_language),
            )
            for rank in range(max((len(best) for _, best, _ in found), default=0))
        ] or [Translation("", 0.0, [], [], "empty", parts=0, warnings=[] if warned else None)]
        return replace(ranks[0], alternatives=ranks) if nbest > 1 else ranks[0]

    def _read(self, part: ReadPart, hypothesis: Hypothesis, doubted: list[Doubt] | None) -> Translation:
        shown = self.tokenizer.showing(part.values)
        text = part.written(hypothesis.tokens, self.tokenizer)
        lost = lost_values(part, text) if self.tokenizer.has_placeholders else []
        return Translation(
            text=text,
            score=hypothesis.score,
            tokens=shown.tokens(hypothesis.tokens, "target"),
            token_log_probabilities=list(hypothesis.token_log_probabilities),
            finish_reason=hypothesis.finish_reason,
            warnings=[*(doubted or ()), *lost] if lost else doubted,
            confidence=confidence(self._calibration, hypothesis.log_probability, hypothesis.length),
        )

    @property
    def decoded_by(self) -> str:
        """Which engine decodes, and why it is this one."""
        return about(self.engine)

    @property
    def side_by_side(self) -> int:
        """How many threads may translate at the same time without being in each other's way."""
        return getattr(self.engine.fast, "threads", 1) if isinstance(self.engine, FastEngine) else 1

    def _reading(self, text: str) -> Reading:
        """Whole, or cut where it is longer than the model was trained for."""
        encoded = self.encode([part.text for part in self.split(text, sentences=False)])
        return Reading([Window([*ids, END], len(ids) + 1) for ids in encoded])

    def _states(self, windows: Sequence[Window]) -> Tensor:
        import torch

        ids = pad([np.array(window.ids, dtype=np.int64) for window in windows])  # [S, K]
        return self.model.encoder_states(torch.from_numpy(ids).to(self.model.device))

    def _table(self, side: Side) -> Table:
        return (self.model.source_embedding if side == "source" else self.model.target_embedding).table

    def _training_lines(self, recipe: config.TranslationRecipe, side: Side) -> Iterator[str]:
        from regard.data.mixture import read_split

        pairs = read_split(recipe.data, "train")
        return (source if side == "source" else target for source, target in pairs)

    def about_long(self, cut: int, windowed: int) -> str:
        if not windowed:
            return ""
        return (
            f"{windowed:,} text(s) longer than the {self.longest} tokens this model was trained for: "
            "read was all of them, in parts"
        )
