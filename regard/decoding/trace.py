"""What a search did, step by step: which candidates it kept, and which finished. Of one sentence, for looking at."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from regard.decoding.candidates import NEVER, Candidates


@dataclass(frozen=True)
class Candidate:
    """One token put behind one of the hypotheses of the step before."""

    parent: int
    """Which of the step before's `kept`; of the first step 0, the empty hypothesis."""
    token: int
    log_probability: float
    """Of this token."""
    total: float
    """Of the whole hypothesis."""
    score: float
    """The total after the length penalty, as if the hypothesis ended here."""


@dataclass(frozen=True)
class Step:
    """The candidates for one position that survived."""

    kept: list[Candidate]
    """The hypotheses of the next step; in a beam, best first."""
    finished: list[Candidate]
    """Those that ended here, with the end or at the length limit."""


class Trace:
    """Given to `search` of one sentence as `on_step`, it remembers the steps. `width` hypotheses go on side by side."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.steps: list[Step] = []
        self._alive = [0]  # which of the search's hypotheses the last step's `kept` are

    def __call__(self, found: Candidates, totals: Tensor, stops: Tensor, finishes: Tensor, penalty: float) -> None:
        goes_on = totals.masked_fill(stops, NEVER)  # [1, C]
        active = list(range(goes_on.size(1)))
        if len(active) > self.width:  # just as the search chooses, so that equals come in the same order
            active = goes_on.topk(self.width).indices[0].tolist()
        columns = (found.parent, found.token, found.log_probability, totals)  # [1, C] each
        rows = list(zip(*(each[0].tolist() for each in columns), strict=True))

        def candidate(row: int) -> Candidate:
            parent, token, log_probability, total = rows[row]
            return Candidate(self._alive.index(parent), token, log_probability, total, total / penalty)

        finished = [candidate(row) for row in finishes[0].nonzero().flatten().tolist()]
        alive = [number for number, row in enumerate(active) if goes_on[0, row] > NEVER]
        self.steps.append(Step([candidate(active[number]) for number in alive], finished))
        self._alive = alive
