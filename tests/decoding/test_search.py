"""The laws of the search, on models without weights."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch

from regard.decoding.candidates import BLOCK, Constraints, largest, likeliest
from regard.decoding.options import Hypothesis, Search
from regard.decoding.search import search, search_loop
from regard.errors import UsageError
from tests.decoding.stand_in import END, PAD, SPECIAL, START, StandIn, steps

GREEDY = Search(beam=1)
BEAM = Search(beam=4, nbest=4)
SAMPLE = Search(sample=True, nbest=3, seed=5)
KINDS = pytest.mark.parametrize("options", [GREEDY, BEAM, SAMPLE], ids=["greedy", "beam", "sample"])
PENALTIES = pytest.mark.parametrize("penalty", ["paper", "mean", "none"])
SOURCES = torch.arange(12)
LIMITS = torch.tensor([9, 3, 12, 0, 1, 7, 12, 5, 2, 12, 6, 10])


def run(model: StandIn, options: Search, **more: object) -> list[list[Hypothesis]]:
    return search(model, SOURCES, LIMITS, options, SPECIAL, **more)  # type: ignore[arg-type]


def close(one: list[Hypothesis], other: list[Hypothesis]) -> bool:
    same = [each.tokens for each in one] == [each.tokens for each in other]
    return same and all(abs(a.score - b.score) < 1e-5 for a, b in zip(one, other, strict=True))


@PENALTIES
@pytest.mark.parametrize("seed", range(5))
def test_a_wide_beam_finds_the_true_optimum(penalty: str, seed: int) -> None:
    model, limit, vocabulary = StandIn(vocabulary=6, seed=seed, end=-1.0), 4, 6
    options = Search(beam=400, nbest=400, length_penalty=penalty, alpha=1.0)
    found = search(model, torch.tensor([seed]), torch.tensor([limit]), options, SPECIAL)[0]
    text = [token for token in range(vocabulary) if token not in (PAD, START, END)]
    every = [(*body, END) for length in range(limit) for body in itertools.product(text, repeat=length)]
    every += itertools.product(text, repeat=limit)
    scores = {each: sum(model.log_probabilities(seed, each)) / options.penalty(len(each)) for each in every}
    assert len(found) == len(every)
    assert {tuple(steps(each)): pytest.approx(each.score, abs=1e-4) for each in found} == scores
    assert tuple(steps(found[0])) == max(scores, key=lambda each: scores[each])


@pytest.mark.parametrize("seed", range(10))
def test_a_beam_of_one_is_greedy(seed: int) -> None:
    model = StandIn(seed=seed)
    constraints = Constraints(SPECIAL, 0, [()] * len(SOURCES), SOURCES.device)
    narrow = search_loop(model, SOURCES, LIMITS, GREEDY, constraints, 1, likeliest(1))
    assert narrow == run(model, GREEDY)
    with torch.inference_mode():  # and it is what anyone would write in three lines
        for source, limit, (hypothesis,) in zip(SOURCES.tolist(), LIMITS.tolist(), narrow, strict=True):
            state, written = model.start(torch.tensor([source])), [START]
            while len(written) <= limit and written[-1] != END:
                logits, state = model.step(torch.tensor(written[-1:]), state)
                logits[:, [PAD, START]] = float("-inf")
                written.append(int(logits.argmax()))
            assert written[1:] == steps(hypothesis)


def plain_beam(model: StandIn, source: int, limit: int, options: Search) -> list[tuple[int, ...]]:
    """The rules of the beam, for one sentence, with lists: slow and easy to believe."""
    live: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
    finished: list[tuple[float, tuple[int, ...]]] = []
    while live and len(finished) < options.beam:
        candidates = []
        for _, written in live:
            for token in range(model.table.size(1)):
                if token not in (PAD, START):
                    further = (*written, token)
                    candidates.append((sum(model.log_probabilities(source, further)), further))
        candidates.sort(reverse=True)
        for total, written in candidates[: options.beam]:
            if written[-1] == END or len(written) == limit:
                finished.append((total / options.penalty(len(written)), written))
        live = [each for each in candidates if each[1][-1] != END and len(each[1]) < limit][: options.beam]
    return [written for _, written in sorted(finished, reverse=True)[: options.nbest]]


@pytest.mark.parametrize("beam", [2, 3, 5])
def test_the_beam_does_what_its_rules_say(beam: int) -> None:
    options = Search(beam=beam, nbest=beam)
    model, sources = StandIn(seed=beam, end=1.5), torch.arange(10)  # ends are frequent, and must not narrow the beam
    for source, each in enumerate(search(model, sources, torch.full_like(sources, 6), options, SPECIAL)):
        assert [tuple(steps(one)) for one in each] == plain_beam(model, source, 6, options)


@PENALTIES
@pytest.mark.parametrize("nbest", [1, 3])
def test_stopping_early_changes_no_answer_and_saves_steps(penalty: str, nbest: int) -> None:
    limits = torch.arange(40) % 8 + 2
    saved = 0
    for seed in range(8):
        model = StandIn(vocabulary=9, seed=seed, sharpness=4.0, end=float(seed % 4))
        options = Search(beam=12, nbest=nbest, length_penalty=penalty)
        early = search(model, torch.arange(40), limits, options, SPECIAL)
        rows_early, model.rows = sum(model.rows), []
        late = search(model, torch.arange(40), limits, replace(options, early_stop=False), SPECIAL)
        assert early == late
        saved += sum(model.rows) - rows_early
    assert saved > 0


@KINDS
def test_the_batch_does_not_matter(options: Search) -> None:
    model, seeds = StandIn(seed=3), [100 + number for number in range(len(SOURCES))]
    together = run(model, options, seeds=seeds)
    order = torch.randperm(len(SOURCES), generator=torch.Generator().manual_seed(1))
    shuffled = search(model, SOURCES[order], LIMITS[order], options, SPECIAL, seeds=[seeds[i] for i in order])
    for place, number in enumerate(order.tolist()):
        here = [number]
        (alone,) = search(model, SOURCES[here], LIMITS[here], options, SPECIAL, seeds=[seeds[number]])
        assert close(together[number], alone)
        assert close(together[number], shuffled[place])


@KINDS
@PENALTIES
def test_scores_are_those_of_the_model(options: Search, penalty: str) -> None:
    model, options = StandIn(seed=1), replace(options, length_penalty=penalty, alpha=0.8)
    for source, each in zip(SOURCES.tolist(), run(model, options), strict=True):
        for hypothesis in each:
            parts = hypothesis.token_log_probabilities
            assert parts == pytest.approx(model.log_probabilities(source, steps(hypothesis)), abs=1e-5)
            assert sum(parts) == pytest.approx(hypothesis.log_probability, abs=1e-5)
            length = max(1, len(parts))
            by = {"paper": ((5 + length) / 6) ** 0.8, "mean": length, "none": 1}[penalty]
            assert hypothesis.score == pytest.approx(hypothesis.log_probability / by, abs=1e-5)


@KINDS
def test_limits_hold_and_results_are_ordered(options: Search) -> None:
    for limit, each in zip(LIMITS.tolist(), run(StandIn(seed=2), options), strict=True):
        assert 1 <= len(each) <= options.nbest
        assert [one.score for one in each] == sorted((one.score for one in each), reverse=True)
        for one in each:
            assert len(steps(one)) <= limit
            assert (one.finish_reason == "end") == (len(one.token_log_probabilities) == len(one.tokens) + 1)
            assert one.finish_reason == "end" or len(one.tokens) == limit
            assert not {PAD, START, END}.intersection(one.tokens)
        if not options.sample:
            assert len({one.tokens for one in each}) == len(each)
        if limit == 0:
            assert each == [Hypothesis((), 0.0, 0.0, (), "length")]


def test_as_many_hypotheses_as_there_are() -> None:
    """With one step and one word there are two outputs: nothing, and the word."""
    model = StandIn(vocabulary=4)
    (found,) = search(model, torch.tensor([0]), torch.tensor([1]), Search(beam=5, nbest=5), SPECIAL)
    assert {(one.tokens, one.finish_reason) for one in found} == {((), "end"), ((3,), "length")}


@KINDS
def test_prefixes_are_respected_and_count(options: Search) -> None:
    model = StandIn(seed=4)
    prefixes = [[3, 4, 3, 4, 6][: min(number % 6, limit)] for number, limit in enumerate(LIMITS.tolist())]
    for source, prefix, each in zip(SOURCES.tolist(), prefixes, run(model, options, prefixes=prefixes), strict=True):
        assert len({one.tokens for one in each}) == len(each) or options.sample
        for one in each:
            assert list(one.tokens[: len(prefix)]) == prefix
            parts = model.log_probabilities(source, steps(one))
            assert one.token_log_probabilities == pytest.approx(parts, abs=1e-5)
            assert one.score > float("-inf")


@pytest.mark.parametrize("options", [GREEDY, BEAM], ids=["greedy", "beam"])
def test_forcing_what_would_be_written_changes_nothing(options: Search) -> None:
    model = StandIn(seed=6)
    free = run(model, options)
    forced = run(model, options, prefixes=[each[0].tokens for each in free])
    assert all(close(one[:1], other[:1]) for one, other in zip(free, forced, strict=True))


@KINDS
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_ngram_is_repeated(options: Search, size: int) -> None:
    model, limits = StandIn(vocabulary=6, sharpness=0.5, end=-4.0), torch.full((12,), 30)

    def repeats(found: list[list[Hypothesis]]) -> int:
        grams = [list(zip(*(one.tokens[i:] for i in range(size)), strict=False)) for each in found for one in each]
        return sum(len(each) - len(set(each)) for each in grams)

    assert repeats(search(model, SOURCES, limits, options, SPECIAL)) > 0
    found = search(model, SOURCES, limits, replace(options, no_repeat_ngram=size), SPECIAL)
    assert repeats(found) == 0
    assert size > 1 or all(one.finish_reason == "end" for each in found for one in each)  # 3 words, then only the end


def test_a_prefix_may_repeat_what_the_rest_may_not() -> None:
    options = Search(no_repeat_ngram=2)
    ((one,),) = search(StandIn(), torch.tensor([0]), torch.tensor([6]), options, SPECIAL, prefixes=[[3, 3, 3, 3]])
    assert one.tokens[:4] == (3, 3, 3, 3)
    assert one.tokens[4:5] != (3,)


@KINDS
def test_finished_sentences_leave_the_batch(options: Search) -> None:
    model = StandIn(seed=2)
    found = run(model, options)
    width = options.width
    assert model.rows[0] == int((LIMITS > 0).sum())  # the first step needs one row per sentence, and none for limit 0
    assert len(model.rows) == max(len(steps(one)) for each in found for one in each) or options is BEAM
    for step, rows in enumerate(model.rows[1:], start=1):
        assert rows <= width * int((step < LIMITS).sum())
    if options is not BEAM:  # a sentence stays exactly as long as its longest hypothesis
        longest = [max(len(steps(one)) for one in each) for each in found]
        expected = [width * sum(length > step for length in longest) for step in range(1, max(longest))]
        assert model.rows[1:] == expected
    assert model.rows[-1] < model.rows[1]


def test_a_model_of_no_numbers_is_an_error() -> None:
    for options in (GREEDY, BEAM, SAMPLE):
        model = StandIn()
        model.table.fill_(float("nan"))
        with pytest.raises(UsageError, match=r"sentence 0 .* not numbers"):
            search(model, SOURCES[:1], LIMITS[:1], options, SPECIAL)


def test_no_sentences_no_results() -> None:
    assert search(StandIn(), SOURCES[:0], LIMITS[:0], BEAM, SPECIAL) == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"prefixes": [[3]]}, "1 prefixes were given for 12"),
        ({"seeds": [1, 2]}, "2 seeds were given for 12"),
        ({"prefixes": [[3] * 5] * 12}, "the prefix of sentence 1 has 5 tokens, more than the 3"),
        ({"prefixes": [[3, END]] + [[]] * 11}, f"the prefix of sentence 0 holds {END}"),
        ({"seeds": [-1] * 12}, "the seed of sentence 0 is -1"),
    ],
)
def test_impossible_requests_are_named(more: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run(StandIn(), GREEDY, **more)


@pytest.mark.parametrize("size", [5, BLOCK, 9 * BLOCK, 9 * BLOCK + 1, 20 * BLOCK - 1])
@pytest.mark.parametrize("count", [1, 4])
def test_the_largest_are_those_of_topk(size: int, count: int) -> None:
    values = torch.stack([torch.randperm(size, generator=torch.Generator().manual_seed(row)) for row in range(6)])
    values, totals = values.float().view(2, 3, size), torch.tensor([[0.3, 2.0, -1.4], [-0.25, float("-inf"), 7.5]])
    sums = (values + totals.unsqueeze(2)).flatten(1)  # no two are equal
    assert torch.equal(largest(values, totals, count), sums.topk(count).indices)


@KINDS
def test_first_tokens_stand_where_the_start_would(options: Search) -> None:
    model = StandIn()
    usual = torch.full_like(LIMITS, START)
    assert run(model, options, first_tokens=usual) == run(model, options)
    others = torch.arange(len(SOURCES)) % 3 + 4
    found = run(model, options, first_tokens=others)
    assert found != run(model, options)
    for place in (0, 2, 5):  # each goes with its own sentence
        alone = search(
            model, SOURCES[place : place + 1], LIMITS[place : place + 1], options, SPECIAL, seeds=[place],
            first_tokens=others[place : place + 1],
        )  # fmt: skip
        assert close(found[place], alone[0])


@pytest.mark.parametrize("options", [GREEDY, Search(sample=True, seed=5)], ids=["greedy", "sample"])
def test_what_meets_the_stopping_criterion_ends_there(options: Search) -> None:
    model, told = StandIn(end=-9.0), 4
    found = run(model, options, stopping_criterion=lambda found, _: found.token == told)
    for (stopped,), (whole,) in zip(found, run(model, options), strict=True):
        tokens = list(whole.tokens)
        assert list(stopped.tokens) == (tokens[: tokens.index(told) + 1] if told in tokens else tokens)
        assert stopped.finish_reason == ("length" if told in tokens else whole.finish_reason)
    assert any(told in each.tokens for (each,) in found)
