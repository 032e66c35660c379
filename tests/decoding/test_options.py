"""Impossible options are refused together, before any work."""

from __future__ import annotations

from typing import Any

import pytest

from regard import config
from regard.decoding.options import RULES, Search, check_values, refuse_idle
from regard.errors import UsageError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 0}, "beam must be at least 1, not 0"),
        ({"nbest": 6}, "nbest = 6 needs a beam of at least as many, not 5"),
        ({"nbest": 0}, "nbest must be at least 1"),
        ({"temperature": 0.0}, "temperature must be above 0"),
        ({"temperature": float("nan")}, "temperature must be above 0"),
        ({"top_p": 0.0}, "top_p must be above 0 and at most 1"),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1"),
        ({"top_k": -1}, "top_k must be at least 0"),
        ({"alpha": -0.1}, "alpha must be at least 0"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"no_repeat_ngram": -1}, "no_repeat_ngram must be at least 0"),
        ({"beam": "5"}, "beam must be a whole number, not '5'"),
        ({"beam": 2.5}, "beam must be a whole number, not 2.5"),
        ({"beam": True}, "beam must be a whole number, not True"),
        ({"alpha": "0.6"}, "alpha must be a number, not '0.6'"),
        ({"alpha": 1e9}, "alpha must be at least 0 and at most 10"),
        ({"sample": 1}, "sample must be True or False, not 1"),
        ({"length_penalty": None}, "length_penalty must be one of paper, mean, none, not None"),
        ({"length_penalty": "papr"}, "Did you mean 'paper'?"),
    ],
)
def test_impossible_values(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        Search(**options)
    assert message in str(error.value)


def test_all_mistakes_at_once() -> None:
    with pytest.raises(UsageError, match=r"beam(.|\n)*top_k(.|\n)*top_p"):
        Search(beam=0, nbest=1, top_k=-1, top_p=2.0)


def test_every_option_has_its_rule() -> None:
    known = {*RULES, "length_penalty"}
    assert known == {*Search.__dataclass_fields__, *config.Decoding.__dataclass_fields__}
    check_values(vars(config.Decoding()))


def test_sampling_needs_no_beam() -> None:
    assert Search(beam=1, nbest=10, sample=True).nbest == 10


@pytest.mark.parametrize("penalty", ["paper", "mean", "none"])
def test_the_penalty_never_falls(penalty: str) -> None:
    """What stopping early relies on."""
    for alpha in (0.0, 0.6, 2.0):
        penalties = [Search(length_penalty=penalty, alpha=alpha).penalty(length) for length in range(1, 100)]
        assert penalties == sorted(penalties)
    assert Search(length_penalty=penalty).penalty(1) == 1  # a single token is never changed


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"temperature": 0.5}, "`temperature` has an effect only with `sample`"),
        ({"seed": 3}, "`seed` has an effect only with `sample`"),
        ({"sample": True, "beam": 4}, "`beam` has no effect with `sample`"),
        ({"alpha": 0.6, "length_penalty": "mean"}, "`alpha` has no effect with `length_penalty` 'mean'"),
    ],
)
def test_options_without_effect_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        refuse_idle(given, {**vars(Search()), **given})


@pytest.mark.parametrize(
    "given", [{}, {"seed": 0}, {"sample": True, "seed": 3, "top_k": 5}, {"alpha": 0.9}, {"beam": 3}]
)
def test_options_with_an_effect_are_not(given: dict[str, Any]) -> None:
    refuse_idle(given, {**vars(Search()), **given})
