"""From what the entrants did to who won: scores with their intervals, by length, and what chance could have done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from regard.data.progress import progress
from regard.evaluation.compare import bootstrap
from regard.experiments.race.entrants import Budget, Entrant
from regard.experiments.race.measures import racing_of
from regard.tasks.registry import find_task
from regard.tasks.task import Examples, Judge, Judged, Metric

SEVERAL = 5  # lengths that share a bucket, at least
FEWEST = 0.02  # of all texts in each bucket, at least …
FEW = 10  # … and never fewer than this
RESAMPLES, SEED = 1_000, 1

Kept = Mapping[str, Mapping[str, Any]]


class Bucket(NamedTuple):
    """Texts of `low` to `high` tokens, by their places in the test set."""

    low: int
    high: int
    places: list[int]


def compare_entrants(
    entrants: Sequence[Entrant], found: Kept, test_set: Judged, budget: Budget, command: str
) -> dict[str, Any]:
    """All that the page shows, as plain JSON values; docs/race.md describes it."""
    recipe, names = entrants[0].recipe, list(found)
    judge, racing = judge_of(recipe), racing_of(recipe)
    buckets = by_length(found[names[0]]["tokens"])
    with progress() as bar:
        count = len(names) * (len(names) - 1) // 2
        line = bar.add_task("Comparing", total=max(1, count) + len(names) * len(buckets))
        pairs, scores = compare_all(found, test_set, judge.metrics, recipe, lambda: bar.advance(line))
        lengths = {
            name: score_buckets(found[name], buckets, test_set, judge.metrics[0], recipe, lambda: bar.advance(line))
            for name in names
        }
    facts = (
        "name",
        "parameters",
        "model",
        "training",
        "updates",
        "seconds",
        "curve",
        "unit",
        "trained_per_second",
        "memory",
        "speed",
    )
    return {
        "name": recipe.name,
        "task": recipe.task,
        "facts": racing.facts(recipe),
        "budget": budget._asdict(),
        "training_examples": found[names[0]]["training_examples"],
        "vocabulary": recipe.tokenizer.vocabulary,
        "curve": racing.curve,
        "lower": judge.lower,
        "meaning": {"en": racing.meaning[0], "ko": racing.meaning[1]},
        "work": {"en": racing.work[0], "ko": racing.work[1]},
        "test_set": {"name": test_set.name, "texts": len(test_set.sources)},
        "buckets": [{"low": each.low, "high": each.high, "texts": len(each.places)} for each in buckets],
        "entrants": [
            {**{fact: found[name][fact] for fact in facts}, "scores": scores[name], "lengths": lengths[name]}
            for name in names
        ],
        "pairs": pairs,
        "samples": samples_of(found, test_set, racing.told),
        "command": command,
    }


def judge_of(recipe: Any) -> Judge:
    judge = find_task(recipe.task).judge
    assert judge is not None, "whoever can race can be judged"
    return judge


def by_length(lengths: Sequence[int]) -> list[Bucket]:
    """Neighbouring lengths together, five at a time or as many as it takes to fill a bucket; few leftovers join the last."""
    fewest = max(FEW, round(FEWEST * len(lengths)))
    buckets: list[Bucket] = []
    low, places = 1, list[int]()
    for high in range(SEVERAL, max(lengths) + SEVERAL, SEVERAL):
        places += [place for place, length in enumerate(lengths) if high - SEVERAL < length <= high]
        if len(places) >= fewest:
            buckets.append(Bucket(low, high, places))
            low, places = high + 1, []
    if places and buckets:
        last = buckets.pop()
        return [*buckets, Bucket(last.low, max(lengths), [*last.places, *places])]
    return [*buckets, Bucket(low, max(lengths), places)] if places else buckets


class Compared(NamedTuple):
    """Two entrants by one metric: each one's score, and the scores of all resamples [resamples, 2]."""

    metric: Metric
    signature: str
    scores: tuple[float, float]
    values: NDArray[np.float64]
    p_value: float

    def score(self, place: int) -> dict[str, Any]:
        low, high = np.percentile(self.values[:, place], (2.5, 97.5)).tolist()
        return {
            "name": self.metric.metric,
            "value": self.scores[place],
            "low": low,
            "high": high,
            "signature": self.signature,
        }

    def difference(self) -> dict[str, Any]:
        """B minus A."""
        low, high = np.percentile(self.values[:, 1] - self.values[:, 0], (2.5, 97.5)).tolist()
        value = self.scores[1] - self.scores[0]
        return {"name": self.metric.metric, "value": value, "low": low, "high": high, "p_value": self.p_value}


def compared(metric: Metric, recipe: Any, a: list[Any], b: list[Any], test_set: Judged) -> Compared:
    """The answers of two, on the same resamples of the test set: a text that is hard is hard for both."""
    counts = [metric.counts(recipe, answers, test_set) for answers in (a, b)]
    found = bootstrap(lambda counted: metric.score(recipe, counted), counts[0], counts[1], RESAMPLES, SEED)
    return Compared(metric, f"{metric.signature(recipe)}|bs:{RESAMPLES}|seed:{SEED}", *found)


def compare_all(
    found: Kept, test_set: Judged, metrics: Sequence[Metric], recipe: Any, advance: Callable[[], None]
) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    """Every entrant with every other on the same resamples → the pairs, and the scores of each entrant."""
    names = list(found)
    pairs: list[dict[str, Any]] = []
    scores: dict[str, list[dict[str, Any]]] = {}
    for a, b in combinations(names, 2) if len(names) > 1 else [(names[0], names[0])]:
        by_metric = [compared(metric, recipe, found[a]["answers"], found[b]["answers"], test_set) for metric in metrics]
        for place, name in enumerate((a, b)):
            scores[name] = [each.score(place) for each in by_metric]
        if a != b:
            pairs.append({"a": a, "b": b, "metrics": [each.difference() for each in by_metric]})
        advance()
    return pairs, scores


def score_buckets(
    entrant: Mapping[str, Any],
    buckets: Sequence[Bucket],
    test_set: Judged,
    metric: Metric,
    recipe: Any,
    advance: Callable[[], None],
) -> list[dict[str, Any]]:
    """The score of the texts of each bucket."""
    found = []
    for bucket in buckets:
        own = [entrant["answers"][place] for place in bucket.places]
        sources, references = (
            [each[place] for place in bucket.places] for each in (test_set.sources, test_set.references)
        )
        some = Examples(test_set.name, sources, references)
        found.append(compared(metric, recipe, own, own, some).score(0))
        advance()
    return found


def samples_of(found: Kept, test_set: Judged, told: Callable[[Any], str]) -> list[dict[str, Any]]:
    """The texts that are shown, each with what every entrant made of it."""
    first = next(iter(found.values()))
    return [
        {
            "source": test_set.sources[place],
            "reference": test_set.references[place],
            "tokens": first["tokens"][place],
            "answers": {name: told(entrant["answers"][place]) for name, entrant in found.items()},
            "looks": {name: entrant["looks"].get(str(place)) for name, entrant in found.items()},
        }
        for place in map(int, first["looks"])
    ]
