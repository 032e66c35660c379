"""One line in, one line out: what a Translator promises of its answers, and that its parts agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from regard import config
from regard.attention.record import record
from regard.data.tokenizer import END, UNKNOWN, Tokenizer
from regard.errors import DataError, UsageError
from regard.tasks.registry import build
from regard.tasks.translation.results import Translation
from regard.tasks.translation.translator import Translator
from tests.conftest import made_up_sentences

LINES = [*made_up_sentences(1, 6), "", *made_up_sentences(3, 6), "  ", "\u200b", "완전히 새로운 것", "x"]


def same(one: Translation, other: Translation) -> bool:
    return one.text == other.text and one.score == pytest.approx(other.score, abs=1e-4)


def test_it_has_learned_something(tiny_translator: Translator) -> None:
    """Else the tests below would be about noise; most of the sentences it saw come out right."""
    answers = tiny_translator.translate(made_up_sentences(1, 16))
    right = sum(answer.text == line for answer, line in zip(answers, made_up_sentences(2, 16), strict=True))
    assert right >= 8


@pytest.mark.parametrize("beam", [1, 4])
def test_the_company_does_not_matter(tiny_translator: Translator, beam: int) -> None:
    together = tiny_translator.translate(LINES, beam=beam)
    assert len(together) == len(LINES)
    for line, answer in zip(LINES, together, strict=True):
        assert same(tiny_translator.translate(line, beam=beam), answer)
    again = tiny_translator.translate(LINES[::-1] + LINES, beam=beam)
    assert all(map(same, again, together[::-1] + together))
    assert all(map(same, tiny_translator.stream(iter(LINES), look_ahead=3, beam=beam), together))


def test_lines_before_one_that_cannot_be_read_are_answered(tiny_translator: Translator) -> None:
    def lines() -> Iterator[str]:
        yield from LINES[:2]
        raise DataError("line 3 is not UTF-8")

    answers = tiny_translator.stream(lines())
    for line in LINES[:2]:
        assert same(next(answers), tiny_translator.translate(line))
    with pytest.raises(DataError, match="line 3"):
        next(answers)


@pytest.mark.parametrize("line", ["", "   ", "\t\n", "\u200b"])
def test_nothing_in_nothing_out(tiny_translator: Translator, line: str) -> None:
    nothing = Translation("", 0.0, [], [], "empty", parts=0)
    assert tiny_translator.translate(line, prefix="Tuto") == nothing
    assert tiny_translator.translate(line, nbest=2) == replace(nothing, alternatives=[nothing])
    tiny_translator.translate(line).tokens.append("x")  # each answer is the caller's own
    assert tiny_translator.translate(line) == nothing


def test_no_lines_no_answers(tiny_translator: Translator) -> None:
    assert tiny_translator.translate([]) == []


def test_n_best_are_different_ordered_and_begin_with_the_answer(tiny_translator: Translator) -> None:
    for line in made_up_sentences(3, 5):
        answer = tiny_translator.translate(line, beam=4, nbest=4)
        best = answer.alternatives
        assert len(best) == 4
        assert replace(answer, alternatives=[]) == best[0]
        assert [each.score for each in best] == sorted((each.score for each in best), reverse=True)
        assert len({tuple(each.tokens) for each in best}) == 4
        assert same(tiny_translator.translate(line, beam=4), answer)
        assert [each["text"] for each in answer.to_dict()["alternatives"]] == [each.text for each in best]
    assert "alternatives" not in tiny_translator.translate("x").to_dict()


def test_n_best_widen_the_beam_of_the_recipe_but_not_a_given_one(tiny_translator: Translator) -> None:
    line = made_up_sentences(3, 1)[0]
    assert tiny_translator.translate(line, nbest=8) == tiny_translator.translate(line, nbest=8, beam=8)
    assert tiny_translator.search_options(nbest=2)[0].beam == tiny_translator.recipe.decoding.beam
    with pytest.raises(UsageError, match="nbest = 8 needs a beam of at least as many, not 3"):
        tiny_translator.translate(line, nbest=8, beam=3)


def test_alternatives_are_given_even_if_there_is_only_one(tiny_translator: Translator) -> None:
    answer = tiny_translator.translate("x", nbest=3, max_ratio=0.0, max_extra=0)
    assert answer.finish_reason == "length"
    assert answer.alternatives == [replace(answer, alternatives=[])]


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 4}, {"sample": True}], ids=str)
def test_every_answer_begins_with_the_prefix(tiny_translator: Translator, options: dict[str, Any]) -> None:
    tokens = tiny_translator.tokenizer.tokens(tiny_translator.tokenizer.encode("Tuto ba", "target"), "target")
    for answer in tiny_translator.translate(made_up_sentences(3, 5), prefix="Tuto ba", **options):
        assert answer.text.startswith("Tuto ba")
        assert answer.tokens[: len(tokens)] == tokens
        assert len(answer.tokens) > len(tokens) or answer.finish_reason == "end"


def test_a_prefix_takes_nothing_from_the_length_limit(tiny_translator: Translator) -> None:
    prefix = "Tuto ba nemo da " * 3
    begin = len(tiny_translator.tokenizer.encode(prefix, "target"))
    answer = tiny_translator.translate("x", prefix=prefix, max_ratio=0.0, max_extra=4, temperature=50.0, sample=True)
    assert begin > 4
    assert answer.finish_reason == "length"
    assert len(answer.tokens) == begin + 4
    with pytest.raises(
        UsageError, match=r"^the prefix has \d+ tokens; the model's position table ends at 63\. Shorten"
    ):
        tiny_translator.translate(["x", "y"], prefix="Tuto ba " * 40)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_ratio": float("nan")}, "max_ratio must be at least 0 and finite, not nan"),
        ({"max_ratio": float("inf")}, "max_ratio must be at least 0"),
        ({"max_ratio": -1.0}, "max_ratio must be at least 0"),
        ({"max_extra": -1}, "max_extra must be at least 0"),
        ({"max_extra": 2.5}, "max_extra must be a whole number, not 2.5"),
        ({"batch_tokens": 0}, "batch_tokens must be at least 1"),
        ({"beam": "5"}, "beam must be a whole number, not '5'"),
        ({"nbest": "5"}, "nbest must be a whole number, not '5'"),
        ({"prefix": b"He"}, "the prefix must be text, not b'He' of type bytes"),
        ({"look_ahead": 0}, "look_ahead must be a whole number of at least 1, not 0"),
        ({"length_penalty": 3}, "length_penalty must be one of paper, mean, none, not 3"),
    ],
    ids=str,
)
def test_impossible_options_are_refused_at_the_call(
    tiny_translator: Translator, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        tiny_translator.stream(["x"], **options)  # nothing is asked of the answer yet
    assert message in str(error.value)


def test_the_greatest_numbers_are_harmless(tiny_translator: Translator) -> None:
    line = made_up_sentences(1, 1)[0]
    largest = tiny_translator.translate(line, max_ratio=1e308, max_extra=10**30, batch_tokens=10**30)
    assert largest.text == tiny_translator.translate(line, max_ratio=100.0).text


def test_a_hopeless_model_never_writes_unknown(
    tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer
) -> None:
    torch.manual_seed(0)
    model = build(replace(tiny_recipe.model, tied=False), tiny_tokenizer.size("source"), tiny_tokenizer.size("target"))
    with torch.no_grad():  # every other logit is 0, so that unknown would often win
        model.output.weight.zero_()
        model.output.weight[UNKNOWN] = 1.0
        model.output.weight[UNKNOWN, ::2] = -1.0
    translator = Translator(model, tiny_tokenizer, tiny_recipe)
    unknown = tiny_tokenizer.tokens([UNKNOWN], "target")[0]
    for options in ({"beam": 1}, {"beam": 4, "nbest": 4}, {"sample": True, "nbest": 8}):
        for answer in translator.translate(["x", "Tuto ba.", "nemo"], **options):  # type: ignore[call-overload]
            assert unknown not in [token for each in answer.alternatives or [answer] for token in each.tokens]


@pytest.mark.parametrize("wrong", [None, b"Tuto", 3, [None], ["Tuto", b"ba"], {"Tuto": 1}], ids=str)
def test_what_is_no_text_is_named(tiny_translator: Translator, wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"of type (NoneType|bytes|int|dict)"):
        tiny_translator.translate(wrong)
    with pytest.raises(UsageError, match=r"of type (NoneType|bytes|int|dict|list)"):
        tiny_translator.attention(wrong)
    with pytest.raises(UsageError, match=r"of type (NoneType|bytes|int|dict|str)"):
        tiny_translator.score(wrong, ["x"] * len(wrong) if isinstance(wrong, list) else "x")


def test_one_text_is_no_stream(tiny_translator: Translator) -> None:
    with pytest.raises(UsageError, match="stream takes an iterable of texts, such as a list, not 'Tuto' of type str"):
        tiny_translator.stream("Tuto")


def test_tuples_are_lists(tiny_translator: Translator) -> None:
    lines = made_up_sentences(1, 2)
    assert tiny_translator.translate(tuple(lines)) == tiny_translator.translate(lines)
    assert tiny_translator.score(tuple(lines), lines) == tiny_translator.score(lines, tuple(lines))


@pytest.mark.parametrize("batch_tokens", [1, 60, 4_096])
def test_pairs_scored_together_are_scored_as_alone(tiny_translator: Translator, batch_tokens: int) -> None:
    recipe = replace(tiny_translator.recipe, decoding=config.Decoding(batch_tokens=batch_tokens))
    translator = Translator(tiny_translator.model, tiny_translator.tokenizer, recipe)
    sources, targets = ["", *made_up_sentences(1, 20), "Tuto"], [*made_up_sentences(2, 20), "", "ba"]
    shapes: list[tuple[int, int]] = []

    def note(module: object, given: tuple[torch.Tensor, torch.Tensor], output: object) -> None:
        shapes.append((len(given[0]), max(each.size(1) for each in given)))

    with translator.model.register_forward_hook(note):
        together = translator.score(sources, targets)
    assert sum(rows for rows, _ in shapes) == len(sources)
    assert all(rows == 1 or rows * longest <= batch_tokens for rows, longest in shapes)
    assert len(shapes) == {1: len(sources), 4_096: 1}.get(batch_tokens, len(shapes))
    assert batch_tokens == 1 or len(shapes) < len(sources) / 2
    for source, target, found in zip(sources, targets, together, strict=True):
        alone = translator.score(source, target)
        assert found.tokens == alone.tokens == tokens_written(translator.tokenizer, target)
        assert found.token_log_probabilities == pytest.approx(alone.token_log_probabilities, abs=1e-4)
        assert found.log_probability == pytest.approx(alone.log_probability, abs=1e-3)


@pytest.mark.parametrize(
    ("language", "glue"),
    [("de", " "), ("Javanese", " "), ("jav", " "), ("", " "), ("zh-CN", ""), ("ja", ""), ("Chinese (Simplified)", "")],
)
def test_what_stands_between_sentences(tiny_translator: Translator, language: str, glue: str) -> None:
    data = replace(tiny_translator.recipe.data, target_language=language)
    other = Translator(tiny_translator.model, tiny_translator.tokenizer, replace(tiny_translator.recipe, data=data))
    sentences = made_up_sentences(1, 12)
    assert other.translate(" ".join(sentences)).text == glue.join(each.text for each in other.translate(sentences))


def test_samples_follow_from_their_seed(tiny_translator: Translator) -> None:
    lines = made_up_sentences(3, 5)

    def drawn(seed: int) -> list[str]:
        return [each.text for each in tiny_translator.translate(lines, sample=True, seed=seed, temperature=2.0)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    alone = [tiny_translator.translate(line, sample=True, seed=1, temperature=2.0).text for line in lines]
    assert alone == drawn(1)


def test_scores_are_those_of_the_search(tiny_translator: Translator) -> None:
    """The search adds up, step by step from caches, what `score` finds in one pass."""
    lines = [line for line in LINES if line.strip("\u200b ")]
    checked = 0
    for line, answer in zip(lines, tiny_translator.translate(lines), strict=True):
        ids = tiny_translator.tokenizer.encode(answer.text, "target")
        if answer.finish_reason != "end" or tiny_translator.tokenizer.tokens(ids, "target") != answer.tokens:
            continue  # cut off, or written in other tokens than the tokenizer would
        (found,) = tiny_translator.score([line], [answer.text])
        assert found.tokens == answer.tokens
        assert found.token_log_probabilities == pytest.approx(answer.token_log_probabilities, abs=1e-4)
        assert found.log_probability == pytest.approx(sum(answer.token_log_probabilities), abs=1e-3)
        assert found.perplexity == pytest.approx(np.exp(-np.mean(answer.token_log_probabilities)), rel=1e-3)
        penalty = ((5 + len(answer.token_log_probabilities)) / 6) ** 0.6
        assert answer.score == pytest.approx(found.log_probability / penalty, abs=1e-3)
        checked += 1
    assert checked >= 5


def test_pairs_go_in_pairs(tiny_translator: Translator) -> None:
    with pytest.raises(UsageError, match="2 sources were given with 1 targets"):
        tiny_translator.score(["a", "b"], ["c"])


@pytest.mark.parametrize("name", ["beem", "prefixes"])
def test_unknown_options_are_named(tiny_translator: Translator, name: str) -> None:
    with pytest.raises(UsageError, match=f"unknown option '{name}'"):
        tiny_translator.translate("x", **{name: 3})  # type: ignore[call-overload]


def test_long_texts_are_translated_in_parts(tiny_translator: Translator) -> None:
    """A part is translated as if it stood alone, and the answers are put together again."""
    sentences = made_up_sentences(1, 12)
    whole = tiny_translator.translate(" ".join(sentences))
    alone = tiny_translator.translate(sentences)
    assert whole.parts == len(sentences)
    assert whole.text == " ".join(each.text for each in alone)
    assert whole.tokens == [token for each in alone for token in each.tokens]
    assert whole.score == pytest.approx(sum(each.score for each in alone), abs=1e-3)
    by_token = [pair for each in alone for pair in zip(each.tokens, each.token_log_probabilities, strict=False)]
    logs = [value for _, value in by_token]
    assert whole.token_log_probabilities[: len(whole.tokens)] == pytest.approx(logs, abs=1e-3)
    assert len(whole.token_log_probabilities) - len(whole.tokens) == (alone[-1].finish_reason == "end")
    assert any(each.finish_reason == "end" for each in alone[:-1])  # else there was no end to leave out
    endless = tiny_translator.translate("a" * 500 + " " + "나" * 100)
    assert endless.parts > 1
    assert endless.text


def test_attention_fits_its_tokens(tiny_translator: Translator) -> None:
    line = made_up_sentences(1, 1)[0]
    seen = tiny_translator.attention(line)
    answer = tiny_translator.translate(line)
    assert seen.translation == answer.text
    assert seen.source_tokens == [*tokens(tiny_translator.tokenizer, line), "</s>"]
    assert seen.target_tokens == [*answer.tokens, *(["</s>"] if answer.finish_reason == "end" else [])]
    check_attention(tiny_translator, seen.source_tokens, seen.target_tokens, seen.weights)
    assert np.triu(seen.weights["decoder"], 1).max() == 0
    assert not tiny_translator.model.recording
    logits = seen.record["model"]["logits"][0].log_softmax(-1)
    assert logits[-1, END].item() == pytest.approx(answer.token_log_probabilities[-1], abs=1e-4)
    forced = tiny_translator.attention(line, prefix="Tuto ba").translation
    assert forced == tiny_translator.translate(line, prefix="Tuto ba").text
    assert forced.startswith("Tuto ba")


def test_attention_shows_each_part_of_a_long_text(tiny_translator: Translator) -> None:
    sentences = made_up_sentences(1, 12)
    text = " ".join(sentences)
    seen = [tiny_translator.attention(text, part=part) for part in range(12)]
    assert [(each.text, each.parts) for each in seen] == [(sentence, 12) for sentence in sentences]
    assert tiny_translator.translate(text).text == " ".join(each.translation for each in seen)
    assert tiny_translator.attention(text).text == sentences[0]
    short = tiny_translator.attention(f" {sentences[0]}\n")
    assert (short.text, short.parts) == (sentences[0], 1)
    for part in (-1, 12):
        with pytest.raises(UsageError, match=rf"the text has no part {part}; its parts are 0 to 11"):
            tiny_translator.attention(text, part=part)


def test_a_record_is_of_its_own_thread(tiny_translator: Translator) -> None:
    line = made_up_sentences(1, 1)[0]
    with ThreadPoolExecutor(1) as other, record(tiny_translator.model) as seen:
        other.submit(tiny_translator.translate, line).result()
        assert not seen
        assert not other.submit(lambda: tiny_translator.model.recording).result()
        tiny_translator.translate(line)
        assert seen


def test_threads_do_not_disturb_each_other(tiny_translator: Translator) -> None:
    lines = made_up_sentences(1, 4)
    expected = [tiny_translator.attention(line) for line in lines]
    with ThreadPoolExecutor(4) as threads:
        seen = [threads.submit(tiny_translator.attention, line) for line in lines * 3]
        answers = [threads.submit(tiny_translator.translate, line) for line in lines * 3]
        for one, answer, other in zip(seen, answers, expected * 3, strict=True):
            assert answer.result().text == other.translation
            np.testing.assert_allclose(one.result().weights["cross"], other.weights["cross"], atol=1e-5)


def test_attention_of_a_translation_that_never_ends(
    tiny_recipe: config.TranslationRecipe, tiny_tokenizer: Tokenizer
) -> None:
    """It fills the whole position table, and each written token still has its row."""
    torch.manual_seed(0)
    model = build(replace(tiny_recipe.model, tied=False), tiny_tokenizer.size("source"), tiny_tokenizer.size("target"))
    with torch.no_grad():
        model.output.weight[END] = 0
    translator = Translator(model, tiny_tokenizer, tiny_recipe)
    seen = translator.attention("Tuto ba.", max_extra=1_000)
    assert seen.target_tokens[-1] != "</s>"
    assert len(seen.target_tokens) == model.max_positions
    check_attention(translator, seen.source_tokens, seen.target_tokens, seen.weights)


def check_attention(
    translator: Translator, source: list[str], target: list[str], weights: Mapping[str, np.ndarray]
) -> None:
    layers, heads = translator.recipe.model.encoder_layers, translator.recipe.model.heads
    assert {kind: each.shape for kind, each in weights.items()} == {
        "encoder": (layers, heads, len(source), len(source)),
        "decoder": (layers, heads, len(target), len(target)),
        "cross": (layers, heads, len(target), len(source)),
    }
    for each in weights.values():
        np.testing.assert_allclose(each.sum(-1), 1.0, atol=1e-5)


def tokens_written(tokenizer: Tokenizer, text: str) -> list[str]:
    return tokenizer.tokens(tokenizer.encode(text, "target"), "target")


def tokens(tokenizer: Tokenizer, line: str) -> list[str]:
    return tokenizer.tokens(tokenizer.encode(line, "source"), "source")


def test_what_cannot_be_looked_at_is_refused(tiny_translator: Translator) -> None:
    with pytest.raises(UsageError, match="the text is empty"):
        tiny_translator.attention("  ")
    with pytest.raises(UsageError, match="leave no room to write"):
        tiny_translator.attention("x", max_ratio=0.0, max_extra=0)
    with pytest.raises(UsageError, match=r"the source has .* tokens; the model's position table ends at 63"):
        tiny_translator.score("ka " * 100, "x")
    with pytest.raises(UsageError, match=r"the target has .* tokens"):
        tiny_translator.score(["x"], ["ka " * 100])


@pytest.mark.parametrize("options", [{}, {"warnings": True}, {"prefix": "Ba"}, {"beam": 1}])
def test_a_text_told_in_parts_is_the_same(tiny_translator: Translator, options: dict[str, Any]) -> None:
    text = " ".join(made_up_sentences(1, 6)) + "\n\n" + made_up_sentences(1, 1)[0]
    for each in (text, "", made_up_sentences(1, 1)[0]):
        told: list[str] = []
        whole = tiny_translator.translate_parts(each, told.append, **options)
        wanted = tiny_translator.translate(each, **options)
        assert (whole.text, whole.tokens, whole.parts, whole.warnings) == (
            wanted.text, wanted.tokens, wanted.parts, wanted.warnings
        )  # fmt: skip
        assert "".join(told) == wanted.text
        assert len(told) == (3 if each is text else min(1, len(each)))
