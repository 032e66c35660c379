"""The nearest words: whole words, whose cosines are right; and what becomes of words that a model does not know."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import regard
from regard.config import Tokenizer as TokenizerSettings
from regard.data.tokenizer import train_text_tokenizer
from regard.errors import UsageError
from regard.tasks.neighbours import WordVectors, count_words, vocabulary_words
from regard.tasks.translation.translator import Translator
from tests.tasks.labelled import untrained
from tests.tasks.writers import mixed_tokenizer, recipe_of, untaught


@pytest.fixture(scope="module")
def demo() -> Translator:
    return regard.load("demo", task="translation")


def test_father_is_next_to_mother_and_grandfather(demo: Translator) -> None:
    found = demo.neighbours("father", 8)
    assert [word for word, _ in found.nearest][:2] == ["mother", "grandfather"]
    assert {"parents", "brother"} <= {word for word, _ in found.nearest}
    cosines = [cosine for _, cosine in found.nearest]
    assert cosines == sorted(cosines, reverse=True)
    table = demo.model.target_embedding.table.weight.detach()
    ids = [demo.tokenizer.encode(word, "target") for word in ("father", "mother")]
    wanted = torch.cosine_similarity(*(table[torch.tensor(each)].mean(0) for each in ids), dim=0)
    assert cosines[0] == pytest.approx(float(wanted), abs=1e-5)
    assert {word for word, _ in demo.neighbours("Vater", 2, side="source").nearest} == {"Mutter", "Eltern"}


def test_words_are_whole(demo: Translator) -> None:
    """The vocabulary has beginnings of words, too, such as those of Sunday and Flughafen."""
    tokens = vocabulary_words(demo.tokenizer, "target")
    assert {"Sund", "thir", "father"} <= set(tokens)
    words = demo.word_vectors("target").words
    assert "father" in words
    assert not {"Sund", "thir", "Vater"} & set(words)
    assert all(len(ids) == 1 for ids in demo.tokenizer.encode_all(words, "target"))


def test_a_word_of_several_tokens_is_their_mean(demo: Translator) -> None:
    found = demo.neighbours("grandfatherly")
    assert len(found.tokens) > 1
    table = demo.model.target_embedding.table.weight.detach().float().numpy()
    mean = table[demo.tokenizer.encode("grandfatherly", "target")].mean(0)
    assert np.allclose(demo.word_vectors().vector("grandfatherly"), mean, atol=1e-6)


def test_words_of_any_text_and_other_spellings(demo: Translator) -> None:
    text = ["Mother, father's FATHER and the grandmother!", "mother 42"]
    assert set(demo.word_vectors(words=text).words) == {
        "Mother",
        "father's",
        "FATHER",
        "and",
        "the",
        "grandmother",
        "mother",
    }
    found = [word for word, _ in demo.neighbours("father", words=text).nearest]
    assert "FATHER" not in found
    assert "father's" in found
    assert [word for word, _ in demo.neighbours(" father ", words=text).nearest] == found


def test_scripts_without_spaces_are_cut_into_tokens() -> None:
    lines = ["我爱你。", "你爱我吗？"] * 30
    tokenizer = train_text_tokenizer(lines, TokenizerSettings(vocabulary=270, coverage=1.0))
    words = count_words([*lines, "고래는 바다에 살아요."], tokenizer, "source")
    assert max(map(len, [word for word in words if word[0] > "一" and word[0] < "龥"])) <= 2
    assert {"고래는", "바다에", "살아요"} <= set(words)


def test_mistakes(demo: Translator) -> None:
    with pytest.raises(UsageError, match="a word is wanted"):
        demo.neighbours("  ")
    with pytest.raises(UsageError, match="`count` must be a whole number"):
        demo.neighbours("father", 0)
    with pytest.raises(UsageError, match="neighbours are of a word, not of 7"):
        demo.neighbours(7)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no `side` 'both': it is source or target"):
        demo.neighbours("father", side="both")
    with pytest.raises(UsageError, match="no `side` 'target': a model for text-classification has one; leave it out"):
        untrained().neighbours("good", side="target")


def test_a_vocabulary_of_words_says_what_it_does_not_know() -> None:
    writer = untaught(mixed_tokenizer("words"), recipe_of(kind="words"))
    word = next(word for word in vocabulary_words(writer.tokenizer, "source") if len(word) > 4)
    assert writer.neighbours(word, 3).nearest  # there is no training text: the vocabulary is compared
    with pytest.raises(UsageError, match=r"is not in this model's vocabulary\. Did you mean"):
        writer.neighbours(f"{word}x")


def test_without_training_text_the_vocabulary_is_compared_and_it_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, demo: Translator
) -> None:
    from regard.checkpoint import find_model

    copy = tmp_path / "copy.safetensors"
    copy.write_bytes(find_model("demo").read_bytes())
    with caplog.at_level("INFO", "regard.notes"):
        found = regard.load(copy).word_vectors()
    assert "Sund" in found.words
    assert "was not found: the words are tokens of the vocabulary" in caplog.text


def test_no_words_at_all(demo: Translator) -> None:
    empty = WordVectors(demo.tokenizer, "target", demo.model.target_embedding.table.weight, [])
    assert empty.neighbours("father").nearest == ()
    with pytest.raises(UsageError, match="there are no words to look among"):
        regard.neighbours("demo", "father", words=["42", ""])
