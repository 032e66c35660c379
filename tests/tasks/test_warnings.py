"""What speaks against a translation is told, and what does not is not."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import regard
from regard import config
from regard.attention.record import record
from regard.data.tokenizer import Tokenizer
from regard.errors import UsageError
from regard.tasks.translation.native import coverages, known_pairs
from regard.tasks.translation.training import usual_ratio
from regard.tasks.translation.warnings import (
    SEEN,
    USUAL_RATIO,
    alignment_layer,
    coverage,
    doubts,
    unseen_words,
)
from tests.conftest import made_up_sentences
from tests.tasks.test_vectors import of_translation

SOURCE = ["▁he", "▁co", "mes", "▁home", "▁and", "▁sl", "eeps", ".", "</s>"]  # words: he comes home and sleeps. end


def test_words_that_got_no_attention() -> None:
    covered = np.ones(len(SOURCE))
    assert unseen_words(covered, SOURCE) == []
    covered[-2:] = 0  # the full stop and the end are nobody's loss
    assert unseen_words(covered, SOURCE) == []
    covered[4] = SEEN / 3  # a small word alone may be left out
    assert unseen_words(covered, SOURCE) == []
    covered[4] = SEEN / 20
    assert unseen_words(covered, SOURCE) == [(3,)]
    covered[4:7] = SEEN / 3
    assert unseen_words(covered, SOURCE) == [(3, 4)]
    covered[4:7] = SEEN * 0.9  # that little is missing of two
    assert unseen_words(covered, SOURCE) == []
    covered[4:7] = covered[0] = 0
    assert unseen_words(covered, SOURCE) == [(0,), (3, 4)]


def test_the_end_looks_around_and_translates_nothing() -> None:
    weights = np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(coverage(weights), [1.7, 0.3, 0.0])


def kinds(source: str, target: str, ratio: tuple[float, float] = USUAL_RATIO) -> list[str]:
    tokens = ["▁" + word for word in source.split()], ["▁" + word for word in target.split()]
    return [each.kind for each in doubts(*tokens, None, ratio)]


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        ("er ist nicht da", "he is not there", []),
        ("es ist müde und es schläft", "because it is tired because it is tired", ["repeated"]),
        ("er ging heim weil er so müde war", "He went home , he went home .", ["repeated"]),
        ("nein , nein , nein !", "No , no , no !", []),  # so does the source
        ("er sagt ja ja und geht nach Hause", "he says yes yes yes and goes home now", ["repeated"]),
        ("ich habe wirklich Hunger", "I am BAAAABAAAABA hungry", ["repeated"]),
        ("hahahaha sagt er", "hahahaha he says", []),
        ("Tom Miller und Mary Brown und Bob", "Tom Miller and Mary Brown and Bob", []),
        ("eins zwei drei vier fünf sechs", "one", ["short"]),
        ("eins zwei drei vier fünf", "a b c d e f g h i j k l m n o p q", ["long"]),
        ("eins zwei", "one two three four five six seven", []),  # too short a source to say
        ("der Hund läuft nach Hause zurück", "der Hund läuft nach Hause zurück", ["copied"]),
        ("Tom und Maria sind jetzt in Berlin", "Tom and Maria are now back at home in Berlin", []),
        ("", "", []),
    ],
)
def test_lengths_repetitions_and_copies(source: str, target: str, found: list[str]) -> None:
    assert kinds(source, target) == found


def test_what_is_usual_follows_from_the_training_text() -> None:
    lengths = np.stack([np.full(2_000, 10), np.arange(2_000) % 10 + 5], axis=1)
    assert usual_ratio(lengths) == [0.5, 1.4]
    assert usual_ratio(lengths[:10]) == list(USUAL_RATIO)  # too few to say
    assert kinds("a b c d e f", "x y", (0.5, 1.4)) == ["short"]
    assert kinds("a b c d e f", "x y z", (0.5, 1.4)) == []
    with_end = ["▁a", "▁b", "▁c", "▁d", "▁e", "▁f", "</s>"], ["▁x", "▁y", "▁z"]
    assert doubts(*with_end, None, (0.5, 1.4)) == []  # the end of the source is none of the tokens that were counted


def test_all_pairs_of_a_batch_are_covered_as_one_alone_is(tiny_translator: regard.Translator) -> None:
    sources = tiny_translator.tokenizer.encode_all(made_up_sentences(2, 5), "source")
    targets = tiny_translator.tokenizer.encode_all(made_up_sentences(3, 5), "target")
    together = coverages(tiny_translator.model, sources, targets)
    for source, target, found in zip(sources, targets, together, strict=True):
        assert found.shape == (len(source) + 1,)
        assert found.sum() == pytest.approx(len(target), rel=1e-4)  # each token that was written looks for 1 in all
        np.testing.assert_allclose(found, coverages(tiny_translator.model, [source], [target])[0], atol=1e-5)


@pytest.mark.parametrize("architecture", ["transformer", "rnn-attention", "conv"])
def test_what_is_covered_is_what_a_record_of_the_whole_model_shows(
    architecture: str, tiny_tokenizer: Tokenizer, tiny_recipe: config.TranslationRecipe
) -> None:
    translator = of_translation(architecture, tiny_tokenizer, tiny_recipe)
    source, target = (tiny_tokenizer.encode_all(made_up_sentences(seed, 1), "source") for seed in (2, 3))
    with torch.inference_mode(), record(translator.model) as seen:
        translator.model(*known_pairs(translator.model, source, target))
    names = translator.model.attention_names()["cross"]
    weights = seen[names[alignment_layer(len(names))]]["weights"][0].mean(0)  # [T + 1, K + 1]
    np.testing.assert_allclose(coverages(translator.model, source, target)[0], coverage(weights.numpy()), atol=1e-9)
    assert translator.translate(made_up_sentences(4, 1)[0], warnings=True).warnings is not None


def test_a_translation_tells_them_where_it_is_asked_to(tiny_translator: regard.Translator) -> None:
    text = made_up_sentences(4, 1)[0]
    assert tiny_translator.translate(text).warnings is None
    found = tiny_translator.translate(text, warnings=True, nbest=2)
    assert found.warnings is not None
    assert found.alternatives[1].warnings is None  # of the best only
    seen = tiny_translator.attention(text)
    unseen = [list(each.words) for each in found.warnings if each.kind == "unseen"]
    assert unseen == [each["words"] for each in seen.warnings() if each["kind"] == "unseen"]
    assert json.loads(json.dumps(found.to_dict()))["warnings"] == [each.to_dict() for each in found.warnings]
    empty = tiny_translator.translate("", warnings=True)
    assert (empty.text, empty.warnings) == ("", [])
    assert tiny_translator.translate("").warnings is None
    with pytest.raises(UsageError, match="warnings must be True or False"):
        tiny_translator.translate(text, warnings="yes")  # type: ignore[call-overload]
