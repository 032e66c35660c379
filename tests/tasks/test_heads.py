"""What a head is worth: laws of switching off, and the ways to show it."""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.console import Console

from regard.errors import UsageError
from regard.evaluation.scores import bleu
from regard.tasks.heads import head_importance
from regard.tasks.heads_page import HeadImportance, draw_heads, plot_heads, render_heads, shown, write_heads
from regard.tasks.registry import build
from regard.tasks.task import Examples
from regard.tasks.translation.evaluation import TestSet
from regard.tasks.translation.translator import Translator
from tests.conftest import made_up_sentences
from tests.tasks.labelled import texts as labelled_texts
from tests.tasks.labelled import untrained
from tests.tasks.toy import sentences, toy
from tests.tasks.writers import mixed_tokenizer, recipe_of, untaught


def known(count: int) -> TestSet:
    """Sentences that the tiny translator learned by heart."""
    return TestSet("known", made_up_sentences(1, 16)[:count], made_up_sentences(2, 16)[:count])


def test_the_only_cross_attention_is_worth_everything() -> None:
    lines = [" ".join(words) for words in sentences(7, 12)]
    found = head_importance(toy(False, 1, 1), TestSet("copy", lines, lines), resamples=200)
    assert found.score > 80
    assert found.score + found.differences["cross"][0, 0] < 0.1 * found.score
    assert found.beyond_chance["cross"][0, 0]


def test_a_head_that_says_nothing_is_worth_nothing(tiny_translator: Translator) -> None:
    """Its columns of the output projection are zero, so that switching it off changes no number at all."""
    recipe, tokenizer = tiny_translator.recipe, tiny_translator.tokenizer
    model = build(recipe.model, tokenizer.size("source"), tokenizer.size("target"))
    model.load_state_dict(tiny_translator.model.state_dict())
    width = recipe.model.width // recipe.model.heads
    mute = {"encoder": (0, 1), "decoder": (1, 3), "cross": (1, 0)}
    with torch.no_grad():
        for kind, (layer, head) in mute.items():
            output = model.get_submodule(model.attention_names()[kind][layer]).output
            output.weight[:, head * width : (head + 1) * width] = 0
    found = head_importance(Translator(model, tokenizer, recipe), known(6), resamples=100)
    for kind, place in mute.items():
        assert found.differences[kind][place] == 0
        assert found.p_values[kind][place] == 1
        assert not found.beyond_chance[kind][place]
    assert any(each.any() for each in found.differences.values())


def test_numbers_are_those_of_translating_again(exact_translator: Translator) -> None:
    test_set = known(6)
    found = head_importance(exact_translator, test_set, resamples=100)
    again = head_importance(exact_translator, test_set, resamples=100)
    assert found.to_dict() == again.to_dict()
    assert {kind: each.shape for kind, each in found.differences.items()} == dict.fromkeys(found.differences, (2, 4))

    def greedy() -> float:
        texts = [each.text for each in exact_translator.translate(test_set.sources, beam=1)]
        return bleu(texts, test_set.references, exact_translator.recipe.data.target_language)

    whole = greedy()
    assert found.score == pytest.approx(whole)
    with exact_translator.changed(off={"decoder.1.self_attention": [2]}):
        assert found.differences["decoder"][1, 2] == pytest.approx(greedy() - whole)
    assert greedy() == whole  # all heads are on again


def test_sentences_are_spread_over_the_test_set(tiny_translator: Translator) -> None:
    seen: list[str] = []

    class Watched(Translator):
        def stream(self, texts, **options):  # type: ignore[no-untyped-def, override]
            seen[:] = list(texts)
            return super().stream(texts, **options)

    watched = Watched(tiny_translator.model, tiny_translator.tokenizer, tiny_translator.recipe)
    whole = known(16)
    assert head_importance(watched, whole, sentences=4, resamples=1).sentences == 4
    assert seen == whole.sources[::4]
    assert head_importance(watched, whole, sentences=99, resamples=1).sentences == 16
    with pytest.raises(UsageError, match="at least one is needed"):
        head_importance(watched, TestSet("none", [], []))


def made_up(p_values: list[float]) -> HeadImportance:
    """One head per p-value; the last one costs most."""
    differences = -np.arange(len(p_values), dtype=float)[None]
    return HeadImportance(
        "<b>model</b>", "a & b", 12, 30.0, "nrefs:1", {"cross": differences}, {"cross": np.array([p_values])}
    )


@pytest.mark.parametrize(
    ("p_values", "beyond"),
    [
        ([0.5, 0.04], [False, False]),  # one of two: needs 0.025
        ([0.5, 0.02], [False, True]),
        ([0.05, 0.04], [True, True]),  # together they convince
        ([0.001, 0.03, 0.9, 0.9], [True, False, False, False]),
        ([1.0, 1.0], [False, False]),
    ],
)
def test_many_tests_need_more_than_one_in_twenty(p_values: list[float], beyond: list[bool]) -> None:
    assert made_up(p_values).beyond_chance["cross"][0].tolist() == beyond


