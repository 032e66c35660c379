"""A classifier at work: laws of its answers, and of what it says they are grounded in."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from regard.data.batching import pad
from regard.errors import UsageError
from regard.models.classifier import TextClassifier
from regard.tasks.classification.attribution import attention_rollout, attribute, log_odds
from regard.tasks.classification.training import in_reach
from tests.tasks.labelled import LABELS, texts, untrained

LONG = " ".join(texts()[:12])
KINDS: list[dict[str, Any]] = [
    {"pooling": "max"}, {"pooling": "mean", "norm": "pre"}, {"pooling": "first"}, {"pooling": "max", "ngrams": 3, "buckets": 900},
]  # fmt: skip


@pytest.mark.parametrize("model", KINDS, ids=str)
@pytest.mark.parametrize("long", ["first", "ends", "windows"])
def test_batched_is_single(model: dict[str, Any], long: str) -> None:
    classifier = untrained(data={"long": long, "max_tokens": 24}, **model)
    given = [*texts()[:20], LONG, "", "!"]
    together = classifier.classify(given)
    for text, found, streamed in zip(given, together, classifier.stream(iter(given), look_ahead=3), strict=True):
        alone = classifier.classify(text)
        assert alone.label == found.label == streamed.label
        assert alone.probabilities == pytest.approx(found.probabilities, abs=1e-5)
        assert streamed.probabilities == pytest.approx(found.probabilities, abs=1e-5)
        assert (alone.token_count, alone.windows, alone.cut) == (found.token_count, found.windows, found.cut)
        assert sum(found.probabilities.values()) == pytest.approx(1 if text else 0, abs=1e-5)
        assert list(found.probabilities.values()) == sorted(found.probabilities.values(), reverse=True)
        assert set(found.probabilities) == (set(LABELS) if text else set())
    assert np.std([each.probabilities["neutral"] for each in together if each.label]) > 0.01  # not all are the same


def test_an_empty_text_has_no_answer_but_a_place() -> None:
    empty, spaces, real = untrained().classify(["", " \t ", "좋다"])
    assert empty == spaces
    assert (empty.label, empty.probabilities, empty.token_count, empty.windows) == ("", {}, 0, 0)
    assert real.label in LABELS
    assert untrained().classify([]) == []
    assert empty.to_dict() == {"label": "", "probabilities": {}, "token_count": 0, "windows": 0, "cut": False}


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UsageError, match="classify takes a text or a list of texts, not 3 of type int"):
        untrained().classify(3)  # type: ignore[call-overload]
    with pytest.raises(UsageError, match=r"text 1 \(counting from 0\) is None of type NoneType"):
        untrained().classify(["a", None])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="an empty text has nothing to look at"):
        untrained().look(" ")


def test_the_temperature_changes_no_label() -> None:
    plain, hot, cold = (untrained(temperature).classify(texts()) for temperature in (1.0, 5.0, 0.2))
    assert [each.label for each in plain] == [each.label for each in hot] == [each.label for each in cold]
    sure = [np.mean([max(each.probabilities.values()) for each in found]) for found in (hot, plain, cold)]
    assert sure == sorted(sure)


def test_windows_of_a_text_that_fits_are_the_text() -> None:
    plain, windowed = (untrained(data={"long": long}).classify(texts()[:10]) for long in ("ends", "windows"))
    assert plain == windowed


def test_a_long_text_is_cut_or_read_in_windows() -> None:
    found = {
        long: untrained(data={"long": long, "max_tokens": 20}).classify(LONG) for long in ("first", "ends", "windows")
    }
    assert [each.cut for each in found.values()] == [True, True, False]
    assert found["windows"].windows > 1 == found["first"].windows
    assert found["first"].probabilities != found["ends"].probabilities
    first = untrained(data={"max_tokens": 60}).tokenizer
    beginning = first.decode(first.encode(LONG)[:20], "source")
    assert untrained(data={"max_tokens": 20}).classify(beginning).probabilities == pytest.approx(
        found["first"].probabilities, abs=1e-5
    )


@pytest.mark.parametrize("length", [1, 19, 20, 21, 29, 30, 31, 100])
def test_what_is_in_reach(length: int) -> None:
    ids = np.arange(length)
    data = {long: untrained(data={"long": long, "max_tokens": 20}).recipe.data for long in ("first", "ends", "windows")}
    assert all(len(part) <= 20 for each in data.values() for part in in_reach(ids, each))
    (first,), (ends,), windows = (in_reach(ids, each) for each in data.values())
    assert first.tolist() == ids[:20].tolist()
    assert ends.tolist() == (ids.tolist() if length <= 20 else [*ids[:10], *ids[-10:]])
    assert set(np.concatenate(windows).tolist()) == set(ids.tolist())
    assert all(later[0] - earlier[0] <= 10 for earlier, later in pairwise(windows))


@pytest.mark.parametrize("model", KINDS, ids=str)
def test_looking_agrees_with_answering(model: dict[str, Any]) -> None:
    classifier = untrained(temperature=1.7, **model)
    for text in ("The soup was not bad at all!", "국물은 전혀 나쁘지 않았다."):
        answer, seen = classifier.classify(text), classifier.look(text)
        assert (seen.label, seen.probabilities) == (answer.label, answer.probabilities)
        share = answer.probabilities[answer.label]
        assert seen.log_odds == pytest.approx(np.log(share / (1 - share)), abs=1e-3)
        length = len(seen.tokens)
        assert length == answer.token_count + (model["pooling"] == "first")
        assert seen.weights.shape == (2, 2, length, length)
        np.testing.assert_allclose(seen.weights.sum(-1), 1, atol=1e-5)
        assert seen.attention.sum() == pytest.approx(1, abs=1e-5)
        assert seen.attention.min() >= 0
        assert seen.gradient.shape == (length,)
        assert (seen.ngrams is not None) == ("ngrams" in model)
        np.testing.assert_allclose(seen.word_weights().sum(-1), 1, atol=1e-5)
    assert all(parameter.grad is None for parameter in classifier.model.parameters())


def test_looking_works_where_gradients_are_off() -> None:
    classifier = untrained()
    wanted = classifier.look("The soup was cold.").gradient
    with torch.inference_mode():
        np.testing.assert_allclose(classifier.look("The soup was cold.").gradient, wanted, atol=1e-6)


def test_gradient_times_input_is_the_slope_of_the_log_odds() -> None:
    """Scaling a token's vector by 1 + ε moves the log-odds by ε × its number."""
    classifier = untrained(temperature=1.3, norm="pre")
    model, step = classifier.model.double(), 1e-5
    ids = torch.tensor([classifier.tokenizer.encode("The soup was cold and good.")])
    found = attribute(model, ids, 1, 1.3)
    vectors = model.embedding.table(ids[0]) * model.embedding.scale
    with torch.no_grad():
        for place in range(ids.size(1)):
            moved = []
            for sign in (1, -1):
                embedded = model.embed(ids).clone()
                embedded[place] += sign * step * vectors[place]
                moved.append(log_odds(model.classify(model.encode(ids, embedded), ids)[0] / 1.3, 1).item())
            assert (moved[0] - moved[1]) / (2 * step) == pytest.approx(found.gradient[place], rel=1e-3, abs=1e-5)


