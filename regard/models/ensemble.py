"""Several models that write one text together: what they expect next is the mean of their probabilities.

N rows · V vocabulary · D width, of all members side by side
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.models.encoder_decoder import EncoderDecoder


def log_mean(logits: Sequence[Tensor]) -> Tensor:
    """Each member's logits [.., V] → logarithms of the mean of their probabilities [.., V]; the order changes nothing but rounding."""
    if len(logits) == 1:
        return logits[0]
    return torch.logsumexp(torch.stack([each.log_softmax(-1) for each in logits]), 0) - math.log(len(logits))


@dataclass(frozen=True)
class EnsembleState:
    """What each member remembers of the same rows."""

    members: tuple[Any, ...]

    def select(self, rows: Tensor) -> EnsembleState:
        return EnsembleState(tuple(each.select(rows) for each in self.members))


class Ensemble:
    """Anything that can start and step, as one that can: the search drives it like a single model."""

    def __init__(self, members: Sequence[Any]) -> None:
        self.members = members

    def start(self, source: Any) -> EnsembleState:
        return EnsembleState(tuple(member.start(source) for member in self.members))

    def step(self, last: Tensor, state: EnsembleState) -> tuple[Tensor, EnsembleState]:
        steps = [member.step(last, each) for member, each in zip(self.members, state.members, strict=True)]
        return log_mean([logits for logits, _ in steps]), EnsembleState(tuple(after for _, after in steps))


class EncoderDecoderEnsemble(EncoderDecoder):
    """Translation models that share a vocabulary. Their states lie side by side, and `project` makes one expectation of them."""

    def __init__(self, members: Sequence[EncoderDecoder]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        self.max_positions = min(member.max_positions for member in members)
        self.widths = [member.output.in_features for member in members]

    def each(self) -> list[EncoderDecoder]:
        return cast("list[EncoderDecoder]", list(self.members))  # ModuleList does not tell what it holds

    def forward(self, source: Tensor, target: Tensor, packed: bool = False) -> Tensor:
        return torch.cat([member(source, target, packed) for member in self.each()], -1)

    def start(self, source: Tensor) -> EnsembleState:
        return EnsembleState(tuple(member.start(source) for member in self.each()))

    def advance(self, last: Tensor, state: EnsembleState) -> tuple[Tensor, EnsembleState]:
        steps = [member.advance(last, each) for member, each in zip(self.each(), state.members, strict=True)]
        return torch.cat([states for states, _ in steps], -1), EnsembleState(tuple(after for _, after in steps))

    def project(self, states: Tensor) -> Tensor:
        parts = torch.split(states, self.widths, -1)
        return log_mean([member.project(part) for member, part in zip(self.each(), parts, strict=True)])

    def attention_names(self) -> dict[str, list[str]]:
        """Each member attends by itself; there is no attention of them all."""
        return {}
