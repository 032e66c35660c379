"""What a search did and what it might have written, in the words of a page."""

from __future__ import annotations

from regard.data.tokenizer import Tokenizer
from regard.decoding.trace import Candidate, Trace
from regard.tasks.translation.attention import SearchHypothesis, SearchStep


def search_steps(trace: Trace, tokenizer: Tokenizer) -> list[SearchStep]:
    """The steps of a search with tokens and texts instead of ids."""
    steps: list[SearchStep] = []
    before: list[list[int]] = [[]]
    for step in trace.steps:

        def shown(candidate: Candidate, paths: list[list[int]] = before) -> SearchHypothesis:
            ids = [*paths[candidate.parent], candidate.token]
            (token,) = tokenizer.tokens([candidate.token], "target")
            return SearchHypothesis(
                candidate.parent, token, candidate.log_probability, candidate.total, candidate.score,
                tokenizer.line(ids),
            )  # fmt: skip

        steps.append(SearchStep([shown(each) for each in step.kept], [shown(each) for each in step.finished]))
        before = [[*before[each.parent], each.token] for each in step.kept]
    return steps
