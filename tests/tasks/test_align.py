"""Word alignments: those of models whose alignment is known, and laws that hold for any model and any text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from regard import config
from regard.attention.record import record
from regard.errors import DataError, UsageError
from regard.tasks.translation.alignment import align as aligning
from regard.tasks.translation.alignment import choice as choosing
from regard.tasks.translation.alignment.align import Alignment, Link, align, stream
from regard.tasks.translation.alignment.choice import Choice, choose, heads_of, hidden_links, validation_pairs
from regard.tasks.translation.alignment.links import agreement, backward_links, forward_links, grow
from regard.tasks.translation.alignment.words import AttentionHead, Pair, encode, log_probabilities, word_weights
from regard.tasks.translation.translator import Translator
from tests.conftest import made_up_sentences
from tests.tasks.toy import sentences, toy

WRITTEN = AttentionHead(1)


def pairs_of(seed: int, count: int, turned: bool) -> list[tuple[str, str]]:
    return [(" ".join(words), " ".join(words[::-1] if turned else words)) for words in sentences(seed, count)]


def share_right(found: list[Alignment], pairs: list[tuple[str, str]], turned: bool) -> float:
    """2 |found ∩ known| / (|found| + |known|)."""
    known = [
        {(number, length - 1 - number if turned else number) for number in range(length)}
        for length in (len(source.split()) for source, _ in pairs)
    ]
    return agreement([{(link.source, link.target) for link in each.links} for each in found], known)


@pytest.mark.parametrize(("turned", "layers", "heads"), [(False, 1, 1), (True, 2, 2)], ids=["copy", "reverse"])
def test_known_alignments_are_found(turned: bool, layers: int, heads: int) -> None:
    translator, pairs = toy(turned, layers, heads), pairs_of(7, 60, turned)
    choice = choose(translator, heads_of(translator), pairs)
    assert not choice.look.read  # one row later is the next word's look
    assert choice.agreement[choice.look] > 1.5 * choice.agreement[choice.look._replace(read=True)]
    assert share_right(list(stream(translator, pairs, choice)), pairs, turned) > 0.95
    confirmed = hidden_links(translator, encode(translator.tokenizer, pairs))
    assert share_right([Alignment(tuple(Link(*link, 1.0) for link in each)) for each in confirmed], pairs, turned) > 0.8


def test_a_model_of_the_opposite_direction_confirms() -> None:
    """Turning around is its own opposite."""
    translator, pairs = toy(True, 2, 2), pairs_of(8, 30, True)
    sources, targets = zip(*pairs, strict=True)
    choice = choose(translator, heads_of(translator), pairs, translator)
    assert choice.reverse is not None
    assert not choice.look.read
    assert not choice.reverse.read
    assert choice.agreement[choice.look] > 0.85
    found = align(translator, sources, targets, reverse=translator)
    assert share_right(found, pairs, True) > 0.95
    (wrong,) = align(translator, ["ba ko"], ["x " * 31], layer=1, read=False, reverse=translator)
    assert wrong.trouble.startswith("the target has")


@pytest.mark.parametrize("look", [AttentionHead(0), AttentionHead(1, 2), AttentionHead(1, None, read=True)], ids=str)
def test_words_look_as_their_tokens_do(tiny_translator: Translator, look: AttentionHead) -> None:
    """The weights of a pair in a batch are what summing up its own record token by token gives."""
    lines = list(zip(made_up_sentences(1, 9), made_up_sentences(2, 9), strict=True))
    encoded = encode(tiny_translator.tokenizer, lines)
    for (source, target), pair, (found,) in zip(
        lines, encoded, word_weights(tiny_translator, encoded, [look]), strict=True
    ):
        ids = tiny_translator.tokenizer.encode(source, "source"), tiny_translator.tokenizer.encode(target, "target")
        with record(tiny_translator.model) as seen:
            tiny_translator._logits(*ids)
        heads = seen[f"decoder.{look.layer}.cross_attention"]["weights"][0]
        weights = (heads.mean(0) if look.head is None else heads[look.head]).double().numpy()
        expected, row = np.zeros(found.shape), int(look.read)
        for number, word in enumerate(pair.target):
            for _ in word:
                column = 0
                for place, key in enumerate(pair.source):
                    share = weights[row, column : column + len(key)].sum() / weights[row, : len(ids[0])].sum()
                    expected[number, place] += share / len(word)
                    column += len(key)
                row += 1
        np.testing.assert_allclose(found, expected, atol=1e-5)
        np.testing.assert_allclose(found.sum(-1), 1.0, atol=1e-5)


def test_words_by_themselves_give_the_tokens_of_the_line(tiny_translator: Translator) -> None:
    lines = [*made_up_sentences(3, 20), "  Ba \u00a0 ko.\t'x'  ", "½ ﬁ ´a 日本 \u200b x", "<s> </s>"]
    for line, pair in zip(lines, encode(tiny_translator.tokenizer, [(line, "") for line in lines]), strict=True):
        assert len(pair.source) == len(line.split())
        assert [each for ids in pair.source for each in ids] == tiny_translator.tokenizer.encode(line, "source")


ODD = [
    ("", ""),
    ("ba", " "),
    ("", "ko"),
    ("  ba   duko\u00a0ne ", "\tko  ta "),
    ("\u200b ba \u200b", "ta \u200b ta"),  # words that normalisation removes
    ("\u200b", "\u200b"),
    ("▁ a▁b ▁", "x"),
    ("\ud800 x", "y \udfff"),
    ("日本語のテキスト", "문장 ½ ﬁ ´a"),
    ("ba " * 100, "ko"),
    ("ba", "ko " * 100),
]


def test_any_text_has_an_answer(tiny_translator: Translator) -> None:
    found = list(stream(tiny_translator, ODD, Choice(WRITTEN)))
    assert len(found) == len(ODD)
    for (source, target), each in zip(ODD, found, strict=True):
        words = len(source.split()), len(target.split())
        assert all(0 <= link.source < words[0] and 0 <= link.target < words[1] for link in each.links)
        assert all(0 <= link.weight <= 1.0001 for link in each.links)
        assert bool(each.trouble) == (max(words) > 50)
        if each.trouble or not min(words):
            assert str(each) == ""
    assert str(found[3])
    assert {link.source for link in found[4].links} == {1}
    assert {link.target for link in found[4].links} <= {0, 2}
    assert [str(each) for each in found[5:7]] == ["", "1-0"]
    assert "the source has" in found[9].trouble
    assert "the target has" in found[10].trouble


def test_company_changes_nothing(exact_translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """However pairs share batches and blocks, and whatever stands between them, each answer is at its place."""
    lines = list(zip(made_up_sentences(1, 12), made_up_sentences(2, 12), strict=True))
    mixed = [pair for each in zip(lines, [*ODD, ("", "")], strict=True) for pair in each]
    alone = [str(next(stream(exact_translator, [pair], Choice(WRITTEN)))) for pair in mixed]
    monkeypatch.setattr(aligning, "LOOK_AHEAD", 5)
    assert [str(each) for each in stream(exact_translator, mixed, Choice(WRITTEN))] == alone
    taken = 0

    def endless() -> Iterator[tuple[str, str]]:
        nonlocal taken
        while True:
            taken += 1
            yield mixed[taken % len(mixed)]

    answers = stream(exact_translator, endless(), Choice(WRITTEN))
    next(answers)
    assert taken == 5  # memory holds one block


def test_links_of_a_matrix() -> None:
    weights = np.array([[0.9, 0.1, 0.0], [0.6, 0.4, 0.0], [0.0, 0.0, 0.0]])  # neither word 2 has tokens
    assert forward_links(weights) == {(0, 0), (0, 1)}
    assert backward_links(weights) == {(0, 0), (1, 1)}
    assert agreement([forward_links(weights)], [backward_links(weights)]) == 0.5
    assert agreement([set()], [set()]) == 0


def test_growing_stays_between_intersection_and_union() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        weights = random.random((7, 6)) + 2 * np.eye(7, 6)
        one, other = forward_links(weights), backward_links(random.random((7, 6)) + np.eye(7, 6))
        grown = grow(one, other)
        assert one & other <= grown <= one | other
    assert grow({(0, 0), (1, 1)}, {(0, 0), (5, 5)}) == {(0, 0), (1, 1)}  # (5, 5) has no neighbour
    assert grow({(0, 0), (0, 1)}, {(0, 0), (1, 0)}) == {(0, 0), (0, 1), (1, 0)}  # each gives a word its only link


def test_choices(tiny_translator: Translator) -> None:
    pairs = list(zip(made_up_sentences(1, 8), made_up_sentences(2, 8), strict=True))
    assert choose(tiny_translator, heads_of(tiny_translator, 1, 3, True), []) == Choice(AttentionHead(1, 3, True))
    assert set(choose(tiny_translator, heads_of(tiny_translator, head=2), pairs).agreement) == {
        AttentionHead(layer, 2, read) for layer in (0, 1) for read in (False, True)
    }
    assert set(choose(tiny_translator, heads_of(tiny_translator, 1), pairs).agreement) == {
        AttentionHead(1),
        AttentionHead(1, None, True),
    }
    with pytest.raises(UsageError, match="no layer 3; the model's cross-attention has layers 1 to 2"):
        heads_of(tiny_translator, 2)
    with pytest.raises(UsageError, match=r"no head 0; .* heads 1 to 4"):
        heads_of(tiny_translator, head=-1)
    with pytest.raises(UsageError, match="as many sources as targets"):
        align(tiny_translator, ["a"], [])
    assert align(tiny_translator, [], []) == []
    assert align(tiny_translator, ["", " "], ["x", ""]) == [Alignment(), Alignment()]


def test_hiding_finds_what_was_planted(tiny_translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model in whose eyes only the presence of source word n makes target word n probable."""
    (pair,) = encode(tiny_translator.tokenizer, [("ba ko ta", "ne \u200b mi bokenu")])
    targets = [0, 2, 3]

    def planted(_: Translator, given: list[Pair]) -> list[np.ndarray]:
        return [
            np.concatenate([
                np.full(len(pair.target[target]), 0.0 if word in each.source else -1.0)
                for word, target in zip(pair.source, targets, strict=True)
            ])
            for each in given
        ]  # fmt: skip

    monkeypatch.setattr(choosing, "log_probabilities", planted)
    assert hidden_links(tiny_translator, [pair]) == [{(0, 0), (1, 2), (2, 3)}]


def test_log_probabilities_are_those_of_score(tiny_translator: Translator) -> None:
    source, target = made_up_sentences(1, 1)[0], made_up_sentences(2, 1)[0]
    (pair,) = encode(tiny_translator.tokenizer, [(source, target)])
    with torch.inference_mode():
        found = log_probabilities(tiny_translator, [pair, pair._replace(source=pair.source[:2]), pair])
    expected = tiny_translator.score(source, target).token_log_probabilities[:-1]
    assert found[0].tolist() == pytest.approx(expected, abs=1e-4)
    assert found[2].tolist() == pytest.approx(expected, abs=1e-4)
    assert found[1].tolist() != pytest.approx(expected, abs=1e-2)


def test_validation_text_is_read_but_never_downloaded() -> None:
    bundled = config.ParallelText(
        valid=("bundled:tatoeba-de-en.tsv.xz",), split_column=1, source_column=2, target_column=3
    )
    assert len(validation_pairs(bundled)) == 1_665
    absent = config.ParallelText(valid=("nowhere.tsv",), download={"nowhere.tsv": "http://localhost:1/ " + "0" * 64})
    with pytest.raises(DataError, match=r"nobody said in which folder nowhere\.tsv is"):
        validation_pairs(absent)
