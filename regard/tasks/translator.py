"""A trained model at work: raw text in, raw text out, one answer for every line.

`regard.load("runs/x")` returns a Translator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, TypedDict, overload

import numpy as np
import torch
from torch import Tensor

from regard import config
from regard.attention.record import Record, record
from regard.data.batching import pad
from regard.data.tokenizer import END, Tokenizer
from regard.decoding.options import Hypothesis, Search
from regard.errors import UsageError, did_you_mean
from regard.models.build import Model
from regard.tasks.sentences import split_text
from regard.tasks.translate import decode

if TYPE_CHECKING:
    from typing_extensions import Unpack  # part of typing only from Python 3.11 on

LOOK_AHEAD = 2_048  # bounds memory on files of any length


@dataclass(frozen=True)
class Translation:
    """What became of one text."""

    text: str
    score: float
    """Log-probability after the length penalty; higher is better, comparable between outputs of one source."""
    tokens: list[str]
    """The pieces that were written."""
    token_log_probabilities: list[float]
    """Of each piece, and of the end where the model wrote it."""
    finish_reason: str
    """`end`: the model closed the sentence; `length`: it reached the length limit; `empty`: there was nothing to say."""
    parts: int = 1
    """How many parts a text longer than the model was trained for was split into."""
    alternatives: list[Translation] = field(default_factory=list)
    """The n best, this one first, when more than one was asked for."""

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        content: dict[str, Any] = {
            "text": self.text,
            "score": self.score,
            "tokens": self.tokens,
            "token_log_probabilities": self.token_log_probabilities,
            "finish_reason": self.finish_reason,
            "parts": self.parts,
        }
        if self.alternatives:
            content["alternatives"] = [each.to_dict() for each in self.alternatives]
        return content


class Options(TypedDict, total=False):
    """How to decode, where it differs from the recipe; None means the recipe's own."""

    beam: int | None
    nbest: int
    length_penalty: str | None
    alpha: float | None
    max_ratio: float | None
    max_extra: int | None
    no_repeat_ngram: int | None
    batch_tokens: int | None
    sample: bool
    temperature: float
    top_k: int
    top_p: float
    seed: int


EMPTY = Translation("", 0.0, [], [], "empty", parts=0)


@dataclass(frozen=True)
class PairScore:
    """How probable a model finds a given translation."""

    log_probability: float
    tokens: list[str]
    token_log_probabilities: list[float]

    @property
    def perplexity(self) -> float:
        return float(np.exp(-self.log_probability / len(self.token_log_probabilities)))


@dataclass(frozen=True)
class Attention:
    """Every attention weight of one translation, as [layers, heads, queries, keys] by kind."""

    source_tokens: list[str]
    target_tokens: list[str]
    """What each decoder position wrote; it had read the tokens before it."""
    translation: Translation
    weights: dict[str, np.ndarray]
    """`encoder`, `decoder` and `cross`."""
    record: Record
    """All recorded tensors of the pass."""


