"""A model of several directions goes the way that a text's letters tell, unless somebody says into which language."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from regard import config
from regard.config.translation import Corpus
from regard.data.languages import by_letters
from regard.data.tokenizer import train_tokenizer
from regard.tasks.translation.translator import Translator
from tests.conftest import made_up_sentences, taught
from tests.tasks.test_protection import Parrot, with_engine

TEXTS = ["감사합니다.", "Thank you.", "3,000", "KBS 방송국에 가요.", "I met 민수 in the park.", ""]
INTO = ["en", "ko", "en", "en", "ko", "en"]  # the first direction where no letter tells


@pytest.fixture(scope="module")
def translator(tiny_recipe: config.TranslationRecipe) -> Translator:
    entry = Corpus("talk", ("talk.tsv",), source_language="ko", target_language="en", both_directions=True)
    german = Corpus("german", ("german.tsv",), source_language="de", target_language="en")
    data = replace(tiny_recipe.data, train=(), valid=(), test={}, corpus=(entry, german))
    texts = [*made_up_sentences(1), *TEXTS]
    tokenizer = train_tokenizer(texts, texts, replace(tiny_recipe.tokenizer, coverage=1.0))
    return taught(replace(tiny_recipe, data=data), tokenizer.with_tags(data.tags), updates=1)


@pytest.mark.parametrize(
    ("text", "languages", "number"),
    [
        ("감사합니다", ["en", "ko"], 1),
        ("Danke", ["ko", "en", "de"], 1),
        ("東京", ["ko", "ja"], 1),
        ("123", ["ko", "en"], 0),
        ("abc", ["xx", "yy"], 0),
        ("Привет", ["en", "ru"], 1),
    ],
)
def test_the_letters_of_a_text(text: str, languages: list[str], number: int) -> None:
    assert by_letters(text, languages) == number


def test_each_text_goes_its_way(translator: Translator) -> None:
    model = with_engine(translator, parrot := Parrot(lambda ids: [each for each in ids if each not in tags]))
    tags = {translator.tokenizer.tag(f"<2{language}>"): language for language in ("en", "ko")}
    assert [each.text for each in model.translate(TEXTS)] == TEXTS  # in their order
    assert sorted(tags[read[0]] for read in parrot.read) == sorted(
        into for text, into in zip(TEXTS, INTO, strict=True) if text
    )
    for text, into in zip(TEXTS, INTO, strict=True):
        parrot.read.clear()
        model.translate(text)
        assert [tags[read[0]] for read in parrot.read] == ([into] if text else [])
        assert model.cost([text]) == model.cost([text], to=into)


def test_whoever_asks_for_a_language_gets_it(translator: Translator) -> None:
    model = with_engine(translator, parrot := Parrot())
    korean = translator.tokenizer.tag("<2ko>")
    for way in (model.to("ko"), model):
        parrot.read.clear()
        way.translate(["감사합니다.", "Thank you."], **({} if way is not model else {"to": "ko"}))
        assert [read[0] for read in parrot.read] == [korean, korean]


def test_score_and_attention_go_the_same_way(translator: Translator) -> None:
    for text, into in (("Thank you.", "ko"), ("감사합니다.", "en")):
        assert translator.score(text, "abc") == translator.score(text, "abc", to=into)
        assert translator.attention(text).source_tokens[0] == f"<2{into}>"
        assert translator.look_size(text) == translator.look_size(text, to=into)


def test_a_tag_is_no_word_that_could_be_missing(translator: Translator) -> None:
    """Nor is one of a translation that looked at nothing but the end."""
    for text in ("감사합니다.", "I met 민수 in the park."):
        looked = translator.attention(text)
        weights = {kind: np.zeros_like(each) for kind, each in looked.weights.items()}
        weights["cross"][..., -1] = 1
        (unseen,) = [each["words"] for each in replace(looked, weights=weights).warnings() if each["kind"] == "unseen"]
        assert looked.source_tokens[0].startswith("<2")
        assert 0 not in unseen
        assert 1 in unseen