def test_differences_as_they_are_read() -> None:
    assert [shown(value) for value in (-1.234, 0.004, -0.004, 0.5)] == ["−1.23", "0.00", "0.00", "+0.50"]


def test_terminal_page_and_picture_show_the_same(tmp_path: Path) -> None:
    found = made_up([0.9, 0.001, 0.9])
    console = Console(width=120, record=True, file=io.StringIO())
    draw_heads(found, console)
    text = console.export_text()
    page = render_heads(found, "regard heads <x> && rm")
    cells = re.findall(r"<td( class='marked')? style='--loss: ([\d.]+)'>([^<]*)</td>", page)
    assert [cell[2] for cell in cells] == ["0.00", "−1.00", "−2.00"]
    assert [float(cell[1]) for cell in cells] == [0.0, 0.5, 1.0]
    assert ["marked" in cell[0] for cell in cells] == [False, True, False]
    for cell, mark in zip(cells, ("", "*", ""), strict=True):
        assert f" {mark}{cell[2]}" in text
    assert "<b>" not in page  # what came from outside stays text
    assert "regard heads &lt;x&gt; &amp;&amp; rm" in page
    assert not re.search(r"https?://|src=|href=", page)
    labels = {each.get_text() for each in plot_heads(found).axes[0].texts}
    assert labels == {cell[2] for cell in cells}
    for name in ("deep/page.html", "picture.svg", "picture.png"):
        write_heads(tmp_path / name, found)
        assert (tmp_path / name).stat().st_size > 1_000
    assert (tmp_path / "deep/page.html").stat().st_size < 50_000
    with pytest.raises(UsageError, match="end its name in"):
        write_heads(tmp_path / "x.jpg", found)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"):
        write_heads(tmp_path / "file" / "x.html", found)


def test_json_counts_from_one() -> None:
    content = json.loads(json.dumps(replace(made_up([0.9, 0.001]), model="m").to_dict()))
    assert content["heads"][1] == {
        "kind": "cross", "layer": 1, "head": 2, "difference": -1.0, "p_value": 0.001, "beyond_chance": True,
    }  # fmt: skip
    assert (content["metric"], content["score"], content["signature"], content["sentences"]) == (
        "BLEU",
        30.0,
        "nrefs:1",
        12,
    )


@pytest.mark.parametrize("kind", ["classifier", "language model"])
def test_numbers_of_other_tasks_are_those_of_asking_again(kind: str) -> None:
    """And a head whose part of the output is zero is worth nothing at all."""
    if kind == "classifier":
        model: Any = untrained(pooling="mean", norm="pre")
        with torch.no_grad():  # loud enough that a label may hang on a head
            for each in model.model.layers:
                each.self_attention.output.weight.mul_(20)
        texts = labelled_texts()
        test_set = Examples("test", texts, [each.label for each in model.classify(texts)])
        score = lambda: accuracy(model, test_set)  # noqa: E731
    else:
        model = untaught(mixed_tokenizer(), recipe_of(documents="lines"))
        test_set = Examples("test", made_up_sentences(3, 6), made_up_sentences(3, 6))
        score = lambda: perplexity(model, test_set)  # noqa: E731
    layer = model.model.layers[1].self_attention
    with torch.no_grad():
        layer.output.weight[:, : layer.output.weight.size(1) // layer.heads] = 0
    found = head_importance(model, test_set, resamples=50)
    (name,) = found.differences
    assert found.score == pytest.approx(score())
    assert (found.differences[name][1, 0], found.p_values[name][1, 0]) == (0, 1)
    with model.changed(off={"layers.0.self_attention": [1]}):
        assert found.differences[name][0, 1] == pytest.approx(score() - found.score)
    assert found.differences[name].any()
    assert found.lower == (kind == "language model")
    assert found.metric in render_heads(found)


def accuracy(model: Any, test_set: Examples) -> float:
    given = [each.label for each in model.classify(test_set.sources)]
    pairs = zip(given, test_set.references, strict=True)
    return 100 * float(np.mean([one == other for one, other in pairs]))


def perplexity(model: Any, test_set: Examples) -> float:
    found = model.score(test_set.sources)
    return math.exp(-sum(each.log_probability for each in found) / sum(each.words for each in found))


def test_of_perplexity_more_is_worse() -> None:
    more = HeadImportance("m", "t", 3, 9.0, "", {"decoder": np.array([[2.0, -1.0]])}, {"decoder": np.array([[0.001, 0.9]])},
                          "perplexity", lower=True)  # fmt: skip
    assert more.worst == 2
    assert more.loss(more.differences["decoder"]).tolist() == [[2.0, 0.0]]
    assert "단어당 퍼플렉서티" in render_heads(more)


def test_a_recurrent_language_model_has_no_heads() -> None:
    model = untaught(mixed_tokenizer(), recipe_of("rnn"))
    with pytest.raises(UsageError, match="'rnn', which has no attention"):
        head_importance(model, Examples("test", ["a"], ["a"]))
