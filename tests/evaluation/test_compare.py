"""Differences that are real are found, those that are not are not, and a seed decides everything."""

from __future__ import annotations

import json
import random

import pytest

from regard.errors import UsageError
from regard.evaluation.compare import compare
from regard.evaluation.scores import score

SENTENCE = "a dog runs over the green field while two men sit on an old bench and talk about their day"


def corpus(sentences: int = 120) -> list[str]:
    chance = random.Random(3)
    return [" ".join(chance.choices(SENTENCE.split(), k=chance.randint(6, 14))) for _ in range(sentences)]


def damage(texts: list[str], share: float, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [" ".join("x" if chance.random() < share else word for word in text.split()) for text in texts]


REFERENCES = corpus()
GOOD, BAD = damage(REFERENCES, 0.1, seed=1), damage(REFERENCES, 0.5, seed=2)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("system", [REFERENCES, GOOD, BAD, [""] * len(REFERENCES)])
def test_a_system_never_differs_from_itself(system: list[str], seed: int) -> None:
    found = compare(system, list(system), REFERENCES, resamples=50, seed=seed)
    for metric in found.metrics:
        assert (metric.difference, metric.p_value, metric.significant) == (0, 1, False)
    assert found.better == ((), ())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_clearly_worse_system_is_always_found(seed: int) -> None:
    for a, b, sign in ((GOOD, BAD, -1), (BAD, GOOD, 1)):
        for metric in compare(a, b, REFERENCES, resamples=100, seed=seed).metrics:
            low, high = metric.difference_interval
            assert metric.significant
            assert metric.difference * sign > 0
            assert low * sign > 0
            assert high * sign > 0


def test_equally_good_systems_seldom_differ() -> None:
    verdicts = [
        compare(damage(REFERENCES, 0.2, seed), damage(REFERENCES, 0.2, -seed), REFERENCES, resamples=100).metrics[0]
        for seed in range(1, 21)
    ]
    assert sum(metric.significant for metric in verdicts) <= 5


def test_the_seed_decides_everything() -> None:
    def run(seed: int) -> str:
        return json.dumps(compare(GOOD, BAD, REFERENCES, resamples=60, seed=seed).to_dict())

    assert run(5) == run(5)
    assert run(5) != run(6)


def test_swapping_the_systems_mirrors_the_result() -> None:
    forth = compare(GOOD, BAD, REFERENCES, resamples=60)
    back = compare(BAD, GOOD, REFERENCES, resamples=60)
    for one, other in zip(forth.metrics, back.metrics, strict=True):
        assert one.difference == -other.difference
        assert one.intervals == other.intervals[::-1]
        assert one.p_value == other.p_value
    assert [each.line for each in forth.better[0]] == [each.line for each in back.better[1]]


def test_scores_are_those_of_score_and_lie_in_their_interval() -> None:
    found = compare(GOOD, BAD, REFERENCES, resamples=100)
    for system in (0, 1):
        expected = {each.name: each.value for each in score((GOOD, BAD)[system], REFERENCES)}
        for metric in found.metrics:
            low, high = metric.intervals[system]
            assert metric.scores[system] == pytest.approx(expected[metric.name])
            assert low < metric.scores[system] < high


def test_the_sentences_that_differ_most_come_first_and_point_the_right_way() -> None:
    a, b = list(REFERENCES), list(REFERENCES)
    a[7], b[40], b[41] = "nothing alike", "nothing alike", REFERENCES[41] + " x"
    found = compare(a, b, REFERENCES, resamples=10)
    assert [each.line for each in found.better[0]] == [41, 42]
    assert [each.line for each in found.better[1]] == [8]
    assert found.better[0][0].texts == (REFERENCES[40], "nothing alike")
    assert len(compare(a, b, REFERENCES, resamples=10, worst=1).better[0]) == 1
    assert compare(a, b, REFERENCES, resamples=10, worst=0).better == ((), ())


def test_text_and_json_tell_the_same() -> None:
    found = compare(GOOD, BAD, REFERENCES, names=("small", "tiny"), resamples=50, worst=1)
    text, data = "\n".join(found.lines()), found.to_dict()
    assert "A: small" in text
    assert data["names"] == ("small", "tiny")
    for metric in data["metrics"]:
        assert metric["signature"] in text
        assert f"{metric['p_value']:.4f}" in text
        assert metric["significant"] is True
    assert data["better"][0][0]["reference"] in text


def test_few_sentences_are_warned_about() -> None:
    few = "\n".join(compare(GOOD[:5], BAD[:5], REFERENCES[:5], resamples=10).lines())
    assert "with care" in few
    assert "with care" not in "\n".join(compare(GOOD, BAD, REFERENCES, resamples=10).lines())


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(UsageError, match="119 lines of tiny for 120 references"):
        compare(GOOD, BAD[1:], REFERENCES, names=("small", "tiny"))
    with pytest.raises(UsageError, match="empty"):
        compare([], [], [])
    with pytest.raises(UsageError, match="not 0 and 10"):
        compare(GOOD, BAD, REFERENCES, resamples=0)