class Translator:
    """A model, its tokenizer and its recipe, ready to translate."""

    def __init__(
        self, model: Model, tokenizer: Tokenizer, recipe: config.Recipe, provenance: dict[str, Any] | None = None
    ) -> None:
        self.model, self.tokenizer, self.recipe = model.eval(), tokenizer, recipe
        self.provenance = provenance or {}
        self.longest = int(self.provenance.get("source_pieces", recipe.data.max_pieces))

    @overload
    def translate(self, text: str, *, prefix: str = "", **options: Unpack[Options]) -> Translation: ...
    @overload
    def translate(self, text: list[str], *, prefix: str = "", **options: Unpack[Options]) -> list[Translation]: ...

    def translate(
        self, text: str | list[str], *, prefix: str = "", **options: Unpack[Options]
    ) -> Translation | list[Translation]:
        """Translate one text or many; a list in, a list out, in the same order.

        `prefix` is text that every output begins with; for the other options see `Options` and docs/decoding.md.
        """
        if isinstance(text, str):
            return next(self.stream([text], prefix=prefix, **options))
        return list(self.stream(text, prefix=prefix, **options))

    def stream(
        self, texts: Iterable[str], *, prefix: str = "", look_ahead: int = LOOK_AHEAD, **options: Unpack[Options]
    ) -> Iterator[Translation]:
        """Translate any number of texts in bounded memory: one answer for each, in order.

        `look_ahead` texts are read before the first is answered: many are faster, one suits a conversation.
        """
        search, settings = self.search_options(**options)
        lines = iter(texts)
        while block := list(islice(lines, look_ahead)):
            yield from self._block(block, search, settings, prefix)

    def search_options(self, **given: Any) -> tuple[Search, config.Decoding]:
        """The recipe's decoding settings with the given ones over them."""
        if unknown := sorted(set(given) - set(Options.__annotations__)):
            hint = did_you_mean(unknown[0], Options.__annotations__)
            raise UsageError(f"unknown option {unknown[0]!r}.{hint} There are {', '.join(Options.__annotations__)}")
        given = {name: value for name, value in given.items() if value is not None}
        settings = replace(
            self.recipe.decoding, **{k: v for k, v in given.items() if k in config.Decoding.__dataclass_fields__}
        )
        shared = {name: getattr(settings, name) for name in ("beam", "length_penalty", "alpha", "no_repeat_ngram")}
        search = Search(**{**shared, **{k: v for k, v in given.items() if k in Search.__dataclass_fields__}})
        return search, settings

    def _block(self, texts: list[str], search: Search, settings: config.Decoding, prefix: str) -> Iterator[Translation]:
        parts = [split_text(text, self.longest, self._pieces) for text in texts]
        flat = [part for of_text in parts for part in of_text]
        sources = self.tokenizer.encode_all(flat, "source")
        begin = self.tokenizer.encode(prefix, "target") if prefix else []
        first = [number == 0 for of_text in parts for number in range(len(of_text))]
        prefixes = [begin if leads else [] for leads in first] if begin else None
        found = iter(decode(self.model, sources, search, settings, prefixes))
        for of_text in parts:
            yield self._join([next(found) for _ in of_text])

    def _pieces(self, text: str) -> int:
        return len(self.tokenizer.encode(text, "source"))

    def _join(self, parts: list[list[Hypothesis]]) -> Translation:
        """One translation from those of a text's parts; alternatives pair the n-th best of each part."""
        if not parts:
            return EMPTY
        ranks = [
            _concatenate([self._read(part[min(rank, len(part) - 1)]) for part in parts], self._glue)
            for rank in range(max(len(part) for part in parts))
        ]
        return replace(ranks[0], alternatives=ranks) if len(ranks) > 1 else ranks[0]

    @property
    def _glue(self) -> str:
        """What stands between two sentences of the target language."""
        return "" if self.recipe.data.target_language.lower()[:2] in ("zh", "ja") else " "

    def _read(self, hypothesis: Hypothesis) -> Translation:
        return Translation(
            text=" ".join(self.tokenizer.decode(hypothesis.tokens).splitlines()),  # bytes can spell a line end
            score=hypothesis.score,
            tokens=self.tokenizer.pieces(hypothesis.tokens, "target"),
            token_log_probabilities=list(hypothesis.token_log_probabilities),
            finish_reason=hypothesis.finish_reason,
        )

    def facts(self) -> dict[str, str]:
        """What a person would like to know of the model, for pages and reports."""
        data, scores = self.recipe.data, self.provenance.get("scores", {})
        facts = {
            "languages": f"{data.source_language} → {data.target_language}",
            "parameters": f"{sum(parameter.numel() for parameter in self.model.parameters()):,}",
            "training pairs": f"{self.provenance.get('training_pairs', 0):,}",
            "updates": f"{self.provenance.get('updates', 0):,}",
        }
        for name, found in scores.items():
            facts[f"{found[0]['name']} on {name}"] = f"{found[0]['value']:.1f}"
        return facts

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[PairScore]:
        """The log-probability of each target given its source."""
        if len(sources) != len(targets):
            raise UsageError(f"{len(sources)} sources were given with {len(targets)} targets; they go in pairs")
        return [self._score(source, target) for source, target in zip(sources, targets, strict=True)]

    def _score(self, source: str, target: str) -> PairScore:
        target_ids = self.tokenizer.encode(target, "target")
        self._check_length(target_ids, "target")
        logits = self._logits(self.tokenizer.encode(source, "source"), target_ids)
        wanted = torch.tensor([*target_ids, END], device=logits.device)
        chosen = logits.log_softmax(-1).gather(-1, wanted[:, None]).squeeze(-1)  # [T]
        return PairScore(float(chosen.sum()), self.tokenizer.pieces(target_ids, "target"), chosen.tolist())

    def _logits(self, source_ids: list[int], target_ids: list[int]) -> Tensor:
        """Logits [T, V] of every position of a known target; the last is the end's."""
        self._check_length(source_ids, "source")
        source, read = (
            torch.from_numpy(ids).to(self.model.output.weight.device)
            for ids in (
                pad([np.array(source_ids, dtype=np.int64)], end=True),
                pad([np.array(target_ids, dtype=np.int64)], start=True),
            )
        )
        with torch.inference_mode():
            logits: Tensor = self.model.project(self.model(source, read))[0]
        return logits

    def _check_length(self, ids: list[int], side: str) -> None:
        if len(ids) + 1 > self.model.max_positions:
            raise UsageError(
                f"the {side} has {len(ids)} pieces; the model's position table ends at {self.model.max_positions - 1}."
                " Give it in parts."
            )

    def attention(self, text: str, **options: Unpack[Options]) -> Attention:
        """Translate a text and look at every attention weight of the pass that would write that translation."""
        source_ids = self.tokenizer.encode(text, "source")
        if not source_ids:
            raise UsageError("there is nothing to look at: the text is empty")
        self._check_length(source_ids, "source")
        search, settings = self.search_options(**options)
        best = decode(self.model, [source_ids], search, settings)[0][0]
        ended = best.finish_reason == "end"
        with record(self.model) as seen:  # one position for each piece that was written
            self._logits(source_ids, list(best.tokens if ended else best.tokens[:-1]))
        kinds = {"encoder": "encoder.{}.self_attention", "decoder": "decoder.{}.self_attention",
                 "cross": "decoder.{}.cross_attention"}  # fmt: skip
        weights = {}
        for kind, name in kinds.items():
            layers = [
                seen[name.format(number)]["weights"][0]
                for number in range(len(getattr(self.model, name.split(".")[0])))
            ]
            weights[kind] = torch.stack(layers).cpu().numpy()  # [layers, heads, queries, keys]
        written = self.tokenizer.pieces([*best.tokens, *([END] if ended else [])], "target")
        read = self.tokenizer.pieces([*source_ids, END], "source")
        return Attention(read, written, self._read(best), weights, seen)


def _concatenate(parts: list[Translation], glue: str) -> Translation:
    if len(parts) == 1:
        return parts[0]
    reasons = {part.finish_reason for part in parts}
    return Translation(
        text=glue.join(part.text for part in parts if part.text),
        score=sum(part.score for part in parts),
        tokens=[token for part in parts for token in part.tokens],
        token_log_probabilities=[value for part in parts for value in part.token_log_probabilities],
        finish_reason="length" if "length" in reasons else "end",
        parts=len(parts),
    )
