"""Sampling draws what the probabilities say, and the same for the same seeds."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from regard.decoding import candidates
from regard.decoding.options import Search
from regard.decoding.search import search
from regard.errors import UsageError
from tests.decoding.stand_in import PAD, SPECIAL, START, StandIn

SAMPLE = Search(sample=True)
SOURCES = torch.arange(20)
LIMITS = torch.full((20,), 15)


def frequencies(model: StandIn, options: Search, sentences: int = 100, samples: int = 40) -> torch.Tensor:
    """How often each first token is drawn for one and the same source."""
    drawn = torch.zeros(model.table.size(1))
    same, limits = torch.zeros(sentences, dtype=torch.long), torch.ones(sentences, dtype=torch.long)
    for each in search(model, same, limits, replace(options, nbest=samples), SPECIAL):
        for one in each:
            drawn[one.tokens[0] if one.tokens else SPECIAL.end] += 1
    return drawn / (sentences * samples)


def probabilities(model: StandIn, temperature: float = 1.0) -> torch.Tensor:
    logits, _ = model.step(torch.tensor([START]), model.start(torch.tensor([0])))
    logits[0, [PAD, START]] = float("-inf")
    return (logits[0] / temperature).softmax(-1)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_match_probabilities(temperature: float) -> None:
    model = StandIn(vocabulary=9, sharpness=1.0)
    expected = probabilities(model, temperature)
    error = (frequencies(model, replace(SAMPLE, temperature=temperature)) - expected).abs()
    assert (error <= 5 * (expected * (1 - expected) / 4_000).sqrt()).all()  # five standard deviations


@pytest.mark.parametrize(("top_k", "top_p"), [(3, 1.0), (0, 0.6), (4, 0.7)])
def test_filters_keep_the_most_probable_and_their_proportions(top_k: int, top_p: float) -> None:
    model = StandIn(vocabulary=12, sharpness=1.0)
    order = sorted(enumerate(probabilities(model).tolist()), key=lambda each: -each[1])
    order = order[: top_k or None]
    mass, kept = 0.0, {}
    for token, probability in order:
        if mass / sum(each for _, each in order) >= top_p:
            break
        mass, kept[token] = mass + probability, probability
    assert 1 < len(kept) < 10
    drawn = frequencies(model, replace(SAMPLE, top_k=top_k, top_p=top_p))
    assert set(drawn.nonzero().flatten().tolist()) == set(kept)
    for token, probability in kept.items():
        assert drawn[token] == pytest.approx(probability / mass, abs=0.05)


@pytest.mark.parametrize(
    "options",
    [
        Search(sample=True, top_k=1),
        Search(sample=True, top_p=1e-6),
        Search(sample=True, top_p=1e-50),
        Search(sample=True, temperature=1e-4),
        Search(sample=True, temperature=1e-42),
        Search(sample=True, temperature=1e-300, top_p=0.9),
    ],
)
def test_sampling_at_the_edge_is_greedy(options: Search) -> None:
    model = StandIn()
    assert search(model, SOURCES, LIMITS, options, SPECIAL) == search(model, SOURCES, LIMITS, Search(beam=1), SPECIAL)


def test_infinite_heat_draws_all_that_is_allowed_alike() -> None:
    drawn = frequencies(StandIn(vocabulary=9), replace(SAMPLE, temperature=1e300))
    assert drawn[[PAD, START]].sum() == 0
    assert drawn[2:].tolist() == pytest.approx([1 / 7] * 7, abs=0.03)


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_numbers_that_are_none_are_an_error_and_no_garbage(wrong: float) -> None:
    model = StandIn()
    model.table[:, 4] = wrong
    with pytest.raises(UsageError, match="its numbers are not numbers"):
        search(model, SOURCES, LIMITS, SAMPLE, SPECIAL)


def test_seeds_decide() -> None:
    model = StandIn(end=-2.0, sharpness=1.0)
    same = torch.zeros_like(SOURCES)

    def tokens(seed: int, seeds: list[int]) -> list[tuple[int, ...]]:
        found = search(model, same, LIMITS, replace(SAMPLE, seed=seed), SPECIAL, seeds=seeds)
        return [each[0].tokens for each in found]

    numbers = list(range(20))
    first = tokens(0, numbers)
    assert first == tokens(0, numbers)
    assert first[::-1] == tokens(0, numbers[::-1])
    assert len(set(first)) > 10  # different sentences draw differently
    assert len(set(tokens(0, [7] * 20))) == 1
    assert first != tokens(1, numbers)


def test_a_longer_limit_and_more_samples_do_not_change_the_draws() -> None:
    model = StandIn(end=-2.0, sharpness=1.0)
    short = search(model, SOURCES, LIMITS, replace(SAMPLE, nbest=2), SPECIAL)
    long = search(model, SOURCES, LIMITS + 9, replace(SAMPLE, nbest=5), SPECIAL)
    for few, many in zip(short, long, strict=True):
        assert {one.tokens for one in few} <= {one.tokens[:15] for one in many}


def test_samples_of_one_sentence_are_independent() -> None:
    model = StandIn(end=-3.0, sharpness=0.5)
    found = search(model, SOURCES, LIMITS, replace(SAMPLE, nbest=4), SPECIAL)
    assert all(len({one.tokens for one in each}) > 1 for each in found)


@pytest.mark.parametrize("extreme", [0.0, 1 - 2**-24])
@pytest.mark.parametrize("options", [SAMPLE, replace(SAMPLE, top_k=6), replace(SAMPLE, top_p=0.9)])
def test_no_draw_reaches_what_is_forbidden(monkeypatch: pytest.MonkeyPatch, extreme: float, options: Search) -> None:
    """The first and the last number that can be drawn."""
    monkeypatch.setattr(candidates, "_uniform", lambda options, limits, seeds: torch.full((20, 1, 15), extreme))
    for (one,) in search(StandIn(vocabulary=8), SOURCES, LIMITS, options, SPECIAL):
        assert not {PAD, START}.intersection(one.tokens)


@pytest.mark.parametrize("seed", range(3))
def test_numbers_are_below_one_and_differ(seed: int) -> None:
    numbers = candidates._uniform(Search(sample=True, nbest=3, seed=seed), LIMITS, range(20))
    assert numbers.shape == (20, 3, 15)
    assert 0 <= float(numbers.min()) < 0.05
    assert 0.95 < float(numbers.max()) < 1
    assert len(set(numbers.flatten().tolist())) == numbers.numel()