def linear_model() -> TextClassifier:
    """One whose layers pass on what they are given, so that logits are a weighted sum of the tokens' vectors."""
    model = untrained(pooling="mean", norm="pre", dropout=0.0).model
    model.norm = torch.nn.Identity()
    with torch.no_grad():
        model.embedding.positions.table.zero_()  # type: ignore[union-attr]
        for layer in model.layers:
            for part in (layer.self_attention.output, layer.feed_forward.narrow):  # type: ignore[union-attr]
                part.weight.zero_()  # type: ignore[union-attr]
                part.bias.zero_()  # type: ignore[union-attr]
        model.output.weight[2] = -30 * torch.ones(16)  # a third label that nobody believes in …
        model.output.bias.copy_(torch.tensor([0.3, -0.4, -1e4]))  # … so that log-odds are a difference of two logits
    return model


def test_gradient_times_input_is_complete_where_the_model_is_linear() -> None:
    model = linear_model()
    ids = torch.randint(4, 500, (1, 9), generator=torch.Generator().manual_seed(1))
    found = attribute(model, ids, 0, 1.0)
    assert found.gradient.sum() == pytest.approx(found.log_odds - 0.7, abs=1e-4)  # all but the difference of the biases
    tokens = [attribute(model, ids[:, place : place + 1], 0, 1.0).log_odds - 0.7 for place in range(9)]
    np.testing.assert_allclose(found.gradient, np.array(tokens) / 9, atol=1e-4)


