"""Classifier-free guidance (Ho and Salimans 2022): what the caption changes, exaggerated.

The model writes once with the caption and once without; the difference of the two, times the guidance, is added to what it
says without. 1 is the model as it is, 0 ignores the caption.

S pictures · N rows · C codes
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import pad

from regard.models.autoregressive import DecoderState
from regard.models.text_to_image import TextToImage

SPECIAL = 3  # ids beyond the codes that the search asks for, though no picture holds them: start, end and padding


@dataclass(frozen=True)
class GuidedState:
    """Of the same rows, with and without their captions."""

    told: DecoderState
    untold: DecoderState | None

    def select(self, rows: Tensor) -> GuidedState:
        return GuidedState(self.told.select(rows), self.untold and self.untold.select(rows))


class Guided:
    """A painter as the one search drives it: what it can write are codes, as many as the picture has."""

    def __init__(self, model: TextToImage, without: Tensor, guidance: float) -> None:
        """`without` [K] is the caption that says nothing."""
        self.model, self.without, self.guidance = model, without, guidance

    def start(self, source: Tensor) -> GuidedState:
        """Captions [S, K]."""
        told = self.model.start(source)
        if self.guidance == 1:
            return GuidedState(told, None)
        return GuidedState(told, self.model.start(self.without.expand_as(source)))

    def step(self, last: Tensor, state: GuidedState) -> tuple[Tensor, GuidedState]:
        """The last code [N] → logits of the next [N, C + 3], and the state after; the first is no code yet, but what ends
        every caption's row."""
        first = state.told.length < self.model.caption_positions
        logits, told = self.model.step(torch.zeros_like(last) if first else last, state.told)  # PAD ends the row
        untold = state.untold
        if untold is not None:
            without, untold = self.model.step(torch.zeros_like(last) if first else last, untold)
            logits = without.lerp(logits, self.guidance)
        return pad(logits, (0, SPECIAL), value=float("-inf")), GuidedState(told, untold)
