"""Whoever watches a search changes nothing, and can tell from what was seen how each output came about."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from regard.decoding.options import Hypothesis, Search
from regard.decoding.search import search
from regard.decoding.trace import Candidate, Step, Trace
from tests.decoding.stand_in import END, SPECIAL, StandIn, steps

OPTIONS = pytest.mark.parametrize(
    "options",
    [Search(beam=1), Search(beam=2, nbest=2), Search(beam=5, nbest=5), Search(beam=5, length_penalty="none"),
     Search(beam=5, nbest=5, no_repeat_ngram=1), Search(beam=5, nbest=3, early_stop=False), Search(sample=True, seed=3)],
    ids=str,
)  # fmt: skip
PREFIXES = pytest.mark.parametrize("prefix", [(), (3,), (4, 3, 6)], ids=str)


def watched(
    model: StandIn, options: Search, source: int = 0, limit: int = 8, prefix: tuple[int, ...] = ()
) -> tuple[list[Hypothesis], list[Step]]:
    """What the search found, which is what it finds unwatched, and its steps."""
    trace = Trace(options.width)
    given = (model, torch.tensor([source]), torch.tensor([limit]), options, SPECIAL, [prefix])
    (found,) = search(*given, on_step=trace)
    assert [found] == search(*given)
    return found, trace.steps


def tokens(steps: list[Step], place: int, candidate: Candidate) -> list[int]:
    """All that stands on the path of a candidate of one step."""
    before = tokens(steps, place - 1, steps[place - 1].kept[candidate.parent]) if place else []
    return [*before, candidate.token]


def every(steps: list[Step]) -> list[tuple[int, Candidate]]:
    return [(place, each) for place, step in enumerate(steps) for each in [*step.kept, *step.finished]]


@OPTIONS
@PREFIXES
@pytest.mark.parametrize("source", range(2))
def test_paths_add_up_and_are_the_models(options: Search, prefix: tuple[int, ...], source: int) -> None:
    model = StandIn(vocabulary=13, seed=source, end=1.0)
    _, seen = watched(model, options, source, prefix=prefix)
    for place, each in every(seen):
        before = seen[place - 1].kept[each.parent].total if place else 0.0
        assert each.total == pytest.approx(before + each.log_probability, abs=1e-5)
        assert each.score == pytest.approx(each.total / options.penalty(place + 1), abs=1e-5)
        written = tokens(seen, place, each)
        assert written[: len(prefix)] == list(prefix)[: len(written)]
        assert model.log_probabilities(source, written) == pytest.approx(
            [*model.log_probabilities(source, written[:-1]), each.log_probability], abs=1e-5
        )
        assert END not in written[:-1]


@OPTIONS
@PREFIXES
@pytest.mark.parametrize("source", range(2))
def test_what_was_found_is_the_best_of_what_finished(options: Search, prefix: tuple[int, ...], source: int) -> None:
    found, seen = watched(StandIn(vocabulary=13, seed=source, end=1.0), options, source, prefix=prefix)
    finished = [(each.score, tokens(seen, place, each)) for place, step in enumerate(seen) for each in step.finished]
    finished.sort(key=lambda each: -each[0])
    assert [written for _, written in finished][: options.nbest] == [steps(each) for each in found]
    assert [score for score, _ in finished][: options.nbest] == pytest.approx([each.score for each in found])


@pytest.mark.parametrize("source", range(6))
def test_a_beam_keeps_its_width_best_first(source: int) -> None:
    _, seen = watched(StandIn(vocabulary=13, seed=source), Search(beam=5, nbest=5), source)
    for place, step in enumerate(seen):
        totals = [each.total for each in step.kept]
        assert totals == sorted(totals, reverse=True)
        assert len(totals) <= 5
        assert len({tuple(tokens(seen, place, each)) for each in step.kept}) == len(totals)
    assert len(seen[0].kept) == 5
    assert {each.parent for each in [*seen[0].kept, *seen[0].finished]} == {0}
    assert any(each.parent > 0 for _, each in every(seen))


@pytest.mark.parametrize("source", range(6))
def test_a_beam_of_one_is_one_path(source: int) -> None:
    ((best,), seen) = watched(StandIn(seed=source), Search(beam=1), source)
    path = [(step.kept or step.finished)[0] for step in seen]
    assert [each.token for each in path] == steps(best)
    assert [each.log_probability for each in path] == list(best.token_log_probabilities)
    assert all(len(step.kept) + len(step.finished) == 1 for step in seen)


@OPTIONS
def test_at_the_limit_all_that_is_left_finishes(options: Search) -> None:
    """Also without an end: then the last step keeps nothing."""
    model = StandIn(vocabulary=13, end=-50.0)
    found, seen = watched(model, replace(options, early_stop=False, no_repeat_ngram=0), limit=3)
    assert len(seen) == 3
    assert seen[-1].kept == []
    assert all(each.finish_reason == "length" for each in found)
    assert len(seen[-1].finished) >= len(found)


@pytest.mark.parametrize("vocabulary", [4, 5, 6])
@pytest.mark.parametrize("seed", range(4))
def test_more_paths_than_tokens(vocabulary: int, seed: int) -> None:
    """Where there are fewer candidates than the beam is wide, paths that ended leave gaps among those that go on."""
    options = Search(beam=20, nbest=20)
    model = StandIn(vocabulary=vocabulary, seed=seed, end=2.0)
    found, seen = watched(model, options, limit=4)
    finished = [tokens(seen, place, each) for place, step in enumerate(seen) for each in step.finished]
    assert {tuple(steps(each)) for each in found} <= set(map(tuple, finished))
    for place, each in every(seen):
        parts = model.log_probabilities(0, tokens(seen, place, each))
        assert each.total == pytest.approx(sum(parts), abs=1e-4)


def test_equals_keep_their_parents() -> None:
    """A model to which all is equally probable: the trace must break ties as the search did."""
    found, seen = watched(StandIn(vocabulary=13, sharpness=0.0), Search(beam=3, nbest=3), limit=4)
    finished = [tokens(seen, place, each) for place, step in enumerate(seen) for each in step.finished]
    assert {tuple(steps(each)) for each in found} <= set(map(tuple, finished))
