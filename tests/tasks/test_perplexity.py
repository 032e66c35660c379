"""Perplexity with a context that slides: every token once, and the same number by every way to it."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import chain

import pytest
import torch

from regard.data.tokenizer import END, START, Tokenizer
from regard.errors import UsageError
from regard.tasks.language_model.evaluation import (
    ContextWindow,
    Perplexity,
    Window,
    context_window,
    measure,
    window_states,
    windows_of_document,
    windows_of_text,
)
from regard.tasks.language_model.generator import TextGenerator
from tests.conftest import made_up_sentences
from tests.tasks.writers import ARCHITECTURES, KOREAN, mixed_tokenizer, recipe_of, untaught

LINES = [*made_up_sentences(3, 8), "", *KOREAN]
DOCUMENTS = pytest.mark.parametrize("documents", ["stream", "lines"])


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return mixed_tokenizer()


def measured(writer: TextGenerator, lines: list[str] = LINES, stride: int | None = None) -> Perplexity:
    return measure(writer.model, writer.tokenizer, writer.recipe.data, lines, stride)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 16, 30, 33])
@pytest.mark.parametrize("stride", [1, 3, 8])
def test_every_token_is_predicted_once_with_enough_before_it(count: int, stride: int) -> None:
    tokens = list(range(10, 10 + count))
    context = ContextWindow(8, stride, carried=False)
    found = list(windows_of_document(tokens, START, context))
    fresh = [token for each in found for token in each.tokens[len(each.tokens) - each.fresh :]]
    assert fresh == tokens
    whole = [START, *tokens]
    for number, each in enumerate(found):
        begin = whole.index(each.tokens[0])
        assert whole[begin : begin + len(each.tokens)] == each.tokens
        assert len(each.tokens) - 1 <= 8
        before = len(each.tokens) - each.fresh
        assert before >= 8 - stride or begin == 0
        assert each.goes_on == (number > 0)


@DOCUMENTS
def test_a_stride_of_the_window_gives_plain_windows(tokenizer: Tokenizer, documents: str) -> None:
    data = recipe_of(documents=documents).data
    found = list(windows_of_text(LINES, tokenizer, data, ContextWindow(16, 16, carried=False)))
    lines = [[*tokenizer.encode(line), END] for line in LINES]
    texts = [list(chain.from_iterable(lines))] if documents == "stream" else lines
    first = END if documents == "stream" else START
    expected = [[first, *text][at : at + 17] for text in texts for at in range(0, len(text), 16)]
    assert [each.tokens for each in found] == expected
    assert all(each.fresh == len(each.tokens) - 1 for each in found)


@DOCUMENTS
@pytest.mark.parametrize("stride", [1, 5, 16])
@pytest.mark.parametrize("pointer", [False, True])
def test_it_is_what_one_would_find_token_by_token(
    tokenizer: Tokenizer, documents: str, stride: int, pointer: bool
) -> None:
    """Each token from a reading of its own window, one at a time and unbatched."""
    writer = untaught(
        tokenizer, recipe_of(documents=documents, cutoffs=(300,), pointer=pointer, adaptive_factor=1 + pointer)
    )
    total, tokens = 0.0, 0
    with torch.inference_mode():
        for each in windows_of_text(LINES, tokenizer, writer.recipe.data, ContextWindow(16, stride, carried=False)):
            read = torch.tensor([each.tokens[:-1]])
            states = writer.model(read)
            logits = writer.model.project(states, writer.model.point(states, read))[0]
            own = logits.log_softmax(-1).gather(-1, torch.tensor(each.tokens[1:])[:, None])
            total += own[-each.fresh :].sum().item()
            tokens += each.fresh
    found = measured(writer, stride=stride)
    assert found.log_probability == pytest.approx(total, rel=1e-5)
    assert found.tokens == tokens == sum(len(tokenizer.encode(line)) + 1 for line in LINES)
    assert str(16 - stride) in found.context


@DOCUMENTS
def test_a_recurrent_state_is_carried_over(tokenizer: Tokenizer, documents: str) -> None:
    writer = untaught(tokenizer, recipe_of("rnn", documents))
    lines = [[*tokenizer.encode(line), END] for line in LINES]
    first = END if documents == "stream" else START
    total = 0.0
    with torch.inference_mode():
        for text in [list(chain.from_iterable(lines))] if documents == "stream" else lines:
            states = writer.model(torch.tensor([[first, *text[:-1]]]))[0]
            total += writer.model.project(states).log_softmax(-1).gather(-1, torch.tensor(text)[:, None]).sum().item()
    found = measured(writer)
    assert max(map(len, lines)) > writer.context, "a line should need more than one window"
    assert found.log_probability == pytest.approx(total, rel=1e-5)
    assert "carried" in found.context
    with pytest.raises(UsageError, match="carries its state"):
        measured(writer, stride=3)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@DOCUMENTS
@pytest.mark.parametrize("tokens", [1, 40, 10_000])
def test_batches_change_nothing(tokenizer: Tokenizer, architecture: str, documents: str, tokens: int) -> None:
    writer = untaught(tokenizer, recipe_of(architecture, documents))
    data = writer.recipe.data

    def read(tokens: int) -> tuple[torch.Tensor, torch.Tensor]:
        windows = windows_of_text(LINES, tokenizer, data, context_window(writer.model, data))
        with torch.inference_mode():
            found = [
                (writer.model.project(states, pointed).log_softmax(-1), wanted)
                for states, pointed, wanted, _ in window_states(writer.model, windows, tokens)
            ]
        expected, wanted = zip(*found, strict=True)
        return torch.cat(expected), torch.cat(wanted)

    found, wanted = read(tokens)
    expected = [token for line in LINES for token in (*tokenizer.encode(line), END)]
    assert wanted.tolist() == expected  # in order
    torch.testing.assert_close(found, read(100)[0], atol=1e-4, rtol=1e-4)


class Measured(list[int]):
    """Knows how often its length was asked."""

    asked = 0

    def __len__(self) -> int:
        self.asked += 1
        return super().__len__()


def test_a_line_is_measured_as_often_in_a_large_batch_as_alone(tokenizer: Tokenizer) -> None:
    """A batch of thousands of short lines must not be summed again for each of them."""
    writer = untaught(tokenizer, recipe_of(documents="lines"))

    def most_asked(lines: int) -> int:
        tokens = [Measured([START, 9, END]) for _ in range(lines)]
        with torch.inference_mode():
            (read,) = window_states(writer.model, [Window(each, 2, goes_on=False) for each in tokens], 10_000)
        assert read.wanted.tolist() == [9, END] * lines
        return max(each.asked for each in tokens)

    assert most_asked(200) == most_asked(1)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_lines_know_of_no_other(tokenizer: Tokenizer, architecture: str) -> None:
    writer = untaught(tokenizer, recipe_of(architecture, "lines"))
    alone = [measured(writer, [line]).log_probability for line in LINES]
    assert measured(writer).log_probability == pytest.approx(sum(alone), rel=1e-5)
    assert measured(writer, LINES[::-1]).log_probability == pytest.approx(sum(alone), rel=1e-5)
    stream = untaught(tokenizer, recipe_of(architecture, "stream"))
    alone = [measured(stream, [line]).log_probability for line in LINES]
    assert measured(stream).log_probability != pytest.approx(sum(alone), rel=1e-4)


def test_a_model_without_opinion_is_as_perplexed_as_its_vocabulary_is_large(tokenizer: Tokenizer) -> None:
    writer = untaught(tokenizer, recipe_of(tied=False))
    torch.nn.init.zeros_(writer.model.output.weight)
    found = measured(writer)
    assert found.per_token == pytest.approx(tokenizer.size("source"), rel=1e-4)
    words = sum(len(line.split()) + 1 for line in LINES)
    assert (found.lines, found.words, found.characters) == (len(LINES), words, sum(len(line) + 1 for line in LINES))
    assert math.log(found.per_word) * words == pytest.approx(math.log(found.per_token) * found.tokens)
    bits = found.tokens * math.log2(tokenizer.size("source"))
    assert found.bits_per_character == pytest.approx(bits / found.characters, rel=1e-4)


def test_per_word_does_not_depend_on_the_tokens() -> None:
    few = Perplexity(words=10, tokens=10, log_probability=-30.0)
    many = replace(few, tokens=55)
    assert few.per_word == many.per_word == pytest.approx(math.exp(3))
    assert few.per_token > many.per_token


def test_unknown_words_are_told() -> None:
    writer = untaught(mixed_tokenizer("words"), recipe_of(kind="words"))
    assert measured(writer, ["zzz qqq"]).unknown == 2
    assert measured(writer, ["zzz qqq"]).to_dict()["unknown"] == 2


@pytest.mark.parametrize("stride", [0, 17, -1])
def test_a_stride_must_fit_the_window(tokenizer: Tokenizer, stride: int) -> None:
    with pytest.raises(UsageError, match="from 1 to the window's 16 tokens"):
        measured(untaught(tokenizer, recipe_of()), stride=stride)


def test_nothing_is_nothing(tokenizer: Tokenizer) -> None:
    found = measured(untaught(tokenizer, recipe_of()), [])
    assert (found.tokens, found.log_probability) == (0, 0.0)
