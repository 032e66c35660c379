"""A page with the model inside: what the browser computes is what Python computes with the same rounded weights."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from copy import copy, deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Page, expect

import regard
from regard import config
from regard.bundled import __file__ as bundled
from regard.data.sentences import rules_of, split_sentences
from regard.errors import UsageError
from regard.models.transformer import Transformer
from regard.tasks.translation.attention import Attention
from regard.tasks.translation.portable import portable
from regard.tasks.translation.translator import Translator
from regard.view.arrays import unpack
from regard.view.document import document
from regard.view.portable import PROGRAM, pack_weights, round_weights, rounded
from tests.browser.conftest import PATIENCE, SENTENCE, Open
from tests.browser.hostile_lines import hostile_lines
from tests.browser.reading import NARROW, fits, go_to, tabs_of, until
from tests.data.test_sentences import EXAMPLES

TEXT = "Guten Tag, Hr. Dr. Meier! Am 3. Mai komme ich z.B. um 8 Uhr. »Wie geht's?«, fragte er. Gut.\nUnd dir?"


def german(count: int) -> list[str]:
    """Sentences of the bundled corpus that the demo was not trained on."""
    with lzma.open(Path(bundled).parent / "tatoeba-de-en.tsv.xz", "rt", encoding="utf-8") as lines:
        rows = (line.rstrip("\n").split("\t") for line in lines)
        found = [source for split, source, _ in rows if split == "test"]
    return found[:count]


@pytest.fixture(scope="module")
def rounded_demo(demo: regard.Translator) -> regard.Translator:
    """With the very numbers that the page has."""
    changed = deepcopy(regard.load("demo", engine="native"))
    round_weights(changed.model.state_dict().values())
    return changed


@pytest.fixture(scope="module")
def live_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("inside") / "demo.html"
    regard.view("demo", output=path, live=True)
    return path


@pytest.fixture
def program(open_page: Open, tmp_path: Path) -> Callable[[regard.Translator], Page]:
    """`program(model)`: a page in whose own thread the translator is `translator`."""

    def start(translator: regard.Translator) -> Page:
        path = tmp_path / "program.html"
        scripts = [name for name in PROGRAM if name != "worker"]
        path.write_text(document("program", "", [], scripts, portable(translator)), encoding="utf-8")
        page = open_page(path)
        page.evaluate(
            "() => { self.translator = new PortableTranslator(JSON.parse(document.getElementById('data').textContent)); }"
        )
        return page

    return start


def test_rounding_is_what_was_packed() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Linear(128, 6)
    with torch.no_grad():
        layer.weight[2] = 0
    packed = pack_weights(layer)
    assert [(each["name"], each["group"]) for each in packed["tensors"]] == [("weight", 64), ("bias", 0)]
    near = rounded(layer.weight)
    assert not near[2].any()
    assert (near - layer.weight).abs().max() <= layer.weight.abs().max() / 253
    torch.testing.assert_close(rounded(near), near)
    assert rounded(layer.bias) is not layer.bias
    assert torch.equal(rounded(layer.bias), layer.bias.detach())


@pytest.mark.parametrize("count", [15, pytest.param(100, marks=pytest.mark.slow)])
def test_logits_greedy_and_beam_are_pythons(program: Any, rounded_demo: regard.Translator, count: int) -> None:
    page = program(rounded_demo)
    sentences = german(count)
    assert len(sentences) == count
    sentences[:3] = [sentences[0].upper(), sentences[1].lower(), "ICH HEISSE TOM. Er nicht."]
    for source in sentences[:5]:
        read, target = (
            rounded_demo.encode([source])[0],
            rounded_demo.tokenizer.encode("I have no time today.", "target"),
        )
        found = page.evaluate(
            "([source, read]) => translator.model.forward(source, read).map((row) => [...row])",
            [[*read, 2], [1, *target]],
        )
        np.testing.assert_allclose(found, rounded_demo._logits(read, target).numpy(), atol=1e-3)
    translate = """([texts, beam]) => texts.map((text) => translator.split(text).map((part) =>
        [translator.searched(part, { ...translator.given.decoding, beam })].map(({ part, best }) =>
            writtenOf(part, best.tokens, translator.target))).join(" "))"""
    for beam, texts in ((1, sentences), (5, sentences[: count // 5])):
        expected = [each.text for each in rounded_demo.translate(texts, beam=beam)]
        assert page.evaluate(translate, [texts, beam]) == expected


VARIANTS = {
    "post": {"norm": "post", "positions": "learned", "tied": False, "activation": "gelu"},
    "bare": {
        "norm": "none",
        "residual": False,
        "positions": "none",
        "scale": False,
        "bias": False,
        "activation": "swish",
    },
    "wide": {"key_width": 3, "value_width": 5, "feed_forward": 0},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_every_setting_of_a_transformer(program: Any, rounded_demo: regard.Translator, name: str) -> None:
    """Logits of random weights, as the recipe's settings have them."""
    torch.manual_seed(1)
    sizes = {"width": 16, "heads": 2, "encoder_layers": 2, "decoder_layers": 2, "feed_forward": 24}
    settings = replace(rounded_demo.recipe.model, **{**sizes, **VARIANTS[name]})
    size = rounded_demo.tokenizer.size("target")
    model = Transformer(settings, size, size)
    round_weights(model.state_dict().values())
    made = Translator(model, rounded_demo.tokenizer, replace(rounded_demo.recipe, model=settings))
    page = program(made)
    read, target = made.encode(["Das ist gut."])[0], [300, 301, 302]
    found = page.evaluate(
        "([source, read]) => translator.model.forward(source, read).map((row) => [...row])", [[*read, 2], [1, *target]]
    )
    expected = made._logits(read, target).numpy()
    assert np.abs(expected).max() > 1e-2
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_another_architecture_is_refused_by_name(demo: regard.Translator) -> None:
    other = copy(demo)
    other.recipe = replace(demo.recipe, model=config.Recurrent())
    with pytest.raises(UsageError, match="cannot run inside a page: its architecture is 'rnn'"):
        portable(other)


