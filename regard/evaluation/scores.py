"""Translations and references → sacreBLEU scores, each with the signature that says how it was computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from regard.errors import UsageError, install

if TYPE_CHECKING:  # sacreBLEU is imported when something is scored: translating one sentence should not wait for it
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.ter import TER


@dataclass(frozen=True)
class Score:
    """A number that can be compared with another only if their signatures agree."""

    name: str
    value: float
    signature: str

    def format(self) -> str:
        return f"{self.name} {self.value:.2f}  ({self.signature})"


def score(hypotheses: Sequence[str], references: Sequence[str], *, target_language: str = "") -> list[Score]:
    """BLEU, chrF2 and TER of a corpus, on raw text with its case kept (TER ignores case, as its authors do)."""
    from sacrebleu.metrics.chrf import CHRF

    check_pairs(hypotheses, references)
    scores = []
    for metric in (bleu_for(target_language), CHRF(), ter_for(target_language)):
        result = metric.corpus_score(hypotheses, [references])
        scores.append(Score(result.name, result.score, metric.get_signature().format()))
    return scores


def bleu(hypotheses: Sequence[str], references: Sequence[str], target_language: str = "") -> float:
    """Corpus BLEU alone, the same that `score` gives: the quick look during training."""
    check_pairs(hypotheses, references)
    return float(bleu_for(target_language, quiet=True).corpus_score(hypotheses, [references]).score)


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF of each sentence by itself."""
    from sacrebleu.metrics.chrf import CHRF

    metric = CHRF()
    pairs = zip(hypotheses, references, strict=True)
    return [float(metric.sentence_score(hypothesis, [reference]).score) for hypothesis, reference in pairs]


def paper_score(hypotheses: Sequence[str], references: Sequence[str], target_language: str) -> Score:
    """BLEU as papers on Multi30k and IWSLT report it: lower-cased first, then cut into Moses tokens."""
    check_pairs(hypotheses, references)
    try:
        from sacremoses import MosesTokenizer  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise UsageError(f"scores on Moses tokens need sacremoses: {install('paper')}") from None
    tokenizer = MosesTokenizer(lang=language_code(target_language) or "en")

    def prepare(text: str) -> str:
        tokens: str = tokenizer.tokenize(text.lower(), escape=False, aggressive_dash_splits=False, return_str=True)
        return tokens

    from sacrebleu.metrics.bleu import BLEU

    # lowercase=True changes nothing any more; it makes the signature say case:lc.
    metric = BLEU(lowercase=True, tokenize="none", force=True)
    result = metric.corpus_score([prepare(text) for text in hypotheses], [[prepare(text) for text in references]])
    moses = f"moses:sacremoses-{version('sacremoses')}-{tokenizer.lang}"
    return Score("tokenised BLEU", result.score, f"{metric.get_signature().format()}|{moses}")


def check_pairs(hypotheses: Sequence[str], references: Sequence[str], name: str = "hypotheses") -> None:
    """A score of nothing, or of texts that do not pair up, has no meaning."""
    if len(hypotheses) != len(references):
        counts = f"{len(hypotheses)} {name} for {len(references)} references"
        raise UsageError(f"cannot score {counts}: each line needs exactly one reference")
    if not references:
        raise UsageError(f"cannot score: there are no {name} and no references; is the file empty?")


def language_code(language: str) -> str:
    """`zh-CN`, `zh_TW` and `ZH` are all `zh`."""
    return language.lower().replace("_", "-").partition("-")[0]


def bleu_for(target_language: str, *, quiet: bool = False) -> BLEU:
    """BLEU with the tokens that suit a language; the signature tells which they were.

    Chinese is cut into characters. Japanese and Korean use MeCab where sacreBLEU finds it
    (`pip install 'sacrebleu[ja]'`, `[ko]`). Without it Japanese, which has no spaces, is cut into characters;
    Korean, which has them, keeps 13a words, since BLEU over its characters would look flatteringly high.
    `quiet` keeps sacreBLEU from remarking that outputs look tokenised, as those of a beginner often do.
    """
    from sacrebleu.metrics.bleu import BLEU

    language = language_code(target_language)
    if language == "zh":
        return BLEU(tokenize="zh", force=quiet)
    without_mecab = {"ja": "char", "ko": "13a"}
    if language in without_mecab:
        try:
            return BLEU(tokenize=f"{language}-mecab", force=quiet)
        except RuntimeError:  # how sacreBLEU says that MeCab is not installed
            return BLEU(tokenize=without_mecab[language], force=quiet)
    return BLEU(tokenize="13a", force=quiet)


def ter_for(target_language: str) -> TER:
    """TER counts edits between words, so where words have no spaces each character counts as one."""
    from sacrebleu.metrics.ter import TER

    unspaced = language_code(target_language) in ("zh", "ja")
    return TER(normalized=unspaced, asian_support=unspaced)
