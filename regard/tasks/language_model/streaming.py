"""How a text goes on: a context that is never full, tokens that become text as they are written, strings that end it.

S texts · K positions read before · N rows, one for each text · T positions since the context was last renewed
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from regard.data.tokenizer import END, START, UNKNOWN
from regard.decoding.candidates import NEVER, ActiveHypotheses, Candidates, StoppingCriterion
from regard.models.language_model import LanguageModel

_BYTE = re.compile(r"<0x([0-9A-F]{2})>")
_HARMLESS = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")  # bytes can spell what a terminal would obey


@dataclass(frozen=True)
class ContextState:
    """What was read since the context was last renewed, and the model's state after it."""

    seen: Tensor  # [N, T]
    state: Any

    def select(self, rows: Tensor) -> ContextState:
        return ContextState(self.seen[rows.flatten()], self.state.select(rows))


class SlidingContext:
    """A model whose context never ends: whenever it is full, the last half of it is read anew as its beginning."""

    def __init__(self, model: LanguageModel, context: int) -> None:
        self.model, self.context = model, context

    def start(self, source: Tensor) -> ContextState:
        seen = source if source.size(1) < self.context else self._half(source)  # [S, K]
        return ContextState(seen, self.model.start(seen))

    def step(self, last: Tensor, reading: ContextState) -> tuple[Tensor, ContextState]:
        if reading.seen.size(1) == self.context:
            reading = self.start(reading.seen)
        logits, state = self.model.step(last, reading.state)
        return logits, ContextState(torch.cat([reading.seen, last[:, None]], 1), state)

    def _half(self, seen: Tensor) -> Tensor:
        """Together with the token that is read next, half of the context."""
        return seen[:, seen.size(1) - max(1, self.context // 2) + 1 :]


class StreamedText:
    """One text as it is written. Nobody is told half a character, nor what may become a stop string."""

    def __init__(
        self, token_of: Callable[[int], str], stops: Sequence[str], begins: bool, tell: Callable[[str], None] | None
    ) -> None:
        self._token_of, self._stops, self._tell = token_of, stops, tell
        self._bare = begins  # whether the next word needs no space before it
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._told = 0
        self.text = ""
        self.stopped = False

    def add(self, token: int) -> bool:
        """One more token; whether a stop string is complete, before which the text then ends."""
        before = len(self.text)
        self.text += self._read(token)
        reach = max(map(len, self._stops), default=1) - 1
        found = [self.text.find(stop, max(0, before - reach)) for stop in self._stops]
        if places := [place for place in found if place >= 0]:
            self.text, self.stopped = self.text[: min(places)], True
        self._say(len(self.text) if self.stopped else self._certain())
        return self.stopped

    def close(self) -> None:
        """Nothing more comes: what was kept back is told. A character that is only half there is left out."""
        self._say(len(self.text))

    def _read(self, token: int) -> str:
        if token == END:
            self._bare = True
            self._decoder.reset()
            return "\n"
        if token <= UNKNOWN:
            return ""
        spelled = self._token_of(token)
        if byte := _BYTE.fullmatch(spelled):
            self._bare = False
            return self._decoder.decode(bytes.fromhex(byte[1])).translate(_HARMLESS)
        text = spelled.replace("▁", " ")
        if self._bare:
            text = text.removeprefix(" ")
        self._bare = self._bare and not text
        return self._decoder.decode(text.encode()).translate(_HARMLESS)

    def _certain(self) -> int:
        """How much of the text no stop string can take back."""
        return min(
            (
                place
                for stop in self._stops
                for place in range(max(0, len(self.text) - len(stop) + 1), len(self.text))
                if stop.startswith(self.text[place:])
            ),
            default=len(self.text),
        )

    def _say(self, end: int) -> None:
        if self._tell is not None and end > self._told:
            self._tell(self.text[self._told : end])
        self._told = max(self._told, end)


def stop_strings(texts: Sequence[StreamedText], ends: int) -> StoppingCriterion:
    """Gives the tokens of each step to their texts; those with a stop string finish. `ends` closes a text unwritten."""

    def finishes(found: Candidates, active: ActiveHypotheses) -> Tensor:
        tokens, numbers = found.token[:, 0].tolist(), active.sentences.tolist()  # one hypothesis for each text
        possible = (found.log_probability[:, 0] > NEVER).tolist()  # else nothing is left that may be written
        stopped = [
            can and token != ends and texts[number].add(token)
            for can, token, number in zip(possible, tokens, numbers, strict=True)
        ]
        return torch.tensor(stopped, device=found.token.device).unsqueeze(1)

    return finishes


def start_token(whole: bool) -> int:
    """What stands before a text: a stream begins as if a line had ended, a document with START."""
    return END if whole else START