def test_texts_are_split_as_in_python(program: Any, rounded_demo: regard.Translator) -> None:
    page = program(rounded_demo)
    glued = "Am 24. 12. 2020. Siehe www.a.example. Dann a@b.example. Gut. Ich habe Hunger.Wo bist du?Hier!Komm.Es war z.B.Ein Buch.I am here.It's Node.Js?The.End 했어요.그래서"
    lists = "- Gut. - Ja.\n  • Nein\n\n> 1. Hallo\r\n(12)  Danke\nB) Komm\n-5 Grad\n- - so\n \n- "
    texts = [TEXT, glued, lists, " ".join(german(8)), "Ein sehr langer Satz, " * 40, *hostile_lines(150)]
    expected = [[part.text for part in rounded_demo.split(text)] for text in texts]
    assert page.evaluate("(texts) => texts.map((text) => translator.split(text))", texts) == expected
    texts += [example.replace("|", "") for examples in EXAMPLES.values() for example in examples]
    for language in ("fi", "", *EXAMPLES):
        found = page.evaluate(
            "([texts, rules]) => texts.map((text) => splitSentences(text, rules))", [texts, rules_of(language)]
        )
        assert found == [split_sentences(text, language) for text in texts]


def same_scene(found: dict[str, Any], expected: Attention) -> None:
    """All that a page draws, but for rounding."""
    wanted = json.loads(json.dumps(expected.to_dict()))
    for name in ("source", "target", "read", "parts", "title", "shape", "stacks", "warnings"):
        assert found[name] == wanted[name], name
    for kind, weights in wanted["attention"].items():
        assert found["attention"][kind]["off"] == weights["off"]
        assert found["attention"][kind]["names"] == weights["names"]
        np.testing.assert_allclose(numbers(found["attention"][kind]["weights"]), unpack(weights["weights"]), atol=1e-4)
    assert set(found["walk"]) == set(wanted["walk"])
    for module, tensors in wanted["walk"].items():
        assert set(found["walk"][module]) == set(tensors), module
        for name, tensor in tensors.items():
            np.testing.assert_allclose(numbers(found["walk"][module][name]), unpack(tensor), atol=0.02, rtol=2e-3)
    np.testing.assert_allclose(numbers(found["positions"]), unpack(wanted["positions"]), atol=1e-3)
    same_picture(found, wanted)
    for own, other in zip(found["alternatives"], wanted["alternatives"], strict=True):
        np.testing.assert_allclose(own["probability"], other["probability"], atol=1e-4)
        assert own["tokens"][0] == other["tokens"][0]
    assert [[each["text"] for each in step["kept"]] for step in found["steps"]] == [
        [each["text"] for each in step["kept"]] for step in wanted["steps"]
    ]
    assert {name: found["search"][name] for name in ("beam", "alpha", "length_penalty")} == {
        name: wanted["search"][name] for name in ("beam", "alpha", "length_penalty")
    }


