"""Scores say how they were made, and refuse what cannot be scored."""

from __future__ import annotations

import sys

import pytest
import sacrebleu

from regard.errors import UsageError
from regard.evaluation.scores import Score, bleu, paper_score, score

REFERENCES = ["Ein Hund rennt über die Wiese.", "Zwei Männer sitzen auf einer Bank.", "Sie liest ein Buch im Park."]
HYPOTHESES = ["Ein Hund rennt über die Straße.", "Zwei Männer sitzen auf der Bank.", "Sie liest ein Buch im Park."]


def values(scores: list[Score]) -> dict[str, float]:
    return {each.name: each.value for each in scores}


def test_the_references_themselves_score_best() -> None:
    assert values(score(REFERENCES, REFERENCES)) == pytest.approx({"BLEU": 100, "chrF2": 100, "TER": 0})


def test_each_score_is_the_one_sacrebleu_gives() -> None:
    expected = {
        "BLEU": sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score,
        "chrF2": sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score,
        "TER": sacrebleu.corpus_ter(HYPOTHESES, [REFERENCES]).score,
    }
    assert values(score(HYPOTHESES, REFERENCES)) == expected
    assert bleu(HYPOTHESES, REFERENCES) == expected["BLEU"]


def test_a_score_carries_its_signature() -> None:
    for each in score(HYPOTHESES, REFERENCES):
        assert f"version:{sacrebleu.__version__}" in each.signature
        assert each.format() == f"{each.name} {each.value:.2f}  ({each.signature})"
    assert "tok:13a" in score(HYPOTHESES, REFERENCES, target_language="de")[0].signature


@pytest.mark.parametrize("language", ["zh", "zh-CN", "ZH_tw"])
def test_chinese_is_cut_into_characters(language: str) -> None:
    scores = score(["一只狗在跑"], ["一只狗在跳"], target_language=language)
    assert "tok:zh" in scores[0].signature
    # One character of five differs; as an unspaced word the whole sentence would.
    assert values(scores)["BLEU"] == bleu(["一只狗在跑"], ["一只狗在跳"], language) > 0
    assert values(scores)["TER"] == pytest.approx(20)


def test_japanese_and_korean_without_mecab(monkeypatch: pytest.MonkeyPatch) -> None:
    from sacrebleu.tokenizers import tokenizer_ja_mecab, tokenizer_ko_mecab

    monkeypatch.setattr(tokenizer_ja_mecab, "MeCab", None)
    monkeypatch.setattr(tokenizer_ko_mecab, "MeCab", None)
    signatures = {
        language: score(["개 a"], ["개 b"], target_language=language)[0].signature for language in ("ja", "ko")
    }
    assert "tok:char" in signatures["ja"]
    assert "tok:13a" in signatures["ko"]


def test_an_unknown_language_label_is_fine() -> None:
    assert score(HYPOTHESES, REFERENCES, target_language="target") == score(HYPOTHESES, REFERENCES)


def test_line_breaks_inside_a_text_do_not_shift_lines() -> None:
    broken = [text.replace(" ", "\n", 1) for text in REFERENCES]
    assert values(score(broken, REFERENCES))["BLEU"] == pytest.approx(100)


def test_empty_translations_are_scored_not_refused() -> None:
    assert values(score(["", "", ""], REFERENCES))["BLEU"] == 0


def test_unequal_lengths_are_refused_with_both_counts() -> None:
    for function in (score, bleu):
        with pytest.raises(UsageError, match="2 hypotheses for 3 references"):
            function(HYPOTHESES[:2], REFERENCES)
    with pytest.raises(UsageError, match="2 hypotheses for 3 references"):
        paper_score(HYPOTHESES[:2], REFERENCES, "de")


def test_nothing_cannot_be_scored() -> None:
    for function in (score, bleu):
        with pytest.raises(UsageError, match="empty"):
            function([], [])


def test_paper_mode_ignores_case_and_sees_moses_tokens() -> None:
    pytest.importorskip("sacremoses")
    paper = paper_score([text.upper() for text in REFERENCES], REFERENCES, "de")
    assert paper.value == pytest.approx(100)
    assert "case:lc" in paper.signature
    assert "tok:none" in paper.signature
    assert "|moses:sacremoses-" in paper.signature
    # Moses separates the full stop, so a missing one costs one token of a sentence and not its last word.
    assert (
        paper_score(["a b c d e"], ["a b c d e."], "en").value > paper_score(["a b c d x."], ["a b c d e."], "en").value
    )


def test_paper_mode_is_bleu_of_tokens_cut_by_hand() -> None:
    pytest.importorskip("sacremoses")
    # Lower case comes first: "No." before a number is an abbreviation to Moses, "no." is not. Dashes do not split.
    hypothesis, reference = "House No. 5 is a well-known red place.", "House No. 5 was the well-known red-brown place."
    by_hand = "house no . 5 is a well-known red place .", "house no . 5 was the well-known red-brown place ."
    expected = sacrebleu.corpus_bleu([by_hand[0]], [[by_hand[1]]], tokenize="none", force=True).score
    assert paper_score([hypothesis], [reference], "en").value == expected


def test_without_sacremoses_paper_mode_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacremoses", None)
    with pytest.raises(UsageError, match=r"pip install -e '.\[paper\]'"):
        paper_score(HYPOTHESES, REFERENCES, "de")
