"""A cache of what was read (Grave et al. 2017): what came after a state like this one comes again.

It learns nothing. Two numbers say how it is used, and both are chosen on the validation text: theta, how much more a state counts that
points the same way, and lambda, how much of the probability the cache has; the model has the rest. Where the model has a pointer,
that is part of the model: it points within the window, and the cache stands behind both and looks further back.

C places at a time · N tokens remembered · D width · V vocabulary
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from regard.data.tokenizer import UNKNOWN
from regard.models.pointer import LEAST, PointerOutput
from regard.tasks.language_model.evaluation import (
    BATCH_TOKENS,
    Perplexity,
    WindowStates,
    context_window,
    window_states,
    windows_of_text,
)
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.language_model.training import next_log_probabilities

CHUNK = 256  # places looked up together
MOST = 100_000
THETAS = (0.0, *(2.0**power for power in range(10)))  # times a cosine; 0: all that is remembered counts alike
LAMBDAS = tuple(number / 100 for number in range(51))  # 0: the model alone


class Cache(NamedTuple):
    """How many tokens are remembered, and how they are used."""

    tokens: int
    theta: float
    share: float
    """Lambda, a word that Python keeps for itself."""

    def __str__(self) -> str:
        chosen = f"theta {self.theta:g} and lambda {self.share:g} chosen on the validation text"
        return f"the last {self.tokens:,} tokens, {chosen}"


class Remembered(NamedTuple):
    """What each of some places may find in the cache: of what stands before it in its document, the last N tokens."""

    cosines: Tensor  # [C, N + C]: how alike the states are; -inf: not to be seen
    tokens: Tensor  #  [N + C]: which came next there

    def point(self, theta: float, share: float = 1.0) -> PointerOutput:
        """As a pointer: where nothing is remembered yet, the vocabulary decides alone."""
        none = self.cosines.isinf().all(-1)  # [C]
        scores = (theta * self.cosines.clamp(min=-1)).masked_fill(self.cosines.isinf(), float("-inf"))
        weights = scores.softmax(-1).masked_fill(none[:, None], 0.0) * share
        return PointerOutput(self.tokens.expand_as(weights), weights, 1 - share * (~none).to(weights))


def remember(read: Iterable[WindowStates], size: int) -> Iterator[tuple[WindowStates, Remembered]]:
    """A few places at a time, in order, and what each may find: in memory that does not grow with the text."""
    keys = tokens = documents = torch.empty(0)
    for states in (part for each in read for part in each.in_parts(CHUNK)):
        own = torch.nn.functional.normalize(states.states, dim=-1)  # [C, D]
        if not len(keys):
            keys, tokens, documents = own[:0], states.wanted[:0], states.documents[:0]
        before, count = len(keys), len(own)
        keys, tokens = torch.cat([keys, own]), torch.cat([tokens, states.wanted])
        documents = torch.cat([documents, states.documents])
        age = before + torch.arange(count, device=own.device)[:, None] - torch.arange(len(keys), device=own.device)
        seen = (age > 0) & (age <= size) & (documents == states.documents[:, None])  # [C, N + C]
        yield states, Remembered((own @ keys.t()).masked_fill(~seen, float("-inf")), tokens)
        keys, tokens, documents = keys[-size:], tokens[-size:], documents[-size:]


class Place(NamedTuple):
    """Some places of a text: what the model says of the tokens that stand there [C], and what the cache may find."""

    own: Tensor
    wanted: Tensor
    remembered: Remembered


def places(
    writer: TextGenerator, lines: Iterable[str], stride: int | None, size: int, tell: Callable[[int], None]
) -> Iterator[Place]:
    """All of a text, in order; `tell` hears how many tokens were predicted, as it goes."""
    model, data = writer.model, writer.recipe.data
    context = context_window(model, data, stride)
    windows = windows_of_text(lines, writer.tokenizer, data, context)
    with torch.inference_mode():
        read = window_states(model, windows, max(BATCH_TOKENS, context.window))
        for (states, pointed, wanted, _), remembered in remember(read, size):
            yield Place(next_log_probabilities(model, states, pointed, wanted), wanted, remembered)
            tell(len(wanted))


def measure_with(
    cache: Cache, writer: TextGenerator, lines: Iterable[str], stride: int | None, tell: Callable[[int], None]
) -> tuple[Perplexity, Perplexity]:
    """A text without the cache and with it."""
    found = Perplexity(context=str(context_window(writer.model, writer.recipe.data, stride)))
    together = 0.0
    for own, wanted, remembered in places(writer, map(found.count, lines), stride, cache.tokens, tell):
        found.log_probability += own.sum().item()
        found.tokens += len(wanted)
        found.unknown += int((wanted == UNKNOWN).sum())
        together += remembered.point(cache.theta, cache.share).log_probability(own, wanted).sum().item()
    return found, replace(found, log_probability=together, cache=str(cache))


def choose(
    size: int, writer: TextGenerator, lines: Iterable[str], stride: int | None, tell: Callable[[int], None]
) -> Cache:
    """Of so many tokens, with the theta and lambda that predict a text best."""
    shares = torch.tensor(LAMBDAS, dtype=torch.double)[:, None]  # [L, 1]
    gained = torch.zeros(len(THETAS), len(LAMBDAS), dtype=torch.double)
    for own, wanted, remembered in places(writer, lines, stride, size, tell):
        alone = own.double().cpu()  # [C]
        for row, theta in enumerate(THETAS):
            pointed = remembered.point(theta)
            again = (shares * pointed.probability(wanted).double().cpu()).clamp(min=LEAST).log()  # [L, C]
            both = torch.logaddexp((1 - shares).log() + alone, again)
            gained[row] += torch.where((pointed.gate == 0).cpu(), both - alone, 0.0).sum(-1)  # elsewhere, it is empty
    theta, share = divmod(int(gained.argmax()), len(LAMBDAS))
    return Cache(size, THETAS[theta], LAMBDAS[share])
