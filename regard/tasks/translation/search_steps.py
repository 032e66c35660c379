"""What a search did and what it might have written, in the words of a page."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.data.tokenizer import Tokenizer
from regard.decoding.trace import Candidate, Trace
from regard.tasks.translation.attention import Alternatives, SearchPath, SearchStep

SHOWN = 10


def alternatives(logits: Tensor, written: Sequence[int], tokenizer: Tokenizer) -> list[Alternatives]:
    """Of each position [T, V], the ten most probable pieces, and where the one stands that was written [T]."""
    probabilities = logits.float().softmax(-1)  # [T, V]
    best = probabilities.topk(min(SHOWN, logits.size(-1)))  # [T, 10]
    chosen = torch.tensor(list(written), device=logits.device).unsqueeze(1)  # [T, 1]
    probability = probabilities.gather(1, chosen)  # [T, 1]
    ranks = (probabilities > probability).sum(1) + 1  # [T]
    columns = (best.indices, best.values, logits.gather(1, best.indices), probability.squeeze(1), ranks)
    return [
        Alternatives(tokenizer.pieces(ids, "target"), shares, raw, own, rank)
        for ids, shares, raw, own, rank in zip(*(each.tolist() for each in columns), strict=True)
    ]


def search_steps(trace: Trace, tokenizer: Tokenizer) -> list[SearchStep]:
    """The steps of a search with pieces and texts instead of ids."""
    steps: list[SearchStep] = []
    before: list[list[int]] = [[]]
    for step in trace.steps:

        def shown(candidate: Candidate, paths: list[list[int]] = before) -> SearchPath:
            ids = [*paths[candidate.parent], candidate.token]
            (piece,) = tokenizer.pieces([candidate.token], "target")
            return SearchPath(
                candidate.parent, piece, candidate.log_probability, candidate.total, candidate.score,
                tokenizer.line(ids),
            )  # fmt: skip

        steps.append(SearchStep([shown(each) for each in step.kept], [shown(each) for each in step.finished]))
        before = [[*before[each.parent], each.token] for each in step.kept]
    return steps
