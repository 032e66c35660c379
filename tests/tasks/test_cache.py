"""A cache of what was read: as its definition has it, of the past only, and the same by every way to it."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from regard.data.tokenizer import Tokenizer
from regard.tasks.language_model import cache as caching
from regard.tasks.language_model.cache import LAMBDAS, THETAS, Cache, choose, measure_with, places
from regard.tasks.language_model.evaluation import context_window, window_states, windows_of_text
from regard.tasks.language_model.generator import TextGenerator
from tests.conftest import made_up_sentences
from tests.tasks.writers import ARCHITECTURES, KOREAN, mixed_tokenizer, recipe_of, untaught

LINES = [*made_up_sentences(3, 8), "", *KOREAN, *made_up_sentences(3, 4)]
EVERY = pytest.mark.parametrize("architecture", ARCHITECTURES)
DOCUMENTS = pytest.mark.parametrize("documents", ["stream", "lines"])
SIZE, THETA, SHARE = 20, 3.0, 0.3


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return mixed_tokenizer()


def nobody(tokens: int) -> None:
    pass


def expected(writer: TextGenerator, lines: list[str] = LINES, size: int = SIZE) -> Tensor:
    """Log-probabilities with the cache, token by token."""
    found = [
        remembered.point(THETA, SHARE).log_probability(own, wanted)
        for own, wanted, remembered in places(writer, lines, None, size, nobody)
    ]
    return torch.cat(found)


def by_definition(writer: TextGenerator, lines: list[str]) -> list[float]:
    """Of one document, one token at a time: a cached token counts e to the power of theta times the cosine of both states."""
    data = writer.recipe.data
    windows = windows_of_text(lines, writer.tokenizer, data, context_window(writer.model, data))
    past: list[tuple[Tensor, int]] = []
    found = []
    with torch.inference_mode():
        for read in window_states(writer.model, windows, 1):
            logits = writer.model.project(read.states, read.pointed).log_softmax(-1)
            for state, own, wanted in zip(read.states, logits, read.wanted.tolist(), strict=True):
                seen = past[-SIZE:]
                each = [math.exp(THETA * torch.cosine_similarity(state, key, dim=0).item()) for key, _ in seen]
                again = sum(weight for weight, (_, token) in zip(each, seen, strict=True) if token == wanted)
                alone = own[wanted].exp().item()
                found.append(math.log((1 - SHARE) * alone + SHARE * again / sum(each) if seen else alone))
                past.append((state, wanted))
    return found


@EVERY
def test_it_is_what_the_definition_says(tokenizer: Tokenizer, architecture: str) -> None:
    """Beside a pointer, too, which is part of the model."""
    writer = untaught(tokenizer, recipe_of(architecture))
    assert expected(writer).tolist() == pytest.approx(by_definition(writer, LINES), abs=1e-9)


@EVERY
@DOCUMENTS
def test_probabilities_sum_to_one(tokenizer: Tokenizer, architecture: str, documents: str) -> None:
    writer = untaught(tokenizer, recipe_of(architecture, documents))
    size = tokenizer.size("source")
    for own, wanted, remembered in places(writer, LINES, None, SIZE, nobody):
        alone = torch.full((len(own), size), 1 / size, dtype=own.dtype).log()
        alone = alone.scatter(1, wanted[:, None], own[:, None]).log_softmax(-1)
        pointed = remembered.point(THETA, SHARE)
        both = pointed.mix(alone)
        torch.testing.assert_close(both.exp().sum(-1), torch.ones_like(own))
        own = alone.gather(1, wanted[:, None]).squeeze(1)
        torch.testing.assert_close(pointed.log_probability(own, wanted), both.gather(1, wanted[:, None]).squeeze(1))


@EVERY
def test_the_future_cannot_change_the_past(tokenizer: Tokenizer, architecture: str) -> None:
    writer = untaught(tokenizer, recipe_of(architecture))
    whole = expected(writer)
    for count in (1, 4, len(LINES) - 1):
        other = expected(writer, [*LINES[:count], "something else follows here"])
        same = sum(len(tokenizer.encode(line)) + 1 for line in LINES[:count])
        torch.testing.assert_close(other[:same], whole[:same], atol=1e-9, rtol=1e-9)


@EVERY
@DOCUMENTS
@pytest.mark.parametrize(("tokens", "chunk"), [(1, 256), (40, 3), (10_000, 1)])
def test_batches_change_nothing(
    tokenizer: Tokenizer, architecture: str, documents: str, tokens: int, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = untaught(tokenizer, recipe_of(architecture, documents))
    whole = expected(writer)
    monkeypatch.setattr(caching, "BATCH_TOKENS", tokens)
    monkeypatch.setattr(caching, "CHUNK", chunk)
    torch.testing.assert_close(expected(writer), whole, atol=1e-9, rtol=1e-9)


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_it_holds_so_many_tokens_and_no_more(tokenizer: Tokenizer, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching, "CHUNK", 16)
    writer, before = untaught(tokenizer, recipe_of()), 0
    for own, _, remembered in places(writer, LINES, None, size, nobody):
        assert len(remembered.tokens) == min(before, size) + len(own)
        found = (~remembered.cosines.isinf()).sum(-1).tolist()
        assert found == [min(place, size) for place in range(before, before + len(own))]
        before += len(own)


@EVERY
def test_no_line_looks_beyond_itself_where_lines_are_documents(tokenizer: Tokenizer, architecture: str) -> None:
    writer = untaught(tokenizer, recipe_of(architecture, "lines"))
    alone = torch.cat([expected(writer, [line]) for line in LINES])
    torch.testing.assert_close(expected(writer), alone, atol=1e-9, rtol=1e-9)


@EVERY
@pytest.mark.parametrize("stride", [None, 3])
def test_the_model_alone_is_measured_beside_it(tokenizer: Tokenizer, architecture: str, stride: int | None) -> None:
    writer = untaught(tokenizer, recipe_of(architecture))
    stride = None if architecture == "rnn" else stride
    plain, alone = writer.measure(LINES, stride), measure_with(Cache(SIZE, THETA, 0.0), writer, LINES, stride, nobody)
    for each in alone:
        assert each.log_probability == pytest.approx(plain.log_probability, rel=1e-5)
        assert (each.tokens, each.words, each.context) == (plain.tokens, plain.words, plain.context)
    found, cached = measure_with(Cache(SIZE, THETA, SHARE), writer, LINES, None, nobody)
    assert cached.log_probability == pytest.approx(expected(writer).sum().item())
    assert (
        cached.log_probability > found.log_probability
    )  # an untaught model knows nothing: whatever was read is better
    assert (found.cache, cached.cache) == (
        "",
        "the last 20 tokens, theta 3 and lambda 0.3 chosen on the validation text",
    )


@EVERY
def test_the_best_of_all_is_chosen(tokenizer: Tokenizer, architecture: str) -> None:
    writer = untaught(tokenizer, recipe_of(architecture))
    chosen = choose(SIZE, writer, LINES, None, nobody)

    def gained(theta: float, share: float) -> float:
        return measure_with(Cache(SIZE, theta, share), writer, LINES, None, nobody)[1].log_probability

    best = gained(chosen.theta, chosen.share)
    for theta, share in [
        *((theta, chosen.share) for theta in THETAS),
        *((chosen.theta, share) for share in LAMBDAS[::5]),
    ]:
        assert gained(theta, share) <= best + 1e-9


def test_where_nothing_helps_the_model_is_left_alone(tokenizer: Tokenizer) -> None:
    assert choose(SIZE, untaught(tokenizer, recipe_of()), [], None, nobody) == Cache(SIZE, THETAS[0], 0.0)
