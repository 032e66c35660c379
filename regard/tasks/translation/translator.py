"""A trained model at work: raw text in, raw text out, one answer for every line.

`regard.load("runs/x")` returns a Translator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from torch import Tensor, nn

from regard import config
from regard.attention.record import record
from regard.cancellation import check_cancelled
from regard.config.translation import tag_of
from regard.data.batching import in_batches, pad
from regard.data.mixture import read_split
from regard.data.sentences import space_between
from regard.data.tokenizer import END, UNKNOWN, Side, Tokenizer
from regard.decoding.options import Engine, Hypothesis, Search, check_values, refuse_idle
from regard.decoding.trace import Trace
from regard.errors import UsageError, did_you_mean
from regard.evaluation.scores import language_code
from regard.models.encoder_decoder import EncoderDecoder as Model
from regard.tasks.alternatives import alternatives
from regard.tasks.provenance import told_count, told_range, told_scores
from regard.tasks.registry import count_parameters
from regard.tasks.switches import Switchable
from regard.tasks.texts import LOOK_AHEAD, Texts, in_blocks, shown
from regard.tasks.translation.attention import Attention
from regard.tasks.translation.confidence import confidence, told_calibration
from regard.tasks.translation.engine import FastEngine, about, watched_of
from regard.tasks.translation.native import Native, coverages, known_pairs, length_limit, log_probabilities
from regard.tasks.translation.protection import Protected, lost_values, protected, require_placeholders
from regard.tasks.translation.results import Options, PairScore, Translation, concatenate
from regard.tasks.translation.search_steps import search_steps
from regard.tasks.translation.splitting import Part, split_text
from regard.tasks.translation.warnings import USUAL_RATIO, Doubt, doubts
from regard.tasks.translation.workers import native_of
from regard.tasks.vectors import Reading, TextVectors, Window
from regard.view.inside import SHOWN_POSITIONS, Stack, shape_of

if TYPE_CHECKING:
    from typing_extensions import Unpack  # part of typing only from Python 3.11 on

OF_TEXT = ("prefix", "split", "protect", "warnings")  # options that the search knows nothing of


class Translator(TextVectors, Switchable):
    """A model, its tokenizer and its recipe, ready to translate."""

    model: Model
    recipe: config.TranslationRecipe
    sides = ("source", "target")

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        recipe: config.TranslationRecipe,
        provenance: dict[str, Any] | None = None,
        engine: Engine | None = None,
    ) -> None:
        """An engine of our own has the model in the form that it computes with; that one is then looked at and scored with
        too, so that `model` itself is held no longer than its owner does."""
        self.engine = Native(model) if engine is None else engine
        native = native_of(self.engine.native if isinstance(self.engine, FastEngine) else self.engine)
        computing = native.model if native is not None and isinstance(native.model, Model) else model
        self.model, self.tokenizer, self.recipe = computing.eval(), tokenizer, recipe
        self.provenance = provenance or {}
        self.longest = told_count(self.provenance, "source_tokens", recipe.data.max_tokens)
        self.sentences = told_count(self.provenance, "source_sentences", 1)
        self._calibration = told_calibration(self.provenance)
        self.data = recipe.data
        """As the recipe has it; in `recipe.data`, the languages are those of the direction."""
        self.tags: list[int] = []
        """Before every source: into which language."""
        if len(self.targets) > 1:
            self._turn(self.targets[0])

    @property
    def targets(self) -> list[str]:
        """The languages that the model translates into."""
        return self.data.target_languages

    def to(self, language: str) -> Translator:
        """The same model, translating into one of its languages."""
        known = self.targets
        if len(known) == 1 and language != known[0]:
            raise UsageError(f"this model translates into {known[0]} only, not into {language!r}")
        if language not in known:
            raise UsageError(f"this model translates into {', '.join(known)}, not into {language!r}")
        turned = copy(self)
        if len(known) > 1:
            turned._turn(language)
        return turned

    def _turn(self, language: str) -> None:
        """Languages and tag of the first direction into a language."""
        source, target = next(each.languages for each in self.data.directions if each.languages[1] == language)
        self.recipe = replace(self.recipe, data=replace(self.data, source_language=source, target_language=target))
        self.tags = [self.tokenizer.tag(tag_of(language))]

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Source ids as the model reads them."""
        return [[*self.tags, *ids] for ids in self.tokenizer.encode_all(texts, "source")]

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
        search, settings = self.search_options(**options)
        prefix, split = self._prefix(options), options.get("split", True)
        check_flags(split=split, warnings=options.get("warnings", False))  # before anything is read
        self._protects(options)
        search = replace(search, coverage=options.get("warnings", False))
        return self._blocks(texts, look_ahead, search, settings, prefix, options)

    def search_options(self, **given: Any) -> tuple[Search, config.Decoding]:
        """The recipe's decoding settings with the given ones over them; more outputs than its beam widen the beam."""
        if unknown := sorted(set(given) - set(Options.__annotations__)):
            hint = did_you_mean(unknown[0], Options.__annotations__)
            raise UsageError(f"unknown option {unknown[0]!r}.{hint} There are {', '.join(Options.__annotations__)}")
        given = {name: value for name, value in given.items() if value is not None and name not in OF_TEXT}
        values = {**vars(self.recipe.decoding), **given}
        check_values(values)
        refuse_idle(given, values)
        if "beam" not in given:
            values["beam"] = max(values["beam"], values.get("nbest", 1))
        search, settings = (
            {name: value for name, value in values.items() if name in kind.__dataclass_fields__}
            for kind in (Search, config.Decoding)
        )
        return Search(**search), config.Decoding(**settings)

    def _prefix(self, options: Options) -> list[int]:
        prefix = options.get("prefix") or ""
        if not isinstance(prefix, str):
            raise UsageError(f"the prefix must be text, not {shown(prefix)}")
        ids = self.tokenizer.encode(prefix, "target")
        self._check_length(ids, "prefix", "Shorten it.")
        if UNKNOWN in ids:
            raise UsageError(f"the prefix {prefix!r} holds a character that this model cannot write")
        return ids

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
            parts = [self.split(text, options.get("split", True)) for text in block]
            read = protected([part.text for of_text in parts for part in of_text], self._protects(options))
            prefixes = [prefix if number == 0 else [] for of_text in parts for number in range(len(of_text))]
            read, decoded = self._decode(read, search, settings, prefixes)
            doubted = self._doubts(read, decoded) if options.get("warnings") else repeat(None)
            found = zip(read, decoded, doubted, strict=False)
            for of_text in parts:
                yield self._join(of_text, [next(found) for _ in of_text], search.nbest, options.get("warnings", False))
            before += len(block)

    def _decode(
        self, read: list[Protected], search: Search, settings: config.Decoding, prefixes: list[list[int]]
    ) -> tuple[list[Protected], list[list[Hypothesis]]]:
        """Hypotheses of every part, and how it was read in the end: once more without placeholders if one was lost."""

        def decoded(parts: list[Protected], begun: list[list[int]]) -> list[list[Hypothesis]]:
            return self.engine.decode(self._encoded(parts), search, settings, begun)

        read, found = list(read), decoded(read, prefixes)
        again = [number for number, part in enumerate(read) if part.lost_in(found[number][0], self.tokenizer)]
        if again:
            plain = [read[number].plain() for number in again]
            for number, part, best in zip(
                again, plain, decoded(plain, [prefixes[number] for number in again]), strict=True
            ):
                read[number], found[number] = part, best
        return read, found

    def _encoded(self, read: Sequence[Protected]) -> list[list[int]]:
        return self._encode([part.text for part in read])

    def _protects(self, options: Options) -> bool:
        asked = options.get("protect")
        check_flags(protect=bool(asked) if asked is None else asked)
        return require_placeholders(self.tokenizer, asked)

    def split(self, text: str, sentences: bool = True) -> list[Part]:
        """The parts in which a text is translated: as many sentences each as a line of the training text had; without
        `sentences`, only what is longer than the model was trained for is cut."""
        check_flags(split=sentences)
        most = self.sentences if sentences else 0
        return split_text(text, self.longest, self._tokens, most, self.recipe.data.source_language)

    def cost(self, texts: Sequence[str], **options: Unpack[Options]) -> list[int]:
        """Of each text, how many tokens `translate` computes with these options at most: those that are read, and of every
        hypothesis those that it may write; for warnings, one more pass over what was read and written."""
        search, _ = self.search_options(**options)
        again = 1 if options.get("warnings") else 0
        return [
            sum(
                read + search.width * limit + again * (read + 1 + limit)  # which begins with a start
                for read, limit in self._sizes(text, options)
            )
            for text in texts
        ]

    def look_size(self, text: str, **options: Unpack[Options]) -> int:
        """How many numbers `attentions` shows of a text at most: every head's weights, the positions, and the tokens of all
        hypotheses that the search went through."""
        search, _ = self.search_options(**options)
        names, heads = self.attention_names(), self.model.heads
        layers = {kind: len(names.get(kind, ())) for kind in ("encoder", "decoder", "cross")}
        table = self.model.position_table(1)
        width = 0 if table is None else table.size(-1)
        return sum(
            heads * (layers["encoder"] * read**2 + layers["decoder"] * limit**2 + layers["cross"] * limit * read)
            + width * max(SHOWN_POSITIONS, read, limit)
            + search.width * limit**2
            for read, limit in self._sizes(text, options)
        )

    def _sizes(self, text: str, options: Options) -> Iterator[tuple[int, int]]:
        """Of each part of a text, how many tokens are read, its end included, and how many an output may have."""
        _, settings = self.search_options(**options)
        prefix = len(self._prefix(options))
        texts = [part.text for part in self.split(text, options.get("split", True))]
        for number, part in enumerate(protected(texts, self._protects(options))):
            for each in (part, part.plain()) if part.values else (part,):  # read again if a value is lost
                (ids,) = self._encoded([each])
                limit = length_limit(len(ids), settings, self.model.max_positions, 0 if number else prefix)
                yield len(ids) + 1, limit

    def _tokens(self, text: str) -> int:
        """As many as the model may have to read: a placeholder can take one more than what it stands for."""
        (part,) = protected([text], self.tokenizer.has_placeholders)
        return max(map(len, self._encoded([part, part.plain()] if part.values else [part]))) - len(self.tags)

    def _doubts(self, read: list[Protected], decoded: list[list[Hypothesis]]) -> list[list[Doubt]]:
        """Of the best translation of each part, what speaks against it."""
        sources = self._encoded(read)
        targets = [list(best[0].tokens) for best in decoded]
        covered = {number: best[0].coverage for number, best in enumerate(decoded) if best[0].coverage is not None}
        untold = [number for number in range(len(decoded)) if number not in covered]
        if untold and "cross" in self.model.attention_names():
            lengths = [1 + max(len(sources[number]), len(targets[number])) for number in untold]
            for batch in in_batches(lengths, self.recipe.decoding.batch_tokens, 1):
                check_cancelled()
                numbers = [untold[place] for place in batch]
                pairs = [sources[number] for number in numbers], [targets[number] for number in numbers]
                covered.update(zip(numbers, coverages(self.model, *pairs), strict=True))
        showing = [self.tokenizer.showing(part.values) for part in read]
        return [
            doubts(
                shown.tokens([*source[len(self.tags) :], END], "source"),
                shown.tokens(target, "target"),
                None if number not in covered else covered[number][len(self.tags) :],
                told_range(self.provenance, "length_ratio", USUAL_RATIO),
            )
            for number, (shown, source, target) in enumerate(zip(showing, sources, targets, strict=True))
        ]

    def _join(
        self,
        parts: list[Part],
        found: list[tuple[Protected, list[Hypothesis], list[Doubt] | None]],
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

    def _read(self, part: Protected, hypothesis: Hypothesis, doubted: list[Doubt] | None) -> Translation:
        shown = self.tokenizer.showing(part.values)
        text = shown.line(hypothesis.tokens)
        lost = lost_values(part, text) if self.tokenizer.has_placeholders else []
        return Translation(
            text=text,
            score=hypothesis.score,
            tokens=shown.tokens(hypothesis.tokens, "target"),
            token_log_probabilities=list(hypothesis.token_log_probabilities),
            finish_reason=hypothesis.finish_reason,
            warnings=[*(doubted or ()), *lost] if lost else doubted,
            confidence=confidence(self._calibration, hypothesis.token_log_probabilities),
        )

    @property
    def decoded_by(self) -> str:
        """Which engine decodes, and why it is this one."""
        return about(self.engine)

    @property
    def source_language(self) -> str:
        """As a code, such as `de`, however the recipe names it."""
        return language_code(self.recipe.data.source_language).partition(" ")[0]

    def facts(self) -> dict[str, str]:
        """What a person would like to know of the model, for pages and reports."""
        data = self.recipe.data
        sizes = self.tokenizer.size("source"), self.tokenizer.size("target")
        facts = {
            "languages": f"{data.source_language} → {data.target_language}",
            "parameters": f"{count_parameters(self.recipe.model, *sizes):,}",
            "training pairs": f"{told_count(self.provenance, 'training_examples'):,}",
            "updates": f"{told_count(self.provenance, 'updates'):,}",
        }
        return facts | {name: f"{value:.1f}" for name, value in told_scores(self.provenance)}

    @overload
    def score(self, sources: str, targets: str) -> PairScore: ...
    @overload
    def score(self, sources: Texts, targets: Texts) -> list[PairScore]: ...

    def score(self, sources: str | Texts, targets: str | Texts) -> PairScore | list[PairScore]:
        """The log-probability of each target given its source; of one pair, or of as many sources as targets.

        Pairs of similar length are computed together, about `decoding.batch_tokens` at a time; none depends on the others.
        """
        if isinstance(sources, str) and isinstance(targets, str):
            return self._scores([sources], [targets])[0]
        for given in (sources, targets):
            if not isinstance(given, list | tuple):
                raise UsageError(f"score takes two texts or two lists of texts, not {shown(given)} among them")
        if len(sources) != len(targets):
            raise UsageError(f"{len(sources)} sources were given with {len(targets)} targets; they go in pairs")
        return self._scores(sources, targets)

    def _scores(self, sources: Sequence[str], targets: Sequence[str]) -> list[PairScore]:
        for text in (*sources, *targets):
            if not isinstance(text, str):
                raise UsageError(f"score compares texts; it was given {shown(text)}")
        read, written = self._encode(sources), self.tokenizer.encode_all(targets, "target")
        for source, target in zip(read, written, strict=True):
            self._check_length(source, "source")
            self._check_length(target, "target")
        found: dict[int, list[float]] = {}
        lengths = [1 + max(map(len, pair)) for pair in zip(read, written, strict=True)]
        for batch in in_batches(lengths, self.recipe.decoding.batch_tokens, 1):
            check_cancelled()
            pairs = [read[index] for index in batch], [written[index] for index in batch]
            found.update(zip(batch, log_probabilities(self.model, *pairs), strict=True))
        return [
            PairScore(sum(found[index]), self.tokenizer.tokens(target, "target"), found[index])
            for index, target in enumerate(written)
        ]

    def score_cost(self, sources: Sequence[str], targets: Sequence[str]) -> list[int]:
        """Of each pair, how many tokens `score` computes."""
        sides = self._encode(sources), self.tokenizer.encode_all(targets, "target")
        return [len(source) + len(target) + 2 for source, target in zip(*sides, strict=True)]

    def _logits(self, source_ids: list[int], target_ids: list[int]) -> Tensor:
        """Logits [T, V] of every position of a known target; the last is the end's."""
        self._check_length(source_ids, "source")
        with torch.inference_mode():
            states = self.model(*known_pairs(self.model, [source_ids], [target_ids]))
            logits: Tensor = self.model.project(states)[0]
        return logits

    def _check_length(self, ids: list[int], what: str, remedy: str = "Give it in parts.") -> None:
        if len(ids) + 1 > self.model.max_positions:
            raise UsageError(
                f"the {what} has {len(ids)} tokens; the model's position table ends at {self.model.max_positions - 1}."
                f" {remedy}"
            )

    def _reading(self, text: str) -> Reading:
        """Whole, or cut where it is longer than the model was trained for."""
        encoded = self._encode([part.text for part in self.split(text, sentences=False)])
        return Reading([Window([*ids, END], len(ids) + 1) for ids in encoded])

    def _states(self, windows: Sequence[Window]) -> Tensor:
        ids = pad([np.array(window.ids, dtype=np.int64) for window in windows])  # [S, K]
        return self.model.encoder_states(torch.from_numpy(ids).to(self.model.device))

    def _table(self, side: Side) -> nn.Embedding:
        return (self.model.source_embedding if side == "source" else self.model.target_embedding).table

    def _training_lines(self, recipe: config.TranslationRecipe, side: Side) -> Iterator[str]:
        pairs = read_split(recipe.data, "train")
        return (source if side == "source" else target for source, target in pairs)

    def about_long(self, cut: int, windowed: int) -> str:
        if not windowed:
            return ""
        return (
            f"{windowed:,} text(s) longer than the {self.longest} tokens this model was trained for: "
            "read was all of them, in parts"
        )

    def attention(self, text: str, *, part: int = 0, **options: Unpack[Options]) -> Attention:
        """Translate a text, as `translate` does with these options, and look at every attention weight of one pass of the
        model through that very translation, whatever engine wrote it.

        Of a text that `translate` would split, one part is shown, counted from 0; `parts` of the answer tells how many.
        """
        parts = self._parts(text, options)
        if not 0 <= part < len(parts):
            raise UsageError(f"the text has no part {part}; its parts are 0 to {len(parts) - 1}")
        return self._attention(parts, part, options)

    def attentions(self, text: str, **options: Unpack[Options]) -> Iterator[Attention]:
        """The same of every part of a text, one after the other."""
        parts = self._parts(text, options)
        return (self._attention(parts, part, options) for part in range(len(parts)))

    def attention_names(self) -> dict[str, list[str]]:
        """By kind of attention, what the model calls the modules that attend."""
        names = self.model.attention_names()
        if not names:
            raise UsageError(
                f"{self.recipe.name} has no attention to look at: its architecture is {self.recipe.model.architecture!r}"
            )
        return names

    def _parts(self, text: str, options: Options) -> list[str]:
        if not isinstance(text, str):
            raise UsageError(f"attention looks at one text, not at {shown(text)}")
        self.attention_names()
        parts = [part.text for part in self.split(text, options.get("split", True))]
        if not parts:
            raise UsageError("there is nothing to look at: the text is empty")
        return parts

    def _attention(self, parts: list[str], part: int, options: Options) -> Attention:
        search, settings = self.search_options(**options)
        prefix = self._prefix(options) if part == 0 else []
        (read,) = protected([parts[part]], self._protects(options))
        (source_ids,) = self._encoded([read])
        best, watched, trace = self._watched(source_ids, search, settings, prefix)
        if read.lost_in(best, self.tokenizer):
            read = read.plain()
            (source_ids,) = self._encoded([read])
            best, watched, trace = self._watched(source_ids, search, settings, prefix)
        shown = self.tokenizer.showing(read.values)
        written = [*best.tokens, END] if best.finish_reason == "end" else list(best.tokens)
        if not written:
            raise UsageError("there is nothing to look at: max_ratio and max_extra leave no room to write")
        return replace(
            self._look(parts[part], source_ids, written, shown),
            parts=len(parts),
            steps=search_steps(trace, shown),
            search={**vars(search)},
            beside=None if watched.tokens == best.tokens else shown.line(watched.tokens),
        )

    def _watched(
        self, source_ids: list[int], search: Search, settings: config.Decoding, prefix: list[int]
    ) -> tuple[Hypothesis, Hypothesis, Trace]:
        """What the engine writes, and a search that was watched, with what it found.

        They are one search, unless another program decodes: it cannot be watched, and ours is made beside it.
        """
        native, trace = watched_of(self.engine, search), Trace(search.width)
        best = None if native else self.engine.decode([source_ids], search, settings, [prefix])[0][0]
        watched = (native or Native(self.model)).decode([source_ids], search, settings, [prefix], trace)[0][0]
        return watched if best is None else best, watched, trace

    def changed(
        self, off: Mapping[str, Sequence[int]] = {}, temperature: float = 1.0, hard: bool = False
    ) -> AbstractContextManager[None]:
        """`with translator.changed(off={"decoder.0.cross_attention": [1]}):` switches heads off, and on again after.

        `temperature` and `hard` are of every attention in the model. Only what this thread computes is changed.
        """
        engine = self.engine.native if isinstance(self.engine, FastEngine) else self.engine
        if not isinstance(engine, Native) and (off or hard or temperature != 1.0):
            raise UsageError("only the native engine in one process can be changed; load without engine and workers")
        return super().changed(off, temperature, hard)

    def _look(self, text: str, source_ids: list[int], written: list[int], shown: Tokenizer) -> Attention:
        """What the model attends to when it writes a known target, as a tokenizer shows it."""
        with record(self.model) as seen:  # one position for each token that was written
            logits = self._logits(source_ids, written[:-1])
        names = self.attention_names()
        positions = self.model.position_table(max(SHOWN_POSITIONS, len(source_ids) + 1, len(written)))
        return Attention(
            title=self.recipe.name,
            text=text,
            translation=shown.line(written),
            source_tokens=shown.tokens([*source_ids, END], "source"),
            target_tokens=shown.tokens(written, "target"),
            weights={
                kind: torch.stack([seen[module]["weights"][0] for module in modules]).cpu().numpy()
                for kind, modules in names.items()
            },
            names=names,
            off=self.heads_off(),
            facts=self.facts(),
            shape={**shape_of(self.recipe.model), "vocabulary": logits.size(-1)},
            stacks=stacks_of(self.recipe.model),
            alternatives=alternatives(logits, written, shown),
            positions=None if positions is None else positions.detach().cpu().numpy(),
            record=seen,
        )


def stacks_of(settings: config.Model) -> list[Stack]:
    """The layers of a Transformer that can be walked through; a plug-in's may compute anything."""
    if type(settings) is not config.Transformer:
        return []
    return [
        Stack("encoder", "source", "source_embedding", "encoder", settings.encoder_layers, "memory"),
        Stack("decoder", "target", "target_embedding", "decoder", settings.decoder_layers, "next", cross=True),
    ]


def check_flags(**flags: object) -> None:
    """Refuse what is neither True nor False."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise UsageError(f"{name} must be True or False, not {shown(value)}")
