"""Several models that answer together: one of them is itself, twice the same is the same, and their order does not matter."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard import config
from regard.data.tokenizer import Tokenizer
from regard.errors import UsageError
from regard.models.ensemble import log_mean
from regard.tasks.classification.assets import ClassificationAssets
from regard.tasks.classification.classifier import Classifier
from regard.tasks.classification.ensemble import ensemble as classifiers
from regard.tasks.language_model.assets import LanguageAssets
from regard.tasks.language_model.ensemble import ensemble as generators
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.registry import build
from regard.tasks.task import Trained
from regard.tasks.trained import save_trained
from regard.tasks.translation.assets import TranslationAssets
from regard.tasks.translation.ensemble import ensemble as translators
from regard.tasks.translation.translator import Translator
from tests.commands.calling import fail, succeed
from tests.conftest import made_up_sentences, taught
from tests.tasks import labelled, writers

TEXTS = made_up_sentences(1, 6)


def trained_of(answering: Any) -> Trained:
    """What a model file would have held."""
    assets: Any = {
        Translator: lambda: TranslationAssets(answering.tokenizer),
        TextGenerator: lambda: LanguageAssets(answering.tokenizer),
        Classifier: lambda: answering.assets,
    }[type(answering)]()
    return Trained(answering.model, answering.recipe, assets, dict(answering.provenance))


def together(make: Any, members: Sequence[Any]) -> Any:
    return make([trained_of(each) for each in members], [f"m{number}" for number in range(len(members))])


@pytest.fixture(scope="module")
def pair(tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer) -> list[Translator]:
    """Two translators of different size that were taught the same, in double precision."""
    other = replace(tiny_recipe, model=replace(tiny_recipe.model, width=16, decoder_layers=1))
    both = [taught(tiny_recipe, tiny_tokenizer), taught(other, tiny_tokenizer, 80)]
    return [Translator(copy.deepcopy(each.model).double(), each.tokenizer, each.recipe) for each in both]


def told(translations: Sequence[regard.Translation]) -> list[tuple[str, list[float]]]:
    return [(each.text, each.token_log_probabilities) for each in translations]


def assert_same(one: Sequence[regard.Translation], other: Sequence[regard.Translation]) -> None:
    for (text, logs), (their_text, their_logs) in zip(told(one), told(other), strict=True):
        assert text == their_text
        assert logs == pytest.approx(their_logs, abs=1e-5)


def test_the_mean_is_of_probabilities_and_not_of_logits() -> None:
    certain, torn = torch.tensor([[9.0, 0.0, 0.0]]), torch.tensor([[0.0, 1.0, 0.0]])
    expected = (certain.softmax(-1) + torn.softmax(-1)) / 2
    assert torch.allclose(log_mean([certain, torn]).exp(), expected)
    assert torch.equal(log_mean([torn]), torn)
    never = torch.tensor([[-math.inf, 0.0, 0.0]])
    assert torch.isfinite(log_mean([never, torn])).all()
    assert log_mean([never, never])[0, 0] == -math.inf


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4, "nbest": 2}, {"sample": True, "seed": 3}], ids=str)
def test_twice_the_same_model_is_that_model(pair: list[Translator], options: dict[str, Any]) -> None:
    twice = together(translators, [pair[0], pair[0], pair[0]])
    assert_same(twice.translate(TEXTS, **options), pair[0].translate(TEXTS, **options))


@pytest.mark.parametrize("beam", [1, 4])
def test_the_order_of_translators_does_not_matter_nor_do_neighbours_in_the_batch(
    pair: list[Translator], beam: int
) -> None:
    one, other = together(translators, pair), together(translators, pair[::-1])
    found = one.translate(TEXTS, beam=beam)
    assert_same(found, other.translate(TEXTS, beam=beam))
    assert_same(found, [one.translate(text, beam=beam) for text in TEXTS])


def test_what_is_written_has_the_mean_probability_of_each_token(pair: list[Translator]) -> None:
    both = together(translators, pair)
    targets = made_up_sentences(2, 6)
    found = both.score(TEXTS, targets)
    single = [each.score(TEXTS, targets) for each in pair]
    for number, score in enumerate(found):
        logs = torch.tensor([each[number].token_log_probabilities for each in single])
        assert score.token_log_probabilities == pytest.approx((logs.exp().mean(0)).log().tolist(), abs=1e-6)
    written = both.translate(TEXTS, beam=1)
    again = both.score(TEXTS, [each.text for each in written])
    for each, score in zip(written, again, strict=True):
        if each.finish_reason == "end":
            assert each.token_log_probabilities == pytest.approx(score.token_log_probabilities, abs=1e-5)


def test_two_together_are_not_one_of_them(pair: list[Translator]) -> None:
    target = made_up_sentences(2, 1)[0]
    scores = {round(each.score(TEXTS[0], target).log_probability, 6) for each in (*pair, together(translators, pair))}
    assert len(scores) == 3


def test_warnings_are_told_of_several_too(pair: list[Translator]) -> None:
    one = pair[0].translate(TEXTS, beam=1, warnings=True)
    twice = together(translators, [pair[0], pair[0]]).translate(TEXTS, beam=1, warnings=True)
    assert [each.warnings for each in twice] == [each.warnings for each in one]


def test_what_each_attends_to_is_its_own(pair: list[Translator]) -> None:
    both = together(translators, pair)
    for look in (both.attention, lambda text: list(both.attentions(text))):
        with pytest.raises(UsageError, match="no attention in common; load one of them"):
            look(TEXTS[0])
    with pytest.raises(UsageError, match="vectors"):
        both.embed(TEXTS)
    with pytest.raises(UsageError, match="Name one of a and b"):
        regard.view(["a", "b"], "x")  # type: ignore[arg-type]


def test_who_differs_is_said(pair: list[Translator], tiny_recipe: config.TranslationRecipe) -> None:
    third = trained_of(pair[0])
    strange = replace(third, assets=TranslationAssets(writers.mixed_tokenizer()))
    with pytest.raises(
        UsageError, match="a, b and c cannot answer together: the tokenizer of b is not that of a and c"
    ):
        translators([third, strange, third], ["a", "b", "c"])
    data = replace(third.recipe.data, source_language="xx", target_language="yy")
    turned = replace(third, recipe=replace(third.recipe, data=data))
    with pytest.raises(UsageError, match="the language pair of b is not that of a"):
        translators([third, turned], ["a", "b"])
    with pytest.raises(UsageError, match="native engine only"):
        translators([third, third], ["a", "b"], engine="ctranslate2")
    with pytest.raises(UsageError, match="shortlist"):
        translators([third, third], ["a", "b"], shortlist=True)


def test_several_take_what_suits_all(pair: list[Translator]) -> None:
    members = [trained_of(each) for each in pair]
    members[0].provenance.update(source_tokens=30, length_ratio=[0.5, 2.0], updates=5, calibration=[1, 2])
    members[1].provenance.update(source_tokens=20, length_ratio=[0.7, 3.0], updates=5, calibration=[1, 3])
    both = translators(members, ["a", "b"])
    assert both.longest == 20
    assert both.provenance["length_ratio"] == [0.5, 3.0]
    assert both.provenance["updates"] == 5
    assert "calibration" not in both.provenance


@pytest.fixture(scope="module")
def language() -> list[TextGenerator]:
    """Of every kind, and with contexts of different length; in double precision."""
    tokenizer = writers.mixed_tokenizer()
    recipes = [writers.recipe_of(), writers.recipe_of("transformer-pointer", context=9), writers.recipe_of("rnn")]
    return [writers.untaught(tokenizer, recipe, seed) for seed, recipe in enumerate(recipes)]


LONG = " ".join(made_up_sentences(3, 8))


def test_language_models_write_together(language: list[TextGenerator]) -> None:
    one, other = together(generators, language), together(generators, language[::-1])
    options: dict[str, Any] = {"max_new_tokens": 30, "temperature": 0}
    prompts = [*made_up_sentences(4, 3), "", LONG]
    found = one.generate(prompts, **options)
    assert [each.text for each in found] == [each.text for each in other.generate(prompts, **options)]
    assert [each.text for each in found] == [one.generate(prompt, **options).text for prompt in prompts]
    for member in language:
        twice = together(generators, [member, member])
        assert [each.text for each in twice.generate(prompts, **options)] == [
            each.text for each in member.generate(prompts, **options)
        ]
        drawn = {"max_new_tokens": 20, "temperature": 1.0, "seed": 5}
        assert twice.generate("", **drawn).text == member.generate("", **drawn).text


def test_language_models_score_by_the_mean_of_probabilities(language: list[TextGenerator]) -> None:
    texts = [LONG, *made_up_sentences(5, 3)]
    found = together(generators, language).score(texts)
    single = [each.score(texts) for each in language]
    for number, score in enumerate(found):
        logs = torch.tensor([each[number].token_log_probabilities for each in single])
        assert score.token_log_probabilities == pytest.approx(logs.exp().mean(0).log().tolist(), abs=1e-5)
        assert score.tokens == single[0][number].tokens
    assert together(generators, [language[0]] * 2).score(LONG).ranks == language[0].score(LONG).ranks


def test_language_models_are_evaluated_together(language: list[TextGenerator]) -> None:
    lines = made_up_sentences(6, 40)
    for member in language:
        twice = together(generators, [member, member]).measure(lines)
        once = member.measure(lines)
        assert (twice.tokens, twice.words, twice.lines) == (once.tokens, once.words, once.lines)
        assert twice.log_probability == pytest.approx(once.log_probability, rel=1e-5)
    mixed = together(generators, language)
    found = mixed.measure(iter(lines))
    text = "\n".join(lines)
    assert found.log_probability == pytest.approx(mixed.score(text).log_probability, rel=1e-5)
    assert "carried" in found.context
    assert "windows of 9" in found.context


def test_language_models_with_other_tokenizers_are_refused(language: list[TextGenerator]) -> None:
    other = writers.untaught(writers.mixed_tokenizer("words"), writers.recipe_of(kind="words"))
    with pytest.raises(UsageError, match="the tokenizer of m1 is not that of m0"):
        together(generators, [language[0], other])
    with pytest.raises(UsageError, match="no attention in common"):
        together(generators, language).look("x")


def made_classifiers() -> list[Classifier]:
    """They differ in weights, calibration, windows and the tokenizer."""
    small = labelled.untrained(1.7, {"max_tokens": 20, "long": "windows"})
    first = labelled.untrained(0.6, layers=1)
    torch.manual_seed(7)
    model = build(small.recipe.model, small.tokenizer.size("source"), 3)
    torch.nn.init.normal_(model.output.weight, std=2.0)
    return [first, Classifier(model.double(), small.recipe, small.assets)]


def test_classifiers_answer_by_the_mean_of_calibrated_probabilities() -> None:
    members = made_classifiers()
    texts = [*labelled.texts()[:6], "", "   ", " ".join(labelled.texts()[:5])]
    found = together(classifiers, members).classify(texts)
    assert [dict(each.probabilities) for each in found] == [
        pytest.approx(dict(each.probabilities)) for each in together(classifiers, members[::-1]).classify(texts)
    ]
    for text, each in zip(texts, found, strict=True):
        single = [member.classify(text).probabilities for member in members]
        mean = {label: sum(one[label] for one in single) / 2 for label in single[0]}
        assert dict(each.probabilities) == pytest.approx(mean)
        assert each.label == (max(mean, key=lambda label: mean[label]) if mean else "")
    twice = together(classifiers, [members[0], members[0]]).classify(texts)
    assert [each.label for each in twice] == [each.label for each in members[0].classify(texts)]


def test_classifiers_with_other_labels_are_refused() -> None:
    first, second = made_classifiers()
    second.assets = ClassificationAssets(second.tokenizer, ("negative", "neutral", "rubbish"), 1.0)
    with pytest.raises(UsageError, match="the list of labels of m1 is not that of m0"):
        together(classifiers, [first, second])
    with pytest.raises(UsageError, match="no attention in common"):
        together(classifiers, made_classifiers()).look("x")


@pytest.fixture(scope="module")
def files(pair: list[Translator], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """As run folders hold them, and a language model beside."""
    folder = tmp_path_factory.mktemp("members")
    stranger = writers.untaught(writers.mixed_tokenizer(), writers.recipe_of())
    paths = [folder / name / "model.safetensors" for name in ("a", "b", "language")]
    for path, each in zip(paths, (*pair, stranger), strict=True):
        path.parent.mkdir()
        trained = trained_of(each)
        save_trained(
            path,
            {name: each.detach().float() for name, each in trained.model.named_parameters()},
            trained.recipe,
            trained.assets,
            {},
        )
    return [path.parent for path in paths]


def test_models_are_named_before_texts(files: list[Path], request: pytest.FixtureRequest) -> None:
    first, second, language = files
    notes = logging.getLogger("regard.notes")
    request.addfinalizer(partial(notes.setLevel, notes.level))  # which --verbose changes
    answer = succeed("translate", first, second, TEXTS[0], TEXTS[1], "--verbose")
    assert "2 models answer together" in answer.err
    assert "native (the mean of 2 models)" in answer.err
    expected = regard.load([first, second]).translate(TEXTS[:2])
    assert answer.lines == [each.text for each in expected]
    assert succeed("translate", first, second, stdin="\n".join(TEXTS[:2]).encode()).lines == answer.lines
    single = succeed("translate", first, TEXTS[0], str(second))  # a text comes first: all that follows is text
    assert len(single.lines) == 2
    assert "cannot translate: its task is 'text-generation'" in fail("translate", first, language, "x")
    with pytest.raises(UsageError, match=r"the task of .*language is not that of"):
        regard.load([first, language])


def test_the_verbs_take_several(files: list[Path], tmp_path: Path) -> None:
    first, second, language = files
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(TEXTS) + "\n")
    target.write_text("\n".join(made_up_sentences(2, 6)) + "\n")
    told = succeed("evaluate", first, second, "--source", source, "--target", target, "--beam", 1).out
    assert "BLEU" in told
    assert "several have none in common" in fail(
        "evaluate", first, second, "--source", source, "--target", target, "--save"
    )
    scored = succeed("score", first, second, "--source", source, "--target", target).lines
    assert len(scored) == 6
    twice, once = (succeed("score", *[language] * count, "Ba de.").out.split("\t")[0] for count in (2, 1))
    assert float(twice) == pytest.approx(float(once), abs=1e-3)
    assert "perplexity" in succeed("evaluate", language, language, "--file", source).out
    written = succeed("generate", language, language, "Ba de.", "--max-new-tokens", 5, "--temperature", 0)
    assert written.out == succeed("generate", language, "Ba de.", "--max-new-tokens", 5, "--temperature", 0).out
    assert "one prompt at a time" in fail("generate", language, "a", "b")


def test_an_ensemble_of_one_is_the_model(files: list[Path]) -> None:
    assert type(regard.load([files[0]])) is type(regard.load(files[0]))
    with pytest.raises(UsageError, match="at least one model"):
        regard.load([])


def test_several_in_8_bits_and_in_several_processes(files: list[Path]) -> None:
    rounded = regard.load(files[:2], int8=True).translate(TEXTS, beam=1)
    assert len(rounded) == 6
    plain = regard.load(files[:2])
    shared = regard.load(files[:2], workers=2)
    settings = replace(shared.recipe.decoding, batch_tokens=16)
    shared.recipe = plain.recipe = replace(shared.recipe, decoding=settings)
    assert_same(shared.translate(TEXTS, beam=1), plain.translate(TEXTS, beam=1))
    shared.engine.close()
