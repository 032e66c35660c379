"""The door between every generating model and the one search: two methods, and a state that only the model understands.

S sentences · W hypotheses per sentence · N = S × W rows, sentence by sentence · V vocabulary
"""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor


class State(Protocol):
    """What differs between models: a key/value cache, a hidden vector, a convolution window."""

    def select(self, rows: Tensor) -> State:
        """The state in which line s of `rows` [S, W] names the W present rows that sentence s goes on from.

        Present rows are numbered 0 … N - 1. All rows of one line belong to the same sentence, a row may appear several
        times, and sentences that are over are left out: what is kept once per sentence follows the lines of `rows`.
        The search does not come back to the present state.
        """
        ...


class Steppable(Protocol):
    """A model that can write one token after another."""

    def start(self, source: Any) -> State:
        """Read the source once; the state has one row per sentence."""
        ...

    def step(self, last: Tensor, state: Any) -> tuple[Tensor, State]:
        """Last token ids [N] → logits [N, V] of the next, and the state after."""
        ...
