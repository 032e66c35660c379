"""A stored model still translates the same: the bundled one, written by 0.1.0, stands for every model of its format."""

from __future__ import annotations

from importlib import resources

import pytest

import regard
from regard import Translator

WRITTEN_BY_0_1_0 = {
    "Ich habe Hunger.": "I'm hungry.",
    "Wo ist der Bahnhof?": "Where is the station?",
    "Das Wetter ist heute schön.": "The weather is beautiful today.",
    "Der Mann, den du gestern gesehen hast, ist mein Lehrer.": "The man you saw yesterday is my teacher.",
}


@pytest.fixture(scope="module")
def demo() -> Translator:
    return regard.load("demo")


def test_it_translates_the_same(demo: Translator) -> None:
    found = demo.translate(list(WRITTEN_BY_0_1_0))
    assert [each.text for each in found] == list(WRITTEN_BY_0_1_0.values())


def test_the_company_does_not_matter(demo: Translator) -> None:
    for text, translation in WRITTEN_BY_0_1_0.items():
        assert demo.translate(text).text == translation


def test_it_says_where_it_comes_from(demo: Translator) -> None:
    scores = demo.provenance["scores"]["test"]
    assert scores[0]["name"] == "BLEU"
    assert scores[0]["signature"].startswith("nrefs:1|case:mixed")
    assert demo.provenance["training_examples"] > 100_000
    assert set(demo.provenance) >= {"versions", "seed", "updates", "data"}


def test_it_is_small_enough_to_ship() -> None:
    assert len((resources.files("regard") / "bundled" / "demo.safetensors").read_bytes()) <= 12 * 2**20
