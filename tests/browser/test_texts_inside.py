"""Classifiers and language models inside a page: what the browser computes is what Python computes with the same weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

from regard import config
from regard.data.tokenizer import Tokenizer
from regard.errors import UsageError
from regard.tasks.classification import glass_box as of_classifiers
from regard.tasks.classification.assets import ClassificationAssets
from regard.tasks.classification.classifier import Classifier
from regard.tasks.language_model import glass_box as of_writers
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.live_page import LivePage
from regard.tasks.registry import build
from regard.view.arrays import unpack
from regard.view.document import document
from regard.view.portable import PROGRAM, round_weights
from tests.browser.conftest import Open
from tests.browser.reading import NARROW, fits, tabs_of, until
from tests.browser.test_model_inside import same_picture

SHAPE: dict[str, Any] = {"width": 32, "feed_forward": 48, "heads": 4, "layers": 2, "dropout": 0.0, "max_positions": 64}
TEXT = "Ba bo ri. Mala toki, größer 안녕 <b>!"
LONG = "Toki bari lomu. " * 12


def classifier(tokenizer: Tokenizer, long: str = "windows", most: int = 60, **choices: Any) -> Classifier:
    recipe = config.ClassificationRecipe(
        name="moods",
        data=config.LabelledText(max_tokens=most, long=long, replace={"!": " ?"}),
        model=config.TextEncoder(**{**SHAPE, "buckets": 512, **choices}),
    )
    torch.manual_seed(1)
    labels = ("dull", "7", "기쁨")
    model = build(recipe.model, tokenizer.size("source"), len(labels))
    if model.ngram_bag is not None:
        torch.nn.init.normal_(model.ngram_bag.table.weight, std=0.1)
    round_weights(model.state_dict().values())
    return Classifier(model, recipe, ClassificationAssets(tokenizer, labels, temperature=1.7))


def writer(tokenizer: Tokenizer, documents: str = "lines", **choices: Any) -> TextGenerator:
    recipe = config.LanguageRecipe(
        name="prose",
        data=config.PlainText(max_tokens=60, documents=documents),
        model=config.TextDecoder(**{**SHAPE, **choices}),
    )
    torch.manual_seed(2)
    model = build(recipe.model, tokenizer.size("source"))
    round_weights(model.state_dict().values())
    return TextGenerator(model, tokenizer, recipe)


def program(open_page: Open, folder: Path, given: dict[str, Any]) -> Page:
    path = folder / "program.html"
    path.write_text(document("program", "", [], PROGRAM, given), encoding="utf-8")
    return open_page(path)


def scenes_in(page: Page, text: str, **changes: Any) -> list[dict[str, Any]]:
    asked = {
        "model": "",
        "text": text,
        "beam": None,
        "off": {},
        "temperature": 1,
        "hard": False,
        "walk": True,
        **changes,
    }
    found: str = page.evaluate(
        """(request) => JSON.stringify(built(JSON.parse(document.getElementById("data").textContent)).scenes(request),
            (_, value) => value instanceof Float32Array ? [...value] : value)""",
        asked,
    )
    scenes: list[dict[str, Any]] = json.loads(found)
    return scenes


def numbers(packed: dict[str, Any]) -> np.ndarray:
    return np.reshape(packed["data"], packed["shape"])


def same(found: dict[str, Any], wanted: dict[str, Any], kind: str) -> None:
    for name in ("title", "shape", "stacks", "parts", "source", "target", "read", "warnings", "steps", "search"):
        assert found[name] == wanted[name], name
    weights = wanted["attention"][kind]
    assert found["attention"][kind]["off"] == weights["off"]
    assert found["attention"][kind]["names"] == weights["names"]
    np.testing.assert_allclose(numbers(found["attention"][kind]["weights"]), unpack(weights["weights"]), atol=1e-4)
    assert set(found["walk"]) == set(wanted["walk"])
    for module, tensors in wanted["walk"].items():
        assert set(found["walk"][module]) == set(tensors), module
        for name, tensor in tensors.items():
            np.testing.assert_allclose(numbers(found["walk"][module][name]), unpack(tensor), atol=5e-3, rtol=2e-3)
    same_picture(found, wanted)


OFF = {"layers.1.self_attention": [0, 2]}


@pytest.mark.parametrize("documents", ["lines", "stream"])
@pytest.mark.parametrize("choices", [{}, {"norm": "post", "positions": "learned", "tied": False, "activation": "gelu"}])
def test_a_language_model(
    open_page: Open, tmp_path: Path, tiny_tokenizer: Tokenizer, documents: str, choices: dict[str, Any]
) -> None:
    made, text = writer(tiny_tokenizer, documents, **choices), f" {TEXT}\nBa bo. "
    (found,) = scenes_in(program(open_page, tmp_path, of_writers.portable(made)), text, off=OFF, temperature=0.5)
    with made.changed(OFF, 0.5):
        wanted = json.loads(json.dumps(made.look(text).to_dict()))
    same(found, wanted, "decoder")
    assert found["surprise"]["words"] == wanted["surprise"]["words"]
    np.testing.assert_allclose(found["surprise"]["perplexity"], wanted["surprise"]["perplexity"], rtol=1e-3)
    for own, other in zip(found["alternatives"], wanted["alternatives"], strict=True):
        np.testing.assert_allclose(own["probability"], other["probability"], rtol=1e-3)


def test_what_a_language_model_cannot_do_inside_is_refused(tiny_tokenizer: Tokenizer) -> None:
    with pytest.raises(UsageError, match=r"model\.pointer is not computed there"):
        of_writers.portable(writer(tiny_tokenizer, pointer=True))
    with pytest.raises(UsageError, match=r"model\.cutoffs is not computed there"):
        of_writers.portable(writer(tiny_tokenizer, cutoffs=(100, 200), adaptive_factor=2))


@pytest.mark.parametrize("long", ["windows", "ends", "first"])
@pytest.mark.parametrize(("pooling", "ngrams"), [("max", 3), ("mean", 1), ("first", 2)])
def test_a_classifier(
    open_page: Open, tmp_path: Path, tiny_tokenizer: Tokenizer, long: str, pooling: str, ngrams: int
) -> None:
    made = classifier(tiny_tokenizer, long, pooling=pooling, ngrams=ngrams)
    page = program(open_page, tmp_path, of_classifiers.portable(made))
    for text in (TEXT, LONG):
        found = scenes_in(page, text, off=OFF)
        with made.changed(OFF):
            wanted = [json.loads(json.dumps(each.to_dict())) for each in of_classifiers.scenes(made, text)]
        assert len(found) == len(wanted)
        for own, other in zip(found, wanted, strict=True):
            same(own, other, "encoder")
            decided(own["decision"], other["decision"])


def decided(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for name in ("label", "labels", "window", "gap", "temperature"):
        assert found[name] == wanted[name], name
    np.testing.assert_allclose(found["logits"], wanted["logits"], atol=1e-3)
    assert [label for label, _ in found["probabilities"]] == [label for label, _ in wanted["probabilities"]]
    shares = ([share for _, share in each["probabilities"]] for each in (found, wanted))
    np.testing.assert_allclose(*shares, atol=1e-4)
    assert set(found["words"]) == set(wanted["words"])
    for name, values in wanted["words"].items():
        np.testing.assert_allclose(found["words"][name], values, atol=5e-3 if name == "gradient" else 1e-3)
    assert dict(found["ngrams"]).keys() >= {ngram for ngram, value in wanted["ngrams"][:3] if abs(value) > 0.1}


WRITE = """(requests) => {
    const writer = built(JSON.parse(document.getElementById("data").textContent));
    return requests.map((request) => writer.write(request));
}"""


@pytest.mark.parametrize("documents", ["lines", "stream"])
def test_a_language_model_continues_a_text_as_pythons_greedy_does(
    open_page: Open, tmp_path: Path, tiny_tokenizer: Tokenizer, documents: str
) -> None:
    made = writer(tiny_tokenizer, documents)
    with torch.no_grad():
        for parameter in made.model.parameters():
            parameter.mul_(3)  # of a decided opinion: rounding must not choose
        round_weights(made.model.state_dict().values())
    prompts = ["", "Ba bo", "Ba bo ", TEXT, "Ba\n\nbo ri\n", LONG]  # the last one fills the context
    page = program(open_page, tmp_path, of_writers.portable(made))
    unchanged = {"off": {}, "temperature": 1, "hard": False}
    asked = [{"text": each, "most": 80, "temperature": 0, "seed": 0, "changes": unchanged} for each in prompts]
    found = page.evaluate(WRITE, asked)
    assert found == [each.text for each in made.generate(prompts, temperature=0, max_new_tokens=80)]
    assert len(set(found)) > 1
    with made.changed(OFF, 0.5):
        (wanted,) = made.generate(["Ba bo"], temperature=0, max_new_tokens=20)
    changed = {**asked[1], "most": 20, "changes": {"off": OFF, "temperature": 0.5, "hard": False}}
    assert page.evaluate(WRITE, [changed]) == [wanted.text]


def test_a_seed_draws_the_same_text_and_a_temperature_near_0_is_greedy(
    open_page: Open, tmp_path: Path, tiny_tokenizer: Tokenizer
) -> None:
    page = program(open_page, tmp_path, of_writers.portable(writer(tiny_tokenizer)))
    asked = {"text": "Ba bo", "most": 12, "changes": {"off": {}, "temperature": 1, "hard": False}}
    drawn = [(1.0, 1), (1.0, 1), (1.0, 2), (1e-6, 3), (0, 0)]
    found = page.evaluate(WRITE, [{**asked, "temperature": temperature, "seed": seed} for temperature, seed in drawn])
    assert found[0] == found[1] != found[2]
    assert found[3] == found[4]
    counts = page.evaluate(
        """() => { const draw = randomNumbers(5); const scores = Float64Array.from([0, Math.log(2), Math.log(5)]);
        const counts = [0, 0, 0]; for (let n = 0; n < 8000; n++) counts[chosenToken(scores, 1, draw)]++; return counts; }"""
    )
    np.testing.assert_allclose(np.array(counts) / 8000, [1 / 8, 2 / 8, 5 / 8], atol=0.03)


def test_the_page_goes_on_writing_and_looks_at_it(open_page: Open, tmp_path: Path, tiny_tokenizer: Tokenizer) -> None:
    made = writer(tiny_tokenizer)
    told = {"name": "tiny", "title": made.recipe.name, "verb": "generate", **of_writers.about(made)}
    LivePage(told, of_writers.portable(made), "").write(tmp_path / "live.html")
    page: Page = open_page(tmp_path / "live.html", **NARROW)
    page.locator("#live-text").fill("Ba bo")
    page.locator("#live-sampling").fill("0")
    page.locator("#live-most").fill("6")
    page.locator("#live-write").click()
    until(page, "page.scene !== null && !page.live.running")
    (wanted,) = made.generate(["Ba bo"], temperature=0, max_new_tokens=6)
    assert page.locator("#live-text").input_value() == f"Ba bo{wanted.text}"
    assert page.evaluate("page.scene.source.text") == f"Ba bo{wanted.text}".strip()
    page.locator("#language-ko").click()
    expect(page.locator("#live-write")).to_have_text("이어서 쓰기")
    assert fits(page)


@pytest.mark.parametrize("verb", ["classify", "generate"])
def test_the_page(open_page: Open, tmp_path: Path, tiny_tokenizer: Tokenizer, verb: str) -> None:
    box, made = (
        (of_classifiers, classifier(tiny_tokenizer, most=24))
        if verb == "classify"
        else (of_writers, writer(tiny_tokenizer))
    )
    told = {"name": "tiny", "title": made.recipe.name, "verb": verb, **box.about(made)}
    LivePage(told, box.portable(made), TEXT).write(tmp_path / "live.html")
    page: Page = open_page(tmp_path / "live.html", **NARROW)
    until(page, "page.scene !== null")  # the page begins with its text
    expect(page.locator("#live-text")).to_have_value(TEXT)
    assert ("decision" if verb == "classify" else "writing") in tabs_of(page)
    assert fits(page)
    page.locator("#live-hard").check()
    until(page, "!page.live.running && page.live.asked?.hard")
    page.locator("#live-text").fill(LONG)
    page.keyboard.press("Enter")
    if verb == "generate":
        expect(page.locator(".live .error")).to_contain_text("this model looks back at most 60")
    else:
        until(page, "page.scenes.length > 1")
