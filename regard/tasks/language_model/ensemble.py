"""Several language models as one TextGenerator.

F tokens predicted · V vocabulary
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import tee
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.data.tokenizer import UNKNOWN, Side
from regard.models.ensemble import Ensemble, log_mean
from regard.models.layers import Table
from regard.tasks import vectors
from regard.tasks.ensembles import ModelName, none_in_common, require_alike
from regard.tasks.language_model.evaluation import Perplexity, context_window
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.language_model.page import TextAttention
from regard.tasks.language_model.results import Options
from regard.tasks.task import Trained

if TYPE_CHECKING:
    from typing_extensions import Unpack  # part of typing only from Python 3.11 on

Expectation = tuple[Tensor, Tensor]  # log-probabilities [F, V], and what stands there [F]


class GeneratorEnsemble(TextGenerator):
    """Writes and scores by the mean of what its members expect; each looks back as far as it was trained to."""

    def __init__(self, members: Sequence[TextGenerator]) -> None:
        first = members[0]
        super().__init__(first.model, first.tokenizer, first.recipe)
        self.members = members
        self.context = min(each.context for each in members)

    def steppable(self) -> Ensemble:
        return Ensemble([each.steppable() for each in self.members])

    def cuts(self, length: int) -> bool:
        return any(each.cuts(length) for each in self.members)

    def cost(self, prompts: Sequence[str], **options: Unpack[Options]) -> list[int]:
        """Of each prompt, how many tokens all members together compute at most."""
        return [sum(each) for each in zip(*(member.cost(prompts, **options) for member in self.members), strict=True)]

    def expectations(
        self, texts: Sequence[Iterable[str]], counts: list[int], stride: int | None = None
    ) -> Iterator[Expectation]:
        copies = [tee(lines, len(self.members)) for lines in texts]  # read once, and held until all have read it
        own = [counts, *([0] * len(counts) for _ in self.members[1:])]
        streams = [
            member.expectations([each[number] for each in copies], own[number], stride)
            for number, member in enumerate(self.members)
        ]
        for expected, wanted in side_by_side(streams):
            yield log_mean(expected), wanted

    def measure(
        self, lines: Iterable[str], stride: int | None = None, tell: Callable[[int], None] = lambda tokens: None
    ) -> Perplexity:
        contexts = {str(context_window(each.model, each.recipe.data, stride)) for each in self.members}
        found = Perplexity(context="; ".join(sorted(contexts)))
        with torch.inference_mode():
            for expected, wanted in self.expectations([map(found.count, lines)], [0], stride):
                found.log_probability += expected.gather(-1, wanted[:, None]).sum().item()
                found.tokens += len(wanted)
                found.unknown += int((wanted == UNKNOWN).sum())
                tell(len(wanted))
        return found

    def look(self, text: str) -> TextAttention:
        raise none_in_common("attention")

    def _states(self, windows: Sequence[vectors.Window]) -> Tensor:
        raise none_in_common("vectors")

    def _table(self, side: Side) -> Table:
        raise none_in_common("embedding")

    def facts(self) -> dict[str, str]:
        """Of all together."""
        return {"models": f"{len(self.members)}", **super().facts()}


def side_by_side(streams: Sequence[Iterator[Expectation]]) -> Iterator[tuple[list[Tensor], Tensor]]:
    """The same places of every stream together, however many each gives at a time."""
    held = [next(stream, None) for stream in streams]
    while all(each is not None for each in held):
        given = [each for each in held if each is not None]
        count = min(len(wanted) for _, wanted in given)
        yield [expected[:count] for expected, _ in given], given[0][1][:count]
        held = [
            (expected[count:], wanted[count:]) if len(wanted) > count else next(stream, None)
            for (expected, wanted), stream in zip(given, streams, strict=True)
        ]


def ensemble(members: Sequence[Trained], names: Sequence[ModelName]) -> GeneratorEnsemble:
    """A TextGenerator that expects what all of them together do."""
    remedy = "Train them on the same prepared text (the same [data] and [tokenizer]; another training.seed or [model] is fine)"
    require_alike(names, [each.assets.tokenizer.to_dict() for each in members], "the tokenizer", remedy)
    require_alike(names, [each.recipe.data.documents for each in members], "data.documents", remedy)
    generators = [TextGenerator(each.model, each.assets.tokenizer, each.recipe, each.provenance) for each in members]
    together = GeneratorEnsemble(generators)
    together.origin = names[0]
    return together
