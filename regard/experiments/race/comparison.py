"""From what the entrants did to who won: scores with their intervals, by length, and what chance could have done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from regard.data.progress import progress
from regard.evaluation.compare import MetricComparison, compare
from regard.experiments.race.entrants import Budget, Entrant
from regard.tasks.translation.evaluation import TestSet

SEVERAL = 5  # lengths that share a bucket, at least
FEWEST = 0.02  # of all sentences in each bucket, at least …
FEW = 10  # … and never fewer than this

Kept = Mapping[str, Mapping[str, Any]]


class Bucket(NamedTuple):
    """Sentences of `low` to `high` source tokens, by their places in the test set."""

    low: int
    high: int
    places: list[int]


def compare_entrants(
    entrants: Sequence[Entrant], found: Kept, test_set: TestSet, budget: Budget, command: str
) -> dict[str, Any]:
    """All that the page shows, as plain JSON values; docs/race.md describes it."""
    recipe, names = entrants[0].recipe, list(found)
    language = recipe.data.target_language
    buckets = by_length(found[names[0]]["tokens"])
    with progress() as bar:
        count = len(names) * (len(names) - 1) // 2
        line = bar.add_task("Comparing", total=max(1, count) + len(names) * len(buckets))
        pairs, scores = compare_all(found, test_set, language, lambda: bar.advance(line))
        lengths = {
            name: score_buckets(found[name], buckets, test_set, language, lambda: bar.advance(line)) for name in names
        }
    facts = (
        "name",
        "parameters",
        "model",
        "training",
        "updates",
        "seconds",
        "curve",
        "tokens_per_second",
        "memory",
        "speed",
    )
    return {
        "name": recipe.name,
        "languages": f"{recipe.data.source_language} → {recipe.data.target_language}",
        "budget": budget._asdict(),
        "training_pairs": found[names[0]]["training_pairs"],
        "vocabulary": recipe.tokenizer.vocabulary,
        "beam": recipe.decoding.beam,
        "test_set": {"name": test_set.name, "sentences": len(test_set.sources)},
        "buckets": [{"low": each.low, "high": each.high, "sentences": len(each.places)} for each in buckets],
        "entrants": [
            {**{fact: found[name][fact] for fact in facts}, "scores": scores[name], "lengths": lengths[name]}
            for name in names
        ],
        "pairs": pairs,
        "samples": samples_of(found, test_set),
        "command": command,
    }


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


def compare_all(
    found: Kept, test_set: TestSet, language: str, advance: Callable[[], None]
) -> tuple[list[dict[str, Any]], dict[str, list[dict[str, Any]]]]:
    """Every entrant with every other on the same resamples → the pairs, and the scores of each entrant."""
    names = list(found)
    pairs: list[dict[str, Any]] = []
    scores: dict[str, list[dict[str, Any]]] = {}
    for a, b in combinations(names, 2) if len(names) > 1 else [(names[0], names[0])]:
        both = found[a]["translations"], found[b]["translations"]
        metrics = compare(*both, test_set.references, names=(a, b), worst=0, target_language=language).metrics
        for place, name in enumerate((a, b)):
            scores[name] = [score_of(each, place) for each in metrics]
        if a != b:
            pairs.append({"a": a, "b": b, "metrics": [difference_of(each) for each in metrics]})
        advance()
    return pairs, scores


def score_buckets(
    entrant: Mapping[str, Any], buckets: Sequence[Bucket], test_set: TestSet, language: str, advance: Callable[[], None]
) -> list[dict[str, Any]]:
    """BLEU of the sentences of each bucket."""
    found = []
    for bucket in buckets:
        texts = [entrant["translations"][place] for place in bucket.places]
        references = [test_set.references[place] for place in bucket.places]
        found.append(score_of(compare(texts, texts, references, worst=0, target_language=language).metrics[0], 0))
        advance()
    return found


def score_of(metric: MetricComparison, place: int) -> dict[str, Any]:
    low, high = metric.intervals[place]
    return {"name": metric.name, "value": metric.scores[place], "low": low, "high": high, "signature": metric.signature}


def difference_of(metric: MetricComparison) -> dict[str, Any]:
    """B minus A."""
    low, high = metric.difference_interval
    return {"name": metric.name, "value": metric.difference, "low": low, "high": high, "p_value": metric.p_value}


def samples_of(found: Kept, test_set: TestSet) -> list[dict[str, Any]]:
    """The sentences that are shown, each with what every entrant made of it."""
    first = next(iter(found.values()))
    return [
        {
            "source": test_set.sources[place],
            "reference": test_set.references[place],
            "tokens": first["tokens"][place],
            "translations": {name: entrant["translations"][place] for name, entrant in found.items()},
            "looks": {name: entrant["looks"].get(str(place)) for name, entrant in found.items()},
        }
        for place in map(int, first["looks"])
    ]
