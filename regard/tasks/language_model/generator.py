"""A trained language model at work: how a text goes on, and how probable a text is.

`regard.load("runs/wikitext-2")` returns a TextGenerator.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from torch import Tensor

from regard import config
from regard.attention.record import record
from regard.data.batching import pad
from regard.data.plain import count_words, read_split
from regard.data.tokenizer import END, PAD, START, UNKNOWN, Side, Tokenizer
from regard.decoding.options import Hypothesis, SpecialTokens
from regard.decoding.search import search
from regard.decoding.steppable import Steppable
from regard.errors import UsageError
from regard.models.language_model import LanguageModel, RecurrentLanguageModel
from regard.models.layers import Table
from regard.models.packed import pack_weights
from regard.tasks import vectors
from regard.tasks.alternatives import alternatives, told_by_lens
from regard.tasks.language_model.evaluation import (
    BATCH_TOKENS,
    ContextWindow,
    Perplexity,
    Window,
    context_window,
    measure,
    window_states,
    windows_of_text,
)
from regard.tasks.language_model.page import TextAttention
from regard.tasks.language_model.results import Generation, GenerationOptions, Options, TextScore
from regard.tasks.language_model.streaming import SlidingContext, StreamedText, start_token, stop_strings
from regard.tasks.provenance import told_count, told_scores
from regard.tasks.registry import count_parameters
from regard.tasks.switches import Switchable
from regard.tasks.texts import LOOK_AHEAD, Texts, in_blocks, shown
from regard.tasks.vectors import Reading, TextVectors

if TYPE_CHECKING:
    from typing_extensions import Unpack  # part of typing only from Python 3.11 on

Tell = Callable[[str], None]

NEVER_ENDS = -1  # no id: where lines follow each other, a text goes on until somebody stops it
SAMPLED_TOGETHER = 256  # prompts, each with all its texts
CHUNK = 512  # rows of probabilities alive at a time


class TextGenerator(TextVectors, Switchable):
    """A language model, its tokenizer and its recipe, ready to write."""

    model: LanguageModel
    recipe: config.LanguageRecipe
    pools = ("mean", "max", "last")  # the first state has seen nothing of a text

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: Tokenizer,
        recipe: config.LanguageRecipe,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        self.model, self.tokenizer, self.recipe = pack_weights(model.eval()), tokenizer, recipe
        self.provenance = provenance or {}
        self.whole = recipe.data.documents == "stream"
        self.context = min(recipe.data.max_tokens, model.max_positions)
        """How many tokens the model was trained to look back at."""
        self._special = SpecialTokens(START, END if not self.whole else NEVER_ENDS, PAD, UNKNOWN)

    @overload
    def generate(self, prompt: str = "", *, on_text: Tell | None = None, **options: Unpack[Options]) -> Generation: ...
    @overload
    def generate(
        self, prompt: Texts, *, on_text: Tell | None = None, **options: Unpack[Options]
    ) -> list[Generation]: ...

    def generate(
        self, prompt: str | Texts = "", *, on_text: Tell | None = None, **options: Unpack[Options]
    ) -> Generation | list[Generation]:
        """Go on with one prompt or with each of many; an empty one begins as a text does. The options are in `GenerationOptions`.

        `on_text` is called with each new stretch of the text of a single prompt as it is written.
        """
        if isinstance(prompt, str):
            return self._together([prompt], [self._read(prompt)], GenerationOptions.of(options), on_text)[0]
        if not isinstance(prompt, list | tuple):
            raise UsageError(f"generate takes a text or a list of texts, not {shown(prompt)}")
        if on_text is not None:
            raise UsageError("on_text is told the text of a single prompt, not of a list")
        return list(self.stream(prompt, **options))

    def stream(
        self, prompts: Iterable[str], *, look_ahead: int = LOOK_AHEAD, **options: Unpack[Options]
    ) -> Iterator[Generation]:
        """Go on with any number of prompts in bounded memory: one answer for each, in order."""
        return self._blocks(prompts, look_ahead, GenerationOptions.of(options))

    def samples(
        self, prompts: Iterable[str], count: int, *, look_ahead: int = SAMPLED_TOGETHER, **options: Unpack[Options]
    ) -> Iterator[tuple[Generation, ...]]:
        """Of each of any number of prompts, so many texts whose seeds follow each other, in bounded memory."""
        chosen = GenerationOptions.of(options)
        seeded = [replace(chosen, seed=chosen.seed + number) for number in range(count)]
        return (
            of_prompt
            for block in in_blocks(prompts, look_ahead)
            for of_prompt in zip(*(self._blocks(block, look_ahead, each) for each in seeded), strict=True)
        )

    def cost(self, prompts: Sequence[str], **options: Unpack[Options]) -> list[int]:
        """Of each prompt, how many tokens `generate` computes with these options at most: those that are read, those that
        may be written, and those that are read again because the context slides."""
        new = GenerationOptions.of(options).max_new_tokens
        found = []
        for prompt in prompts:
            read = len(self._read(prompt))
            if not isinstance(self.model, RecurrentLanguageModel):
                again = max(
                    0, min(read, self.context) + new - self.context
                )  # half a context for each half that is written
                read = min(read, self.context) + again
            found.append(read + new)
        return found

    def _blocks(self, prompts: Iterable[str], look_ahead: int, options: GenerationOptions) -> Iterator[Generation]:
        before = 0
        for block in in_blocks(prompts, look_ahead):
            for number, prompt in enumerate(block, start=before):
                if not isinstance(prompt, str):
                    raise UsageError(f"prompt {number} (counting from 0) is {shown(prompt)}, not a string")
            yield from self._block(block, options)
            before += len(block)

    def _block(self, prompts: list[str], options: GenerationOptions) -> list[Generation]:
        """Prompts of the same length are read together."""
        found: dict[int, Generation] = {}
        read = [self._read(prompt) for prompt in prompts]
        lengths = [len(ids) for ids in read]
        for length, group in groupby(sorted(range(len(prompts)), key=lengths.__getitem__), lengths.__getitem__):
            for batch in in_blocks(group, max(1, BATCH_TOKENS // max(length, self.context))):
                told = self._together([prompts[row] for row in batch], [read[row] for row in batch], options)
                found.update(zip(batch, told, strict=True))
        return [found[row] for row in range(len(prompts))]

    def _together(
        self, prompts: list[str], read: list[list[int]], options: GenerationOptions, on_text: Tell | None = None
    ) -> list[Generation]:
        ids = torch.tensor(read, device=self.model.device)  # [S, K + 1]
        stops = [self._as_written(stop) for stop in options.stops]
        texts = [StreamedText(self._token, stops, not prompt or prompt[-1].isspace(), on_text) for prompt in prompts]
        found = search(
            self.steppable(),
            ids[:, :-1],
            torch.full_like(ids[:, 0], options.max_new_tokens),
            options.search(),
            self._special,
            seeds=[0] * len(prompts),  # the place in a list must not matter
            first_tokens=ids[:, -1],
            stopping_criterion=stop_strings(texts, self._special.end),
        )
        cut = self.cuts(ids.size(1))
        return [self._told(*each, cut) for each in zip(prompts, texts, found, strict=True)]

    def steppable(self) -> Steppable:
        """What the search drives: a model whose context never ends."""
        return (
            self.model if isinstance(self.model, RecurrentLanguageModel) else SlidingContext(self.model, self.context)
        )

    def cuts(self, length: int) -> bool:
        """Whether only the end of so many tokens is read."""
        return length > self.context and not isinstance(self.model, RecurrentLanguageModel)

    def _told(self, prompt: str, text: StreamedText, found: list[Hypothesis], cut: bool) -> Generation:
        text.close()
        ids = [*found[0].tokens, *[END] * (found[0].finish_reason == "end")]
        return Generation(
            prompt, text.text, self.tokenizer.tokens(ids, "target"), list(found[0].token_log_probabilities),
            "stop" if text.stopped else found[0].finish_reason, cut,
        )  # fmt: skip

    def _read(self, prompt: str) -> list[int]:
        """What stands before the text, and the ids of its lines with the ends between them."""
        lines = [line.strip() for line in prompt.split("\n")]
        ids = [start_token(self.whole)]
        for number, line in enumerate(lines if self.whole else [" ".join(lines)]):
            ids += [END] * (number > 0) + self.tokenizer.encode(line)
        return ids

    def _as_written(self, stop: str) -> str:
        """A stop string in the normal form of what the model writes; spaces at the ends of its lines stay."""
        lines = []
        for line in stop.split("\n"):
            core = line.strip(" ")
            normal = self.tokenizer.normalize(core) if core else ""
            if core and not normal:
                raise UsageError(
                    f"the stop string {shown(stop)} can never be written: nothing of it is left as a token"
                )
            before, _, after = line.partition(core) if core else (line, "", "")
            lines.append(before + normal + after)
        return "\n".join(lines)

    def _token(self, token: int) -> str:
        return self.tokenizer.tokens([token], "target")[0]

    @overload
    def score(self, text: str) -> TextScore: ...
    @overload
    def score(self, text: Texts) -> list[TextScore]: ...

    def score(self, text: str | Texts) -> TextScore | list[TextScore]:
        """The log-probability of a text, with the end of each of its lines, or of each of many, which are read together.

        A long one slides through the context; none depends on the others.
        """
        return self._scores([text])[0] if not isinstance(text, list | tuple) else self._scores(text)

    def _scores(self, texts: Sequence[str]) -> list[TextScore]:
        lines = [self._lines(text) for text in texts]
        counts = [0] * len(texts)
        own: list[float] = []
        ranks: list[int] = []
        ids: list[int] = []
        with torch.inference_mode():
            for expected, wanted in self.expectations(lines, counts):
                chosen, places = _judged(expected, wanted)
                own += chosen.tolist()
                ranks += places.tolist()
                ids += wanted.tolist()
        parts = [slice(end - count, end) for count, end in zip(counts, accumulate(counts), strict=True)]
        return [
            TextScore(
                sum(own[part]), self.tokenizer.tokens(ids[part], "target"), own[part], ranks[part],
                sum(map(count_words, of_text)),
            )
            for part, of_text in zip(parts, lines, strict=True)
        ]  # fmt: skip

    def expectations(
        self, texts: Sequence[Iterable[str]], counts: list[int], stride: int | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """Log-probabilities [F, V] at places of the texts, one after the other, and what stands there [F]; a few at a time. How many
        tokens of each text are predicted is counted in `counts`."""
        for read in window_states(self.model, self._slides(texts, counts, stride), BATCH_TOKENS):
            for states, pointed, wanted, _ in read.in_parts(CHUNK):
                yield self.model.project(states, pointed).float().log_softmax(-1), wanted

    def measure(
        self, lines: Iterable[str], stride: int | None = None, tell: Callable[[int], None] = lambda tokens: None
    ) -> Perplexity:
        """How well any number of lines is predicted, in bounded memory; `tell` hears how many tokens were, as it goes."""
        return measure(self.model, self.tokenizer, self.recipe.data, lines, stride, tell)

    def _slides(self, texts: Sequence[Iterable[str]], counts: list[int], stride: int | None) -> Iterator[Window]:
        """The windows of all texts, one text after the other; how many tokens of each are predicted is counted as they go by."""
        data = self.recipe.data
        for number, lines in enumerate(texts):
            for window in windows_of_text(lines, self.tokenizer, data, context_window(self.model, data, stride)):
                counts[number] += window.fresh
                yield window

    def _lines(self, text: str) -> list[str]:
        """Of a stream, the lines of a text; where lines are documents, a text is one of them, however it is broken."""
        if not isinstance(text, str):
            raise UsageError(f"a text is wanted, not {shown(text)}")
        lines = [line.strip() for line in text.removesuffix("\n").split("\n")]
        return lines if self.whole else [" ".join(lines).strip()]

    @property
    def usual_pool(self) -> str:
        """The only state that has seen all of a text."""
        return "last"

    def _reading(self, text: str) -> Reading:
        """As a text is scored: each token once, with a context that slides along; a recurrent model carries its state."""
        lines = self._lines(text)
        if not any(map(self.tokenizer.encode, lines)):
            return Reading([])
        context = context_window(self.model, self.recipe.data)
        if context.carried:
            context = ContextWindow(sys.maxsize, sys.maxsize, carried=True)
        windows = windows_of_text(lines, self.tokenizer, self.recipe.data, context)
        return Reading([vectors.Window(each.tokens[:-1], each.fresh) for each in windows])

    def _states(self, windows: Sequence[vectors.Window]) -> Tensor:
        ids = pad([np.array(window.ids, dtype=np.int64) for window in windows])  # [S, T]
        return self.model(torch.from_numpy(ids).to(self.model.device), packed=True)  # type: ignore[no-any-return]

    def _table(self, side: Side) -> Table:
        return self.model.embedding.table

    def _training_lines(self, recipe: config.LanguageRecipe, side: Side) -> Iterator[str]:
        return read_split(recipe.data, "train")

    def about_long(self, cut: int, windowed: int) -> str:
        if not windowed:
            return ""
        return (
            f"{windowed:,} text(s) longer than the {self.context} tokens that this model looks back at: "
            "read was all of them, with a context that slides"
        )

    def read_tokens(self, text: str) -> int:
        """How many tokens `look` reads of a text."""
        return 1 + sum(len(self.tokenizer.encode(line)) + 1 for line in self._lines(text))

    def look(self, text: str) -> TextAttention:
        """What was expected at each place of a text, and what every head looked at."""
        lines = self._lines(text)
        ids = [start_token(self.whole), *(each for line in lines for each in (*self.tokenizer.encode(line), END))]
        if len(ids) - 1 > self.context:
            raise UsageError(
                f"the text has {len(ids) - 1} tokens; this model looks back at most {self.context}. Give it in parts."
            )
        read, wanted = torch.tensor([ids[:-1]], device=self.model.device), ids[1:]
        with torch.inference_mode(), record(self.model) as seen:
            states = self.model(read)  # [1, T, D]
            logits = self.model.project(states, self.model.point(states, read))[0]  # [T, V]
        modules = self.model.attention_names().get("decoder", [])
        pointed = seen["pointer"]["weights"][0] if "pointer" in seen else None  # [T, T + 1]
        return TextAttention(
            title=self.recipe.name,
            text=text,
            read=self.tokenizer.tokens(ids[:-1], "target"),
            tokens=self.tokenizer.tokens(wanted, "target"),
            alternatives=alternatives(logits, wanted, self.tokenizer),
            words=sum(map(count_words, lines)),
            weights=torch.stack([seen[name]["weights"][0] for name in modules]).cpu().numpy() if modules else None,
            pointed=None if pointed is None else pointed.cpu().numpy(),
            facts=self.facts(),
            inside=self.inside(
                seen,
                len(wanted),
                "next",
                lambda states: self._lens(states, read, wanted),
                clusters=len(self.model.output.cutoffs),
            ),
        )

    def _lens(self, states: Tensor, read: Tensor, wanted: Sequence[int]) -> list[dict[str, Any]]:
        """What states [T, D] after ids [1, T] expect next."""
        logits = self.model.project(states[None], self.model.point(states[None], read))  # [1, T, V]
        return told_by_lens(logits[0], wanted, self.tokenizer)

    def facts(self) -> dict[str, str]:
        """What a person would like to know of the model, for pages and reports."""
        facts = {
            "parameters": f"{count_parameters(self.recipe.model, self.tokenizer.size('source')):,}",
            "vocabulary": f"{self.tokenizer.size('source'):,}",
            "context in tokens": f"{self.context:,}",
            "updates": f"{told_count(self.provenance, 'updates'):,}",
        }
        return facts | {name: f"{value:.2f}" for name, value in told_scores(self.provenance)}


def _judged(log_probabilities: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probabilities and ranks [F] of the tokens wanted, from those of all [F, V]."""
    own = log_probabilities.gather(-1, wanted[:, None])  #                [F, 1]
    return own.squeeze(-1), (log_probabilities > own).sum(-1) + 1
