"""Beam search: the likeliest hypotheses side by side (Wu et al., 2016, section 7; the paper's section 6.1).

S sentences · W paths per sentence · V vocabulary · K = 2 × beam
"""

from __future__ import annotations

from torch import Tensor

from regard.decoding.walk import Candidates, Choose, Paths


def likeliest(beam: int) -> Choose:
    """A chooser of the 2 × beam best: at most one per path can end, so that enough are left to go on."""

    def choose(allowed: Tensor, normaliser: Tensor, paths: Paths) -> Candidates:
        most = min(2 * beam, allowed.size(2))
        logits, tokens = allowed.topk(most)  # [S, W, V] → [S, W, K]
        log_probabilities = logits - normaliser
        totals = (paths.totals.unsqueeze(2) + log_probabilities).flatten(1)  # [S, W × K]
        best = totals.topk(min(2 * beam, totals.size(1))).indices  # [S, K]
        token, log_probability = tokens.flatten(1).gather(1, best), log_probabilities.flatten(1).gather(1, best)
        return Candidates(best // most, token, log_probability)

    return choose
