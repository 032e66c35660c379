"""A language model at work: what it writes, how it is told of it, and what it thinks of a text."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch

from regard import config
from regard.data.tokenizer import END, START, UNKNOWN, Tokenizer, train_text_tokenizer
from regard.errors import UsageError
from regard.tasks.language_model.evaluation import measure
from regard.tasks.language_model.generator import TextGenerator
from regard.tasks.language_model.streaming import StreamedText
from tests.conftest import made_up_sentences
from tests.tasks.writers import ARCHITECTURES, KOREAN, mixed_tokenizer, recipe_of, taught, untaught

EVERY = pytest.mark.parametrize("architecture", ARCHITECTURES)
DOCUMENTS = pytest.mark.parametrize("documents", ["stream", "lines"])
PROMPTS = [*made_up_sentences(5, 2), "", "ba", "ba", "고래", "ba be bi bo bu " * 8]
COUNTING = ["one two three four five six seven eight nine ten", "red blue green red blue green red blue"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return mixed_tokenizer()


@pytest.fixture(scope="module")
def counting() -> TextGenerator:
    tokenizer = train_text_tokenizer(COUNTING, config.Tokenizer(vocabulary=295, coverage=1.0))
    return taught(COUNTING, tokenizer, recipe_of(documents="lines", context=60, width=32, dropout=0.0), updates=60)


# What is learned comes out again


def test_what_was_learned_is_written(counting: TextGenerator) -> None:
    for line in COUNTING:
        first, _, rest = line.partition(" ")
        found = counting.generate(first, temperature=0)
        assert (found.text, found.finish_reason) == (f" {rest}", "end")
        assert counting.score(line).perplexity == pytest.approx(1, abs=0.5)
        assert math.exp(sum(found.token_log_probabilities)) > 0.5
    assert counting.score("ten one red").perplexity > 10


def test_words_can_be_finished(counting: TextGenerator) -> None:
    assert counting.generate("one two three fou", temperature=0).text.startswith("r")
    assert counting.generate("one two ", temperature=0).text.startswith("three")  # the space is there already
    assert counting.generate("one two", temperature=0).text.startswith(" three")


def test_a_text_begins_by_itself(counting: TextGenerator) -> None:
    texts = {counting.generate(seed=seed).text for seed in range(20)}
    assert texts.intersection(COUNTING)


# The search behind it


@EVERY
@DOCUMENTS
@pytest.mark.parametrize("prompt", ["", "ba be", "ba be bi bo bu " * 8])
def test_greedy_is_what_anyone_would_write(
    tokenizer: Tokenizer, architecture: str, documents: str, prompt: str
) -> None:
    """Most probable token by most probable token, each from a reading of all that is to be read, at once."""
    writer = untaught(tokenizer, recipe_of(architecture, documents, context=16))
    first, never = (END, [0, 1, 3]) if documents == "stream" else (START, [0, 1, 3])
    ids = [first, *tokenizer.encode(prompt.strip())]
    begin = 0 if len(ids) <= 16 or architecture == "rnn" else len(ids) - 8
    written: list[int] = []
    own: list[float] = []
    with torch.inference_mode():
        while len(written) < 30:
            if architecture != "rnn" and len(ids) - begin > 16:
                begin = len(ids) - 8  # the last half is read anew
            read = torch.tensor([ids[begin:]])
            states = writer.model(read)
            logits = writer.model.project(states, writer.model.point(states, read))[0, -1].log_softmax(-1)
            best = int(logits.index_fill(0, torch.tensor(never), float("-inf")).argmax())
            written.append(best)
            own.append(float(logits[best]))
            ids.append(best)
            if documents == "lines" and best == END:
                break
    found = writer.generate(prompt, max_new_tokens=30, temperature=0)
    assert found.tokens == tokenizer.tokens(written, "target")
    assert found.token_log_probabilities == pytest.approx(own, abs=1e-3)
    assert found.finish_reason == ("end" if documents == "lines" and written[-1] == END else "length")


@EVERY
@DOCUMENTS
@pytest.mark.parametrize("options", [{"temperature": 0}, {"seed": 3}, {"top_k": 5, "top_p": 0.8, "stop": "a"}], ids=str)
def test_neighbours_change_nothing(
    tokenizer: Tokenizer, architecture: str, documents: str, options: dict[str, Any]
) -> None:
    writer = untaught(tokenizer, recipe_of(architecture, documents))
    together = writer.generate(PROMPTS, max_new_tokens=12, **options)
    assert [found.prompt for found in together] == PROMPTS
    for prompt, found in zip(PROMPTS, together, strict=True):
        alone = writer.generate(prompt, max_new_tokens=12, **options)
        assert (found.text, found.tokens, found.finish_reason) == (alone.text, alone.tokens, alone.finish_reason)
        assert found.token_log_probabilities == pytest.approx(alone.token_log_probabilities, abs=1e-3)
    assert together == writer.generate(tuple(PROMPTS), max_new_tokens=12, **options)


def test_seeds(tokenizer: Tokenizer) -> None:
    writer = untaught(tokenizer, recipe_of())
    texts = [writer.generate("ba", seed=seed, max_new_tokens=20, temperature=1.5).text for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
    few, many = (writer.generate("ba", seed=1, max_new_tokens=most, temperature=1.5).tokens for most in (5, 20))
    assert many[:5] == few
    assert (
        writer.generate("ba", temperature=1e-9, max_new_tokens=20).tokens
        == writer.generate("ba", temperature=0, max_new_tokens=20).tokens
    )
    assert (
        writer.generate("ba", top_k=1, max_new_tokens=20).tokens
        == writer.generate("ba", temperature=0, max_new_tokens=20).tokens
    )


def test_no_run_of_tokens_comes_twice(tokenizer: Tokenizer) -> None:
    writer = untaught(tokenizer, recipe_of(context=8))

    def runs(tokens: list[str]) -> list[tuple[str, ...]]:
        return list(zip(*(tokens[offset:] for offset in range(2)), strict=False))

    freely = runs(writer.generate("ba", temperature=0, max_new_tokens=60).tokens)
    found = runs(writer.generate("ba", temperature=0, max_new_tokens=60, no_repeat_ngram=2).tokens)
    assert len(set(freely)) < len(freely)
    assert len(set(found)) == len(found) == 59  # also beyond the context


# Text as it is written


def told(writer: TextGenerator, prompt: str = "", **options: Any) -> tuple[list[str], Any]:
    stretches: list[str] = []
    found = writer.generate(prompt, on_text=stretches.append, **options)
    assert "".join(stretches) == found.text
    assert all(stretches)
    return stretches, found


@EVERY
def test_every_stretch_is_told_at_once(tokenizer: Tokenizer, architecture: str) -> None:
    stretches, found = told(untaught(tokenizer, recipe_of(architecture)), "ba", max_new_tokens=30, seed=1)
    assert len(stretches) > 15
    assert len(found.tokens) == 30


@pytest.mark.parametrize("stop", ["o thr", " three", "ee four", "o", "our five s", " two", "ten"])
def test_a_stop_string_ends_the_text_wherever_tokens_end(counting: TextGenerator, stop: str) -> None:
    _, found = told(counting, "one", stop=("never so", stop), temperature=0)
    whole = COUNTING[0].removeprefix("one")
    assert found.text == whole[: whole.index(stop)]
    assert found.finish_reason == "stop"
    assert len(found.tokens) == len(found.token_log_probabilities)
    assert len(found.tokens) < len(counting.generate("one", temperature=0).tokens), "went on all the same"
    _, missed = told(counting, "one", stop="ten more", temperature=0)
    assert (missed.text, missed.finish_reason) == (whole, "end")


def test_a_stop_string_is_read_as_the_model_writes(tokenizer: Tokenizer) -> None:
    writer = untaught(tokenizer, recipe_of())
    assert writer._as_written("…") == "..."
    assert writer._as_written("！ ") == "! "
    assert writer._as_written("\n\n") == "\n\n"
    assert writer._as_written(" \u1100\u1161\n  ") == " \uac00\n  "  # two letters become one
    with pytest.raises(UsageError, match="can never be written"):
        writer.generate("ba", stop="\u200b")


def test_only_the_end_of_a_long_prompt_is_read(tokenizer: Tokenizer) -> None:
    writer = untaught(tokenizer, recipe_of())
    assert writer.generate("ba be bi " * 20, max_new_tokens=2).cut
    assert not writer.generate("ba", max_new_tokens=2).cut
    assert not untaught(tokenizer, recipe_of("rnn")).generate("ba be bi " * 20, max_new_tokens=2).cut


def test_where_lines_are_documents_a_text_is_one_of_them(tokenizer: Tokenizer) -> None:
    writer = untaught(tokenizer, recipe_of(documents="lines", context=40))
    broken, whole = writer.score("ba be\nbi"), writer.score("ba be bi")
    assert broken == whole
    assert writer.look("ba be\nbi").perplexity == pytest.approx(whole.perplexity, rel=1e-3)


def grow(text: StreamedText, tokens: list[str]) -> list[bool]:
    return [text.add(number + 10) for number in range(len(tokens))]


@pytest.mark.parametrize("stops", [("abc",), ("bcx", "abc"), ("cab", "bc")])
def test_nothing_of_a_stop_string_is_told(stops: tuple[str, ...]) -> None:
    tokens = [*"xxababcab", "▁more"]
    stretches: list[str] = []
    text = StreamedText(lambda token: tokens[token - 10], stops, True, stretches.append)
    for number in range(len(tokens)):
        over = text.add(number + 10)
        said = "".join(stretches)
        whole = "".join(tokens[: number + 1])
        assert over == any(stop in whole for stop in stops)
        assert whole.startswith(said)
        if over:
            cut = min(whole.index(stop) for stop in stops if stop in whole)
            assert text.text == said == whole[:cut]
            return
        held = whole[len(said) :]
        assert not held or any(stop.startswith(held) for stop in stops), "kept back for nothing"
    pytest.fail("no stop was found")


def test_what_was_kept_back_is_told_in_the_end() -> None:
    tokens, stretches = [*"xab"], list[str]()
    text = StreamedText(lambda token: tokens[token - 10], ["abc"], True, stretches.append)
    grow(text, tokens)
    assert "".join(stretches) == "x"
    text.close()
    assert "".join(stretches) == text.text == "xab"


def test_characters_in_bytes_are_told_whole(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode(KOREAN[0])
    assert len(ids) > len(KOREAN[0])  # spelled
    stretches: list[str] = []
    text = StreamedText(lambda token: tokenizer.tokens([token], "target")[0], (), True, stretches.append)
    for token in ids:
        text.add(token)
    assert "".join(stretches) == text.text == KOREAN[0]
    assert all("�" not in stretch for stretch in stretches)
    text.add(tokenizer.encode("고")[1])  # the first byte of three
    text.close()
    assert text.text == KOREAN[0]


def test_korean_is_written_whole(tokenizer: Tokenizer) -> None:
    writer = taught(KOREAN, tokenizer, recipe_of(documents="lines", context=60, width=32, dropout=0.0), updates=80)
    stretches, found = told(writer, KOREAN[0][:2], temperature=0)
    assert found.text == KOREAN[0][2:]
    assert any(token.startswith("<0x") for token in found.tokens)
    assert all("�" not in stretch for stretch in stretches)


@pytest.mark.parametrize("text", ["ba be.", "Ba  be", "", "ba\nbe\n\nbi bo"])
def test_tokens_read_as_the_text(tokenizer: Tokenizer, text: str) -> None:
    read = StreamedText(lambda token: tokenizer.tokens([token], "target")[0], (), True, None)
    for number, line in enumerate(text.split("\n")):
        if number:
            read.add(END)
        for token in tokenizer.encode(line):
            read.add(token)
    assert read.text == "\n".join(" ".join(line.split()) for line in text.split("\n"))


def test_words_are_written_and_unknown_ones_never() -> None:
    writer = untaught(mixed_tokenizer("words"), recipe_of(kind="words"))
    known = {
        token.lstrip("▁")
        for token in writer.tokenizer.tokens(range(UNKNOWN + 1, writer.tokenizer.size("source")), "target")
    }
    for seed in range(5):
        found = writer.generate("never seen before", seed=seed, temperature=3.0, max_new_tokens=40)
        assert "<unk>" not in found.tokens
        assert set(found.text.split()) <= known


def test_a_stream_goes_on_over_line_ends(tokenizer: Tokenizer) -> None:
    writer = taught(["ba", "be", "bi"], tokenizer, recipe_of(documents="stream"), updates=10)
    found = writer.generate("", max_new_tokens=200, temperature=3.0)
    assert "\n" in found.text
    assert found.finish_reason == "length"
    assert found.tokens.count("</s>") == found.text.count("\n")
    stopped = writer.generate("", max_new_tokens=200, temperature=3.0, stop="\n")
    assert stopped.text == found.text.split("\n")[0]
    assert stopped.finish_reason == "stop"
    assert not [letter for letter in found.text if ord(letter) < 32 and letter != "\n"]  # though bytes could spell them
    apart, together = (writer.generate(prompt, max_new_tokens=3, temperature=0) for prompt in ("ba\nbe", "ba be"))
    assert apart.token_log_probabilities != pytest.approx(together.token_log_probabilities, abs=1e-3)


# Score


@EVERY
@DOCUMENTS
def test_a_score_is_what_evaluating_finds(tokenizer: Tokenizer, architecture: str, documents: str) -> None:
    writer = untaught(tokenizer, recipe_of(architecture, documents, cutoffs=(300,)))
    lines = [*made_up_sentences(3, 5), "", KOREAN[0]]
    texts = ["\n".join(lines)] if documents == "stream" else lines
    scores = [writer.score(text) for text in texts]
    expected = measure(writer.model, tokenizer, writer.recipe.data, lines)
    assert sum(found.log_probability for found in scores) == pytest.approx(expected.log_probability, rel=1e-5)
    assert sum(found.words for found in scores) == expected.words
    assert sum(len(found.tokens) for found in scores) == expected.tokens
    assert sum(found.tokens.count("</s>") for found in scores) == len(lines)
    for found, text in zip(scores, texts, strict=True):
        assert sum(found.token_log_probabilities) == pytest.approx(found.log_probability)
        assert writer.score(text + "\n") == found
        json.dumps(found.to_dict(), allow_nan=False)
    if documents == "stream":
        assert scores[0].perplexity == pytest.approx(expected.per_word, rel=1e-4)
        assert scores[0].token_perplexity == pytest.approx(expected.per_token, rel=1e-4)


@EVERY
@DOCUMENTS
def test_texts_scored_together_are_scored_as_alone(tokenizer: Tokenizer, architecture: str, documents: str) -> None:
    """Short ones, empty ones, and some that slide through the context, with others before and behind them."""
    writer = untaught(tokenizer, recipe_of(architecture, documents))
    texts = [*made_up_sentences(3, 4), "", "ba be bi bo bu " * 8, "ba", "bo bu be\nba bi " * 9, KOREAN[0], ""]
    rows: list[int] = []
    name = "decode" if architecture == "rnn" else "forward"
    plain = getattr(writer.model, name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer.model, name, lambda ids, *rest, **more: rows.append(len(ids)) or plain(ids, *rest, **more))
        together = writer.score(texts)
    assert max(rows) > 1
    assert len(rows) < len(texts) or architecture == "rnn"  # whose state goes from window to window
    assert writer.score(tuple(texts)) == together
    assert writer.score([]) == []
    for text, found in zip(texts, together, strict=True):
        alone = writer.score(text)
        assert (found.tokens, found.words) == (alone.tokens, alone.words)
        assert found.token_log_probabilities == pytest.approx(alone.token_log_probabilities, abs=1e-4)
        assert found.log_probability == pytest.approx(alone.log_probability, abs=1e-3)


def test_what_was_written_scores_what_was_said(counting: TextGenerator) -> None:
    found = counting.generate("", temperature=0)
    assert found.text in COUNTING
    assert counting.score(found.text).token_log_probabilities == pytest.approx(found.token_log_probabilities, abs=1e-3)


def test_ranks_count_what_was_more_probable(tokenizer: Tokenizer) -> None:
    writer = untaught(tokenizer, recipe_of())
    ranks = writer.score("ba be").ranks
    assert all(1 <= rank <= tokenizer.size("source") for rank in ranks)
    assert writer.look("ba be").alternatives[0].rank == ranks[0]


def test_an_empty_text_has_an_end(tokenizer: Tokenizer) -> None:
    for documents in ("stream", "lines"):
        found = untaught(tokenizer, recipe_of(documents=documents)).score("")
        assert (found.tokens, found.words) == (["</s>"], 1)


# What it looks at


@DOCUMENTS
@pytest.mark.parametrize("pointer", [False, True])
def test_a_look_shows_the_pass_that_scores(tokenizer: Tokenizer, documents: str, pointer: bool) -> None:
    writer = untaught(tokenizer, recipe_of(documents=documents, context=40, pointer=pointer))
    text = "ba be bi."
    look, score = writer.look(text), writer.score(text)
    assert look.tokens == score.tokens
    assert look.read[1:] == look.tokens[:-1]
    assert look.read[0] == ("</s>" if documents == "stream" else "<s>")
    assert [math.log(each.probability) for each in look.alternatives] == pytest.approx(
        score.token_log_probabilities, abs=1e-3
    )
    assert [each.rank for each in look.alternatives] == score.ranks
    assert look.perplexity == pytest.approx(score.perplexity, rel=1e-3)
    count = len(look.tokens)
    assert look.weights is not None
    assert look.weights.shape == (2, 4, count, count)
    assert look.weights.sum(-1) == pytest.approx(1, abs=1e-5)
    if not pointer:
        assert look.pointed is None
        return
    assert look.pointed is not None
    assert look.pointed.shape == (count, count + 1)
    assert look.pointed.sum(-1) == pytest.approx(1, abs=1e-5)
    assert np.triu(look.pointed[:, :-1], 1) == pytest.approx(0)  # nothing points at what was not read yet


def test_a_recurrent_model_shows_probabilities_only(tokenizer: Tokenizer) -> None:
    look = untaught(tokenizer, recipe_of("rnn")).look("ba be")
    assert look.weights is None
    assert len(look.alternatives) == len(look.tokens)


def test_too_long_to_look_at(tokenizer: Tokenizer) -> None:
    with pytest.raises(UsageError, match=r"has \d+ tokens; this model looks back at most 16"):
        untaught(tokenizer, recipe_of()).look("ba be bi bo bu " * 10)


# Mistakes


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens must be a whole number of at least 1, not 0"),
        ({"max_new_tokens": 2.5}, "max_new_tokens must be"),
        ({"max_new_tokens": True}, "max_new_tokens must be"),
        ({"most": 5}, "most is now called max_new_tokens"),
        ({"temperature": -1.0}, "temperature must be"),
        ({"temperature": float("nan")}, "temperature must be"),
        ({"temperature": "hot"}, "temperature must be"),
        ({"temperature": 0, "top_p": 3}, "top_p must be"),
        ({"top_k": -1}, "top_k must be"),
        ({"seed": -1}, "seed must be"),
        ({"stop": ""}, "stop takes texts that are not empty"),
        ({"stop": None}, "stop takes texts that are not empty"),
        ({"stop": 5}, "stop takes texts that are not empty"),
        ({"stop": ["a", 3]}, "stop takes texts"),
        ({"no_repeat_ngram": -1}, "no_repeat_ngram must be"),
        ({"temprature": 1}, "Did you mean 'temperature'"),
    ],
    ids=str,
)
def test_mistakes_are_told(tokenizer: Tokenizer, options: dict[str, Any], words: str) -> None:
    writer = untaught(tokenizer, recipe_of())
    with pytest.raises(UsageError, match=words):
        writer.generate("ba", **options)
    with pytest.raises(UsageError, match=words):
        writer.stream(["ba"], **options)


@pytest.mark.parametrize("prompt", [3, None, ["ba", 3], b"ba"])
def test_a_prompt_is_a_text(tokenizer: Tokenizer, prompt: Any) -> None:
    with pytest.raises(UsageError, match=r"text|string"):
        untaught(tokenizer, recipe_of()).generate(prompt)


def test_only_one_text_can_be_told(tokenizer: Tokenizer) -> None:
    with pytest.raises(UsageError, match="single prompt"):
        untaught(tokenizer, recipe_of()).generate(["ba"], on_text=print)
    assert untaught(tokenizer, recipe_of()).generate([]) == []


def test_any_number_of_prompts(tokenizer: Tokenizer) -> None:
    writer = untaught(tokenizer, recipe_of())
    asked: list[int] = []

    def prompts() -> Any:
        for number in range(1_000):
            asked.append(number)
            yield "ba"

    stream = writer.stream(prompts(), look_ahead=4, max_new_tokens=1)
    assert next(stream).prompt == "ba"
    assert len(asked) <= 8
