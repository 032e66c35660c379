"""What is written all in capitals, or all in small letters, is read in the case that the model knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from regard import config
from regard.data.placeholders import PLACEHOLDERS
from regard.data.tokenizer import Tokenizer, train_tokenizer
from regard.errors import UsageError
from regard.tasks.translation.evaluation import TestSet, evaluate
from regard.tasks.translation.reading import Reader, in_capitals, in_small_letters, truecase, with_capitals
from regard.tasks.translation.translator import Translator
from tests.conftest import taught
from tests.tasks.test_protection import Parrot, with_engine

KNOWN = [
    *[
        "Ich habe Hunger und die Straße ist lang",
        "Der Hund heißt Tom",
        "Die NATO hat nun die Karte",
        "die Kinder sind da",
    ]
    * 6,
    *["Hat er die Karte", "und ich habe Hunger", "Die Kinder"] * 6,
]


@pytest.fixture(scope="module")
def tokenizer(tiny_recipe: config.TranslationRecipe) -> Tokenizer:
    settings = replace(tiny_recipe.tokenizer, vocabulary=390, coverage=1.0)
    return train_tokenizer(KNOWN, KNOWN, settings, PLACEHOLDERS)


@pytest.fixture(scope="module")
def translator(tiny_recipe: config.TranslationRecipe, tokenizer: Tokenizer) -> Translator:
    return taught(tiny_recipe, tokenizer, updates=1)


@pytest.mark.parametrize(
    ("text", "capitals", "small"),
    [
        ("ICH HABE HUNGER", True, False),
        ("WIE HEIßT DU?", True, False),
        ("SIEHE https://a.example/b", True, False),
        ("<b>NEIN</b>!", True, False),
        ("Ich habe Hunger", False, False),
        ("Die NATO", False, False),
        ("ich habe hunger", False, True),
        ("A", False, False),
        ("A B C", False, False),
        ("I.", False, False),
        ("123", False, False),
        ("", False, False),
        ("한국 KBS", False, False),
        ("한국 kbs", False, False),
        ("東京", False, False),
        ("مرحبا", False, False),
        ("ΓΕΙΑ ΣΟΥ", True, False),
        ("ПРИВЕТ", True, False),
    ],
)
def test_case_is_that_of_all_letters(text: str, capitals: bool, small: bool) -> None:
    assert (in_capitals(text), in_small_letters(text)) == (capitals, small)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("ICH HABE HUNGER", "Ich habe Hunger"),
        ("DER HUND HEISST TOM", "Der Hund heißt Tom"),
        ("DIE STRASSE IST LANG", "Die Straße ist lang"),
        ("HAT DIE NATO DIE KARTE?", "Hat die NATO die Karte?"),
        ("ICH HABE HUNGER! DIE KINDER SIND DA.", "Ich habe Hunger! Die Kinder sind da."),
        ("  DIE\tKINDER,\n\nDIE KINDER", "  Die\tKinder,\n\nDie Kinder"),
        ("3 KINDER SIND AUF WWW.KINDER.EXAMPLE", "3 Kinder sind auf WWW.Kinder.EXAMPLE"),
    ],
)
def test_each_word_is_read_as_the_tokenizer_knows_it(tokenizer: Tokenizer, text: str, read: str) -> None:
    found = truecase(text, tokenizer, "de")
    if "WWW" not in text:
        assert found == read
    assert found.upper() == text.upper()  # nothing but the case is another
    assert [len(each) for each in found.split()] <= [len(each) for each in text.split()]


def test_small_letters_change_only_where_a_capital_saves_tokens(tokenizer: Tokenizer) -> None:
    assert with_capitals("ich habe hunger und die kinder", tokenizer) == "ich habe Hunger und die Kinder"
    assert with_capitals("die lang", tokenizer) == "die lang"  # `Die` is known as well, and nobody wrote it
    assert (
        with_capitals("x@hunger.example und www.hunger.example", tokenizer) == "x@hunger.example und www.hunger.example"
    )


def test_a_translation_of_capitals_is_in_capitals(translator: Translator) -> None:
    parrot = Parrot()
    model = with_engine(translator, parrot)
    texts = ["ICH HABE HUNGER UM 8:45.", "Ich habe Hunger.", "ich habe hunger."]
    found = [each.text for each in model.translate(texts)]
    assert found == ["ICH HABE HUNGER UM 8:45.", "Ich habe Hunger.", "ich habe Hunger."]
    assert translator.tokenizer.decode(parrot.read[0]).startswith("Ich habe Hunger ")
    assert [model.translate(text).text for text in texts] == found  # whatever else is translated with it
    assert [model.translate(text, truecase=False).text for text in texts] == texts
    parts = model.translate("ICH HABE HUNGER. <b>Die Kinder</b> sind da. DIE STRASSE!")
    assert parts.text == "ICH HABE HUNGER. <b>Die Kinder</b> sind da. DIE STRASSE!"


def test_values_keep_their_case(translator: Translator) -> None:
    for protects in (True, False):
        model = with_engine(translator, Parrot())
        text = "DIE KARTE: <b>HUND</b> an@hund.example {name}"
        assert model.translate(text, protect=protects).text == text


def test_a_prefix_decides_the_case(translator: Translator) -> None:
    model = with_engine(translator, parrot := Parrot())
    assert model.translate("ICH HABE HUNGER", prefix="Die").text == "ICH HABE HUNGER"
    assert translator.tokenizer.decode(parrot.read[0]) == "ICH HABE HUNGER"


def test_what_is_looked_at_is_what_was_read(translator: Translator) -> None:
    seen = translator.attention("ICH HABE HUNGER")
    assert seen.text == "ICH HABE HUNGER"
    assert "".join(seen.source_tokens[:-1]).replace("▁", " ").strip() == "Ich habe Hunger"
    assert seen.translation == translator.translate("ICH HABE HUNGER").text == seen.translation.upper()


def test_the_signature_tells_where_it_matters(translator: Translator) -> None:
    model: Any = with_engine(translator, Parrot())
    capitals = TestSet("x", ["ICH HABE HUNGER"], ["ICH HABE HUNGER"])
    plain = TestSet("x", ["Ich habe Hunger"], ["Ich habe Hunger"])
    assert evaluate(model, capitals).scores[0].signature.endswith("|truecase:yes")
    assert evaluate(model, capitals, truecase=False).scores[0].signature.endswith("|truecase:no")
    assert "truecase" not in evaluate(model, plain).scores[0].signature


def test_truecase_is_true_or_false(translator: Translator) -> None:
    with pytest.raises(UsageError, match="truecase must be True or False"):
        translator.translate("ICH", truecase="yes")  # type: ignore[arg-type]


def test_what_is_read_fits_the_model_in_either_case(translator: Translator) -> None:
    for text in ("STRASSENBAHNSCHILDCHEN " * 40, "straßenbahnschildchen " * 40):
        for on in (True, False):
            with_engine(translator, parrot := Parrot()).translate(text, truecase=on)
            assert max(map(len, parrot.read)) <= translator.longest


def test_reading_takes_linear_time(tokenizer: Tokenizer) -> None:
    """Pages of what could match in many ways; a quadratic expression would take minutes."""
    reader = Reader(tokenizer, "de", protects=False, truecases=True)
    for page in ("A", "A'", "A B ", "SS", "<A", "a"):
        assert reader.read([page * 30_000])
