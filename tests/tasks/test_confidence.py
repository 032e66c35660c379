"""A confidence rises with the probability, means chrF, and is not told where nothing says what it means."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.evaluation.scores import sentence_chrf
from regard.tasks.translation.confidence import calibrate, confidence, rank_correlation, told_calibration
from regard.tasks.translation.evaluation import TestSet, evaluate
from regard.tasks.translation.training import TranslationTraining
from regard.tasks.translation.translator import Translator
from tests.conftest import made_up_sentences

MANY = st.lists(st.tuples(st.floats(-20, 0), st.floats(0, 100)), min_size=40, max_size=300)
POINTS = [[-2.0, 0.2], [-1.0, 0.5], [-0.1, 0.9]]


@given(MANY)
def test_more_probable_is_never_less_confident(found: list[tuple[float, float]]) -> None:
    points = told_calibration({"confidence": calibrate(*zip(*found, strict=True))})  # type: ignore[arg-type]
    assert points is not None
    told = [confidence(points, each, 1) for each in np.linspace(-25, 0, 60)]
    assert told == sorted(told)  # type: ignore[type-var]
    assert all(each is not None and 0 <= each <= 1 for each in told)


def test_it_means_the_chrf_of_such_translations() -> None:
    random = np.random.default_rng(1)
    means = random.uniform(-3, 0, 4_000)
    chrf = np.clip(100 + 30 * means + random.normal(0, 10, 4_000), 0, 100)
    points = told_calibration({"confidence": calibrate(means.tolist(), chrf.tolist())})
    for mean in (-2.5, -1.5, -0.5):
        assert confidence(points, 2 * mean, 2) == pytest.approx(1 + 0.3 * mean, abs=0.04)


@pytest.mark.parametrize(
    "told",
    [
        None, [], {}, "x", [[1]], [[0.0, 2.0]], [[0.0, "x"]], [[-1.0, 0.5], [-2.0, 0.6]], [[-2.0, 0.6], [-1.0, 0.5]],
        [[float("nan"), 0.5]], [[True, 0.5]], [[-1.0, 0.5]] * 21, [[10**400, 0.5]],
    ],
)  # fmt: skip
def test_what_a_file_says_amiss_is_not_believed(told: Any) -> None:
    assert told_calibration({"confidence": told}) is None
    assert confidence(None, -1.0, 1) is None


def test_too_little_text_says_nothing() -> None:
    assert calibrate([-1.0] * 39, [50.0] * 39) == []
    assert calibrate([-1.0] * 40, [50.0] * 40) == [[-1.0, 0.5]]


def test_rank_correlation() -> None:
    assert rank_correlation([1, 2, 3, 4], [10, 20, 25, 90]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert rank_correlation([1, 1, 2, 2], [1, 2, 1, 2]) == pytest.approx(0)  # ties share their rank
    assert rank_correlation([1, 1], [1, 2]) is None
    assert rank_correlation([], []) is None


def test_a_translator_tells_it_of_texts_and_parts(tiny_translator: Translator) -> None:
    sources, references = made_up_sentences(1, 6), made_up_sentences(2, 6)
    known = Translator(tiny_translator.model, tiny_translator.tokenizer, tiny_translator.recipe, {"confidence": POINTS})
    first, second, both = known.translate([sources[0], sources[1], f"{sources[0]} {sources[1]}"])
    assert first.confidence == confidence(
        np.array(POINTS).T, sum(first.token_log_probabilities), len(first.token_log_probabilities)
    )
    assert first.confidence is not None
    assert second.confidence is not None
    weights = [len(each.token_log_probabilities) for each in (first, second)]
    assert both.confidence == pytest.approx(
        np.average([first.confidence, second.confidence], weights=weights), abs=1e-3
    )
    assert first.to_dict()["confidence"] == first.confidence
    assert "confidence" not in tiny_translator.translate(sources[0]).to_dict()
    found = evaluate(known, TestSet("x", sources, references))
    own = [each.confidence for each in known.translate(sources)]
    chrf = sentence_chrf(found.texts, references)
    assert found.confidence == pytest.approx(rank_correlation(own, chrf))  # type: ignore[arg-type]
    assert known.translate("").confidence is None


def test_training_learns_it_from_validation_text(tiny_translator: Translator) -> None:
    tokenizer = tiny_translator.tokenizer
    sources, references = made_up_sentences(1, 16) * 3, made_up_sentences(2, 16) * 3  # which it knows by heart
    task: Any = SimpleNamespace(
        sources=tokenizer.encode_all(sources, "source"), references=references, tokenizer=tokenizer,
        recipe=tiny_translator.recipe,
    )  # fmt: skip
    found = TranslationTraining._calibration(task, lambda: tiny_translator.model)
    points = told_calibration(found)
    assert points is not None
    own = tiny_translator.translate(sources)
    means = [float(np.mean(each.token_log_probabilities)) for each in own]
    assert found["confidence"] == calibrate(means, sentence_chrf([each.text for each in own], references))
    task.sources = task.sources[:39]
    assert TranslationTraining._calibration(task, lambda: tiny_translator.model) == {}