def test_ngrams_add_up() -> None:
    """What n-grams are said to add is the difference that they make."""
    classifier = untrained(ngrams=3, buckets=900)
    model = classifier.model
    with torch.no_grad():  # two labels of weight: log-odds are linear in logits
        model.output.bias[2] = -1e4
    ids = torch.tensor([classifier.tokenizer.encode("The soup, the soup, the soup was cold.")])
    found = attribute(model, ids, 1, 1.0)
    silenced = untrained(ngrams=3, buckets=900).model
    with torch.no_grad():
        silenced.output.bias[2] = -1e4
        assert silenced.ngram_bag is not None
        silenced.ngram_bag.table.weight.zero_()
    without = attribute(silenced, ids, 1, 1.0)
    assert found.ngrams.sum() == pytest.approx(found.log_odds - without.log_odds, abs=1e-3)
    assert sum(each.contribution for each in found.ngram_contributions) == pytest.approx(found.ngrams.sum(), abs=1e-5)
    assert abs(found.ngrams).max() > 0.05
    assert not without.ngrams.any()


def test_an_ngram_that_begins_inside_a_character() -> None:
    names = [name for name, _ in untrained(ngrams=2, buckets=900).look("Soup 🦉").ngram_contributions]
    assert any("…" in name for name in names)
    assert not any("\ufffd" in name for name in names)


def test_attention_is_carried_from_the_pooled_vector() -> None:
    pooled = np.array([1.0, 0, 0])
    turn = np.zeros((1, 1, 3, 3))
    turn[0, 0, [0, 1, 2], [1, 2, 0]] = 1  # each looks at the next
    np.testing.assert_allclose(attention_rollout(turn, pooled), [0.5, 0.5, 0])
    np.testing.assert_allclose(attention_rollout(np.concatenate([turn, turn]), pooled), [0.25, 0.5, 0.25])
    np.testing.assert_allclose(attention_rollout(np.empty((0, 1, 3, 3)), pooled), pooled)


def test_first_pooling_looks_from_the_first_position() -> None:
    classifier = untrained(pooling="first", layers=1)
    seen = classifier.look("The soup was cold.")
    assert seen.tokens[0] == "<s>"
    wanted = seen.weights[0].mean(0)[0] / 2
    wanted[0] += 0.5
    np.testing.assert_allclose(seen.attention, wanted, atol=1e-6)


def test_every_window_can_be_looked_at() -> None:
    classifier = untrained(data={"long": "windows", "max_tokens": 20})
    answer, seen = classifier.classify(LONG), list(classifier.looks(LONG))
    assert [(each.window, each.windows) for each in seen] == [
        (number, answer.windows) for number in range(1, answer.windows + 1)
    ]
    assert {each.label for each in seen} == {answer.label}
    assert all(each.gap is None for each in seen)
    shares = [1 / (1 + np.exp(-each.log_odds)) for each in seen]
    assert np.mean(shares) == pytest.approx(answer.probabilities[answer.label], abs=1e-4)  # they voted


@pytest.mark.parametrize(("long", "pooling", "gap"), [("first", "max", 20), ("ends", "max", 10), ("ends", "first", 11)])
def test_what_was_left_out_is_marked(long: str, pooling: str, gap: int) -> None:
    seen = untrained(data={"long": long, "max_tokens": 20}, pooling=pooling).look(LONG)
    assert seen.gap == gap
    assert not any(word.first < gap < word.end for word in seen.words)
    assert [place for word in seen.words for place in range(word.first, word.end)] == list(range(len(seen.tokens)))


def test_facts() -> None:
    classifier = untrained()
    classifier.provenance = {"updates": 7, "scores": {"test": [{"name": "accuracy", "value": 91.234}]}}
    assert classifier.facts()["accuracy on test"] == "91.2"
    parameters = sum(parameter.numel() for parameter in classifier.model.parameters())
    assert classifier.facts()["parameters"] == f"{parameters:,}"


def test_ids_are_padded_as_in_training() -> None:
    classifier = untrained(pooling="first")
    ids = np.array(classifier.tokenizer.encode("The soup."))
    with torch.inference_mode():
        wanted = classifier.model(torch.from_numpy(pad([ids], start=True))).softmax(-1)[0]
    found = classifier.classify("The soup.").probabilities
    assert [found[label] for label in LABELS] == pytest.approx(wanted.tolist(), abs=1e-5)
