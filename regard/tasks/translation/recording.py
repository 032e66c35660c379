"""A translation, and every attention weight of one pass of the model through it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from regard import config
from regard.data.tokenizer import END, Tokenizer
from regard.decoding.options import Hypothesis, Search
from regard.errors import UsageError
from regard.tasks.switches import Switchable
from regard.tasks.texts import shown
from regard.tasks.translation.attention import Attention
from regard.tasks.translation.engine import FastEngine, watched_of
from regard.tasks.translation.inputs import TranslationInput
from regard.tasks.translation.reading import Reader, ReadPart, keeps_more
from regard.tasks.translation.results import Options
from regard.view.inside import SHOWN_POSITIONS, Stack, shape_of, states_after
from regard.view.matrices import matrices_of

if TYPE_CHECKING:
    from torch import Tensor
    from typing_extensions import Unpack  # part of typing only from Python 3.11 on

    from regard.decoding.trace import Trace


class Watched(NamedTuple):
    """What is written, and what a search that was watched found, with its steps."""

    best: Hypothesis
    watched: Hypothesis
    trace: Trace


class AttentionRecording(TranslationInput, Switchable):
    """Records what a translation attends to, also with heads switched off."""

    def attention(self, text: str, *, part: int = 0, **options: Unpack[Options]) -> Attention:
        """Translate a text, as `translate` does with these options, and look at every attention weight of one pass of the
        model through that very translation, whatever engine wrote it.

        Of a text that `translate` would split, one part is shown, counted from 0; `parts` of the answer tells how many.
        """
        self = self._into(options).directed(text)
        parts = self._parts(text, options)
        if not 0 <= part < len(parts):
            raise UsageError(f"the text has no part {part}; its parts are 0 to {len(parts) - 1}")
        return self._attention(parts, part, options)

    def attentions(self, text: str, **options: Unpack[Options]) -> Iterator[Attention]:
        """The same of every part of a text, one after the other."""
        self = self._into(options).directed(text)
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

    def look_size(self, text: str, **options: Unpack[Options]) -> int:
        """How many numbers `attentions` shows of a text at most: every head's weights, the positions, and the tokens of all
        hypotheses that the search went through."""
        self = self._into(options).directed(text)
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

    def changed(
        self, off: Mapping[str, Sequence[int]] = {}, temperature: float = 1.0, hard: bool = False
    ) -> AbstractContextManager[None]:
        """`with translator.changed(off={"decoder.0.cross_attention": [1]}):` switches heads off, and on again after.

        `temperature` and `hard` are of every attention in the model. Only what this thread computes is changed.
        """
        from regard.tasks.translation.native import Native

        engine = self.engine.native if isinstance(self.engine, FastEngine) else self.engine
        if not isinstance(engine, Native) and (off or hard or temperature != 1.0):
            raise UsageError("only the native engine in one process can be changed; load without engine and workers")
        return super().changed(off, temperature, hard)

    def _parts(self, text: str, options: Options) -> list[str]:
        if not isinstance(text, str):
            raise UsageError(f"attention looks at one text, not at {shown(text)}")
        self.attention_names()
        parts = [part.text for part in self.split(text, options.get("split", True))]
        if not parts:
            raise UsageError("there is nothing to look at: the text is empty")
        return parts

    def _attention(self, parts: list[str], part: int, options: Options) -> Attention:
        from regard.tasks.translation.search_steps import search_steps

        search, settings = self.search_options(**options)
        prefix = self._prefix(options) if part == 0 else []
        reader = self._reader(options)
        (read,) = reader.read([parts[part]])
        read, (best, watched, trace) = self._settled(read, reader, search, settings, prefix)
        (source_ids,) = self._encoded([read])
        shown = self.tokenizer.showing(read.values)
        written = [*best.tokens, END] if best.finish_reason == "end" else list(best.tokens)
        if not written:
            raise UsageError("there is nothing to look at: max_ratio and max_extra leave no room to write")
        return replace(
            self._look(parts[part], source_ids, written, shown),
            translation=read.written(written, self.tokenizer),
            parts=len(parts),
            steps=search_steps(trace, shown),
            search={**vars(search)},
            beside=None if watched.tokens == best.tokens else read.written(watched.tokens, self.tokenizer),
        )

    def _settled(
        self, read: ReadPart, reader: Reader, search: Search, settings: config.Decoding, prefix: list[int]
    ) -> tuple[ReadPart, Watched]:
        """How a part is read in the end, as `translate` has it, and what is written."""
        from regard.decoding.trace import Trace

        if read.copied and not prefix:
            copied = reader.copy(read)
            return read, Watched(copied, copied, Trace(search.width))
        held = self._watched(read, search, settings, prefix)
        if not read.lost_in(held.best, self.tokenizer):
            return read, held
        held = self._watched(read, replace(search, nbest=search.width), settings, prefix)
        plain = reader.plain(read)
        bare = self._watched(plain, search, settings, prefix)
        if keeps_more(read, held.best, plain, bare.best, self.tokenizer):
            return plain, bare
        return read, held

    def _watched(self, read: ReadPart, search: Search, settings: config.Decoding, prefix: list[int]) -> Watched:
        """What the engine writes, and a search that was watched, with what it found.

        They are one search, unless another program decodes: it cannot be watched, and ours is made beside it.
        """
        from regard.decoding.trace import Trace
        from regard.tasks.translation.native import Native

        native, trace = watched_of(self.engine, search), Trace(search.width)
        encoded = self._encoded([read])
        best = None if native else self.engine.decode(encoded, search, settings, [prefix])[0]
        watched = (native or Native(self.model)).decode(encoded, search, settings, [prefix], trace)[0]
        written, seen = (read.ranked(each, self.tokenizer)[0] for each in (best or watched, watched))
        return Watched(written, seen, trace)

    def _look(self, text: str, source_ids: list[int], written: list[int], shown: Tokenizer) -> Attention:
        """What the model attends to when it writes a known target, as a tokenizer shows it."""
        import torch

        from regard.attention.record import record
        from regard.tasks.alternatives import alternatives, told_by_lens

        with record(self.model) as seen:  # one position for each token that was written
            logits = self._logits(source_ids, written[:-1])
        names = self.attention_names()
        positions = self.model.position_table(max(SHOWN_POSITIONS, len(source_ids) + 1, len(written)))
        stacks = stacks_of(self.recipe.model)
        with torch.inference_mode():
            layers = [
                self.model.project(self.model.get_submodule("decoder_norm")(states))
                for stack in stacks[1:]
                for states in states_after(seen, stack)
            ]
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
            stacks=stacks,
            alternatives=alternatives(logits, written, shown),
            lens=[told_by_lens(each, written, shown) for each in layers],
            matrices=partial(matrices_of, self.model, stacks),
            positions=None if positions is None else positions.detach().cpu().numpy(),
            tags=len(self.tags),
            record=seen,
        )

    def _logits(self, source_ids: list[int], target_ids: list[int]) -> Tensor:
        """Logits [T, V] of every position of a known target; the last is the end's."""
        import torch

        from regard.tasks.translation.native import known_pairs

        self._check_length(source_ids, "source")
        with torch.inference_mode():
            states = self.model(*known_pairs(self.model, [source_ids], [target_ids]))
            logits: Tensor = self.model.project(states)[0]
        return logits


def stacks_of(settings: config.Model) -> list[Stack]:
    """The layers of a Transformer that can be walked through; a plug-in's may compute anything."""
    if type(settings) is not config.Transformer:
        return []
    return [
        Stack("encoder", "source", "source_embedding", "encoder", settings.encoder_layers, "memory"),
        Stack("decoder", "target", "target_embedding", "decoder", settings.decoder_layers, "next", cross=True),
    ]
