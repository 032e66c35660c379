"""The one entry to decoding: anything steppable in, the n best hypotheses of each sentence out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.decoding.beam import likeliest
from regard.decoding.constraints import Constraints
from regard.decoding.greedy import most_probable
from regard.decoding.options import Hypothesis, Search, SpecialTokens
from regard.decoding.sample import at_random
from regard.decoding.search_loop import StepCallback, StoppingCriterion, search_loop
from regard.decoding.steppable import Steppable
from regard.errors import UsageError


def search(
    model: Steppable,
    source: Any,
    limits: Tensor,
    options: Search,
    special: SpecialTokens,
    prefixes: Sequence[Sequence[int]] | None = None,
    seeds: Sequence[int] | None = None,
    on_step: StepCallback | None = None,
    first_tokens: Tensor | None = None,
    stopping_criterion: StoppingCriterion | None = None,
) -> list[list[Hypothesis]]:
    """The n best outputs of each of the S sentences in `source`, best first; at least one, and fewer if no more exist.

    `limits` [S], on the model's device, is the greatest number of steps of each sentence, of which the end token is one;
    what has not ended by then finishes with the reason `length`. `prefixes` are forced, and their log-probabilities
    count. `seeds` are the sentences' own, and make samples independent of the batch; else a sentence's place is its seed.
    `on_step` is called after every step; see trace.py. `first_tokens` [S] stand where the start token would: of a text that
    goes on, its last token, if `source` is all before it. `stopping_criterion` finishes what it likes, with the reason
    `length`.
    """
    count = limits.numel()
    prefixes = [()] * count if prefixes is None else prefixes
    seeds = range(count) if seeds is None else seeds
    _check(limits.tolist(), special, prefixes, seeds)
    if not count:
        return []
    with torch.inference_mode():
        constraints = Constraints(special, options.no_repeat_ngram, prefixes, limits.device)
        if options.sample:
            choose = at_random(options, limits, seeds)
        else:
            choose = most_probable if options.beam == 1 else likeliest(options.beam)
        return search_loop(
            model,
            source,
            limits,
            options,
            constraints,
            options.width,
            choose,
            on_step,
            first_tokens,
            stopping_criterion,
        )


def _check(limits: list[int], special: SpecialTokens, prefixes: Sequence[Sequence[int]], seeds: Sequence[int]) -> None:
    for name, given in (("prefixes", prefixes), ("seeds", seeds)):
        if len(given) != len(limits):
            raise UsageError(f"{len(given)} {name} were given for {len(limits)} sentences; give one for each")
    for number, (limit, prefix, seed) in enumerate(zip(limits, prefixes, seeds, strict=True)):
        if limit < 0:
            raise UsageError(f"the limit of sentence {number} is {limit}; it cannot be below 0")
        if len(prefix) > limit:
            raise UsageError(
                f"the prefix of sentence {number} has {len(prefix)} tokens, more than the {limit} it may have:"
                " shorten the prefix or raise the limit"
            )
        if unwanted := {*special.suppressed, special.end}.intersection(prefix):
            raise UsageError(f"the prefix of sentence {number} holds {min(unwanted)}, which is not a token of text")
        if seed < 0:
            raise UsageError(f"the seed of sentence {number} is {seed}; it cannot be below 0")
