"""Which outputs no rounding decides: those that stay when every logit is shaken by far more than rounding changes it.

Whoever compares two engines in single precision compares these. At other sentences two tokens, or two hypotheses, are
so nearly equal that either engine may choose either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard import config
from regard.decoding.options import Search
from regard.tasks.translation.native import decode

SHAKE = 1e-4  # rounding in single precision changes logits by some 1e-6, and by 1e-5 where many numbers are added
DRAWS = 5


class Shaken:
    """A steppable model, a little wrong everywhere, and in each row in its own way."""

    def __init__(self, model: Any) -> None:
        self.device, self.max_positions = model.device, model.max_positions
        self.start, self._step = model.start, model.step
        self._generator = torch.Generator().manual_seed(1)

    def step(self, last: Tensor, state: Any) -> tuple[Tensor, Any]:
        logits, state = self._step(last, state)
        return logits + SHAKE * (2 * torch.rand(logits.shape, generator=self._generator) - 1), state


def steady(
    model: Any,
    sources: Sequence[Sequence[int]],
    search: Search,
    settings: config.Decoding,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[int]:
    """The places of the sentences whose outputs no rounding decides; more than half, or a comparison would say little."""
    shaken: Any = Shaken(model)
    prefixes = prefixes or [()] * len(sources)
    found = decode(shaken, [*sources] * DRAWS, search, settings, [*prefixes] * DRAWS)
    written = [[each.tokens for each in hypotheses] for hypotheses in found]
    places = range(len(sources))
    sure = [place for place in places if all(each == written[place] for each in written[place :: len(sources)])]
    assert 2 * len(sure) > len(sources), "hardly any output is steady"
    return sure