def same_picture(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """What each layer would predict, and the matrices."""
    assert [len(layer) for layer in found["lens"]] == [len(layer) for layer in wanted["lens"]]
    for own_layer, layer in zip(found["lens"], wanted["lens"], strict=True):
        for own, other in zip(own_layer, layer, strict=True):
            np.testing.assert_allclose(own["probability"], other["probability"], atol=1e-4)
            np.testing.assert_allclose(own["probabilities"], other["probabilities"], atol=1e-4)
    assert set(found["matrices"]) == set(wanted["matrices"])
    for module, matrices in wanted["matrices"].items():
        for letter, matrix in matrices.items():
            own = found["matrices"][module][letter]
            assert own["shape"] == matrix["shape"]
            np.testing.assert_allclose(numbers(own["strips"]), unpack(matrix["strips"]), atol=1e-3, rtol=2e-3)


def numbers(packed: dict[str, Any]) -> np.ndarray:
    return np.reshape(packed["data"], packed["shape"])


LOOK = """(request) => JSON.stringify(translator.scenes(request),
    (_, value) => value instanceof Float32Array ? [...value] : value)"""


@pytest.mark.parametrize(
    ("off", "temperature", "hard"),
    [
        ({}, 1.0, False),
        ({"decoder.0.cross_attention": [1, 3], "encoder.1.self_attention": [0]}, 2.0, False),
        ({}, 1.0, True),
    ],
)
def test_a_scene_is_pythons(
    program: Any, rounded_demo: regard.Translator, off: dict[str, list[int]], temperature: float, hard: bool
) -> None:
    page = program(rounded_demo)
    asked = {
        "model": "demo",
        "text": SENTENCE,
        "beam": 2,
        "to": None,
        "off": off,
        "temperature": temperature,
        "hard": hard,
        "walk": True,
    }
    (found,) = json.loads(page.evaluate(LOOK, asked))
    with rounded_demo.changed(off, temperature, hard):
        same_scene(found, rounded_demo.attention(SENTENCE, beam=2))


@pytest.fixture
def page(open_page: Open, live_demo: Path) -> Page:
    return open_page(live_demo)


def ask(page: Page, text: str) -> None:
    page.locator("#live-text").fill(text)
    page.keyboard.press("Enter")


def test_type_a_sentence_and_look(page: Page, rounded_demo: regard.Translator) -> None:
    ask(page, SENTENCE)
    expect(page.locator("#translation")).to_have_text(rounded_demo.translate(SENTENCE).text, timeout=3 * PATIENCE)
    assert {"look", "walk", "steps", "positions"} <= set(tabs_of(page))
    go_to(page, "walk")
    until(page, "page.scene.walk !== null")
    page.locator("#live-beam").fill("1")
    page.locator("#live-hard").check()
    until(page, "!page.live.running && page.live.asked.hard")
    with rounded_demo.changed(hard=True):
        expected = rounded_demo.translate(SENTENCE, beam=1).text
    expect(page.locator("#translation")).to_have_text(expected)
    until(page, "page.live.shown !== null")


def test_a_text_stays_text_and_parts_are_told(page: Page) -> None:
    ask(page, "<img src=x onerror=alert(1)>! Das ist gut.")
    until(page, "page.scenes.length === 2")
    assert page.locator("img").count() == 0
    assert page.locator("#parts option").count() == 2


def test_the_policy_lets_the_thread_run_and_nothing_else(live_demo: Path) -> None:
    html = live_demo.read_text(encoding="utf-8")
    policy = html[: html.index("<style")].partition('content="')[2].partition('"')[0]
    assert "worker-src blob:" in policy
    assert "connect-src" not in policy
    assert "unsafe-eval" not in policy
    assert "default-src 'none'" in policy
    assert live_demo.stat().st_size < 10_000_000


def test_a_phone_and_korean(open_page: Open, live_demo: Path) -> None:
    page = open_page(live_demo, **NARROW, locale="ko-KR")
    expect(page.locator(".inside")).to_contain_text("이 기기에서 실행됩니다")
    ask(page, "Das ist gut.")
    until(page, "page.scene !== null")
    assert fits(page)
