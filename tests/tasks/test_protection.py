"""Numbers, times, addresses and tags come out as they went in, or it is said that they did not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from regard import config
from regard.data.placeholders import PLACEHOLDERS
from regard.data.tokenizer import Tokenizer, train_tokenizer
from regard.decoding.options import Hypothesis, Search
from regard.errors import UsageError
from regard.tasks.translation.evaluation import TestSet, evaluate
from regard.tasks.translation.translator import Translator
from tests.conftest import made_up_sentences, taught

TEXT = "Um 8:45 Uhr. Schreib <b>sofort</b> an a@b.example!"


class Parrot:
    """An engine that answers with what it read, changed by a function of its tokens."""

    def __init__(self, change: Callable[[list[int]], list[int]] = list) -> None:
        self.change = change
        self.read: list[list[int]] = []

    def decode(self, sources: Sequence[Sequence[int]], *_: Any) -> list[list[Hypothesis]]:
        self.read += map(list, sources)
        found = [tuple(self.change(list(source))) for source in sources]
        return [[Hypothesis(ids, -1.0, -1.0, (-0.1,) * (len(ids) + 1), "end")] for ids in found]


@pytest.fixture(scope="module")
def translator(tiny_recipe: config.TranslationRecipe) -> Translator:
    texts = [*made_up_sentences(1), "0123456789:.<>/@!Uhr Schreib sofort an"]
    tokenizer = train_tokenizer(texts, texts, replace(tiny_recipe.tokenizer, coverage=1.0), PLACEHOLDERS)
    return taught(tiny_recipe, tokenizer, updates=1)


def with_engine(translator: Translator, engine: Any) -> Translator:
    return Translator(translator.model, translator.tokenizer, translator.recipe, {}, engine)


def test_values_stand_behind_placeholders_and_come_back(translator: Translator) -> None:
    parrot = Parrot()
    found = with_engine(translator, parrot).translate(TEXT, warnings=True)
    assert found.text == TEXT
    assert [each.kind for each in found.warnings or ()] == ["copied"]
    assert "8:45" in found.tokens
    first = translator.tokenizer.decode(parrot.read[0])
    assert first == f"Um {PLACEHOLDERS[0]} Uhr."
    plain = Parrot()
    assert with_engine(translator, plain).translate(TEXT, protect=False).text == TEXT
    assert translator.tokenizer.decode(plain.read[0]) == "Um 8:45 Uhr."


def test_a_lost_placeholder_is_read_again_without(translator: Translator) -> None:
    special = translator.tokenizer.size("target") - len(PLACEHOLDERS)
    parrot = Parrot(lambda ids: [each for each in ids if each < special])
    found = with_engine(translator, parrot).translate([TEXT, "Um acht."])
    assert [each.text for each in found] == [TEXT, "Um acht."]  # what the model read the second time
    assert found[0].warnings is None
    assert len(parrot.read) == 3 + 2 + 2  # of the two that lack one, the whole beam, and without
    greedy = Parrot(parrot.change)
    with_engine(translator, greedy).translate([TEXT, "Um acht."], beam=1)
    assert len(greedy.read) == 3 + 2


def test_a_value_that_is_lost_is_told_even_if_nobody_asked(translator: Translator) -> None:
    engine = Parrot(lambda ids: translator.tokenizer.encode("Um acht."))
    found = with_engine(translator, engine).translate("Um 8:45 Uhr.")
    assert [(each.kind, each.side, each.words, each.text) for each in found.warnings or ()] == [
        ("lost", "source", (1,), "8:45")
    ]
    assert found.to_dict()["warnings"][0]["kind"] == "lost"
    assert with_engine(translator, engine).translate("Um acht.").warnings is None


def test_more_values_than_placeholders_and_characters_that_look_like_them(translator: Translator) -> None:
    many = with_engine(translator, Parrot())
    text = "Um " + " ".join(map(str, range(10, 25)))
    assert many.translate(text, split=False).text == text
    assert many.translate(f"Um {PLACEHOLDERS[3]} und 7").text == f"Um {PLACEHOLDERS[3]} und 7"


def test_a_model_without_placeholders_protects_nothing(tiny_translator: Translator) -> None:
    assert tiny_translator.translate("Um 8:45.").text == tiny_translator.translate("Um 8:45.", protect=False).text
    with pytest.raises(UsageError, match=r"trained without `data\.protect`"):
        tiny_translator.translate("Um 8:45.", protect=True)
    with pytest.raises(UsageError, match="protect must be True or False"):
        tiny_translator.translate("Um 8:45.", protect="yes")  # type: ignore[arg-type]


def test_attention_shows_values(translator: Translator) -> None:
    seen = translator.attention("Um 8:45 Uhr.")
    assert seen.text == "Um 8:45 Uhr."
    tokens: Tokenizer = translator.tokenizer
    assert "8:45" in seen.source_tokens or seen.source_tokens[:-1] == tokens.tokens(tokens.encode(seen.text), "source")
    assert not any(
        character in PLACEHOLDERS for each in (*seen.source_tokens, *seen.target_tokens) for character in each
    )
    assert seen.translation == translator.translate("Um 8:45 Uhr.").text


def test_cost_counts_both_readings_and_the_signature_tells(translator: Translator) -> None:
    cost = translator.cost(["Um 8:45 Uhr."])[0]
    assert cost > translator.cost(["Um 8:45 Uhr."], protect=False)[0]
    assert cost > 0
    test = TestSet("x", ["Um 7 Uhr."], ["Um 7 Uhr."])
    parrot = with_engine(translator, Parrot())
    assert all(each.signature.endswith("split:1|protect:yes") for each in evaluate(parrot, test).scores)
    assert all(each.signature.endswith("protect:no") for each in evaluate(parrot, test, protect=False).scores)


def test_what_is_read_fits_the_model(translator: Translator) -> None:
    """Placeholders can take more tokens than what they stand for."""
    parrot = Parrot()
    with_engine(translator, parrot).translate("um 7 8 9 " * 30, split=False)
    assert max(map(len, parrot.read)) <= translator.longest
    assert np.mean([len(read) for read in parrot.read]) > 1


def test_what_has_no_letters_is_copied_and_nobody_is_asked(translator: Translator) -> None:
    engine = Parrot(lambda ids: translator.tokenizer.encode("Um acht."))
    lines = ["00:00:01,000 --> 00:00:03,500", "?", "12", "*** 1) ---", "😀", " ".join(map(str, range(10, 40)))]
    found = with_engine(translator, engine).translate([*lines, "Um acht."], warnings=True, split=False)
    assert [each.text for each in found] == [*lines, "Um acht."]
    assert all(each.warnings == [] for each in found[: len(lines)])
    assert len(engine.read) == 1
    with_engine(translator, engine).translate("?", protect=False)
    assert len(engine.read) == 2
    assert translator.attention("7:30 – 8:45").translation == "7:30 – 8:45"


class Choosy:
    """An engine whose hypotheses are given, as many as are asked for."""

    def __init__(self, *hypotheses: tuple[str, float], tokenizer: Tokenizer) -> None:
        self.found = [(tuple(tokenizer.encode(text, "target")), score) for text, score in hypotheses]

    def decode(self, sources: Sequence[Sequence[int]], search: Search, *_: Any) -> list[list[Hypothesis]]:
        found = [Hypothesis(ids, score, score, (-0.1,) * (len(ids) + 1), "end") for ids, score in self.found]
        return [found[: search.nbest] for _ in sources]


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [((-1.0, -1.5, -1.8), 1), ((-1.0, -2.5, -2.6), 0), ((-1.0, -1.2, -1.1), 1)],
)
def test_a_hypothesis_that_is_nearly_as_good_and_keeps_more_is_taken(
    translator: Translator, scores: tuple[float, ...], chosen: int
) -> None:
    first, second = PLACEHOLDERS[:2]
    lines = [f"Um {first} und {first}.", f"Von {first} an {second}.", f"Um {second}."]
    engine = Choosy(*zip(lines, scores, strict=True), tokenizer=translator.tokenizer)
    found = with_engine(translator, engine).translate("Von 9:00 bis 17:30 Uhr.", beam=3)
    assert found.text == lines[chosen].replace(first, "9:00").replace(second, "17:30")
