"""Is one system better than another? Paired bootstrap resampling (Koehn 2004), and the sentences that differ most."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from regard.errors import UsageError
from regard.evaluation.scores import bleu_for, check_pairs

FEW_SENTENCES = 100
"""Below this, resamples repeat so few sentences that the bootstrap promises more certainty than there is."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class MetricComparison:
    """One metric of both systems. `difference` is B minus A; intervals hold 95 % of the resamples."""

    name: str
    signature: str
    scores: tuple[float, float]
    intervals: tuple[Interval, Interval]
    difference: float
    difference_interval: Interval
    p_value: float
    """How often chance alone would separate two equal systems at least this far (two-sided)."""

    @property
    def significant(self) -> bool:
        return self.p_value < 0.05


@dataclass(frozen=True)
class SentenceComparison:
    """One line of both systems; `chrf` is the score of this sentence alone."""

    line: int
    reference: str
    texts: tuple[str, str]
    chrf: tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """What `compare` found. `better[0]` holds the lines where A gains most over B, `better[1]` the reverse."""

    names: tuple[str, str]
    sentences: int
    resamples: int
    seed: int
    metrics: tuple[MetricComparison, ...]
    better: tuple[tuple[SentenceComparison, ...], tuple[SentenceComparison, ...]]

    def lines(self) -> Iterator[str]:
        a, b = self.names
        yield f"A: {a}"
        yield f"B: {b}"
        yield f"{self.sentences} sentences, {self.resamples} paired bootstrap resamples, seed {self.seed}"
        if self.sentences < FEW_SENTENCES:
            yield f"Fewer than {FEW_SENTENCES} sentences: take the p-values with care."
        for metric in self.metrics:
            yield ""
            yield f"{metric.name}  ({metric.signature})"
            for label, value, (low, high) in zip("AB", metric.scores, metric.intervals, strict=True):
                yield f"  {label}      {value:6.2f}   95 % [{low:.2f}, {high:.2f}]"
            low, high = metric.difference_interval
            yield f"  B - A  {metric.difference:+6.2f}   95 % [{low:+.2f}, {high:+.2f}]"
            verdict = "significant" if metric.significant else "not significant"
            yield f"  p      {metric.p_value:6.4f}   {verdict} at 0.05"
        for label, other, best in zip("AB", "BA", self.better, strict=True):
            if best:
                yield ""
                yield f"Where {label} gains most over {other} (sentence chrF):"
            for sentence in best:
                yield f"  line {sentence.line}"
                yield f"    reference  {_one_line(sentence.reference)}"
                for name, text, chrf in zip("AB", sentence.texts, sentence.chrf, strict=True):
                    yield f"    {name} {chrf:6.2f}   {_one_line(text)}"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        plain = asdict(self)
        for metric, shown in zip(self.metrics, plain["metrics"], strict=True):
            shown["significant"] = metric.significant
        return plain


def compare(
    a: Sequence[str],
    b: Sequence[str],
    references: Sequence[str],
    *,
    names: tuple[str, str] = ("A", "B"),
    resamples: int = 1000,
    seed: int = 1,
    worst: int = 10,
    target_language: str = "",
) -> Comparison:
    """Score both systems on the same resamples of the test set, so that hard sentences are hard for both."""
    check_pairs(a, references, f"lines of {names[0]}")
    check_pairs(b, references, f"lines of {names[1]}")
    if resamples < 1 or worst < 0:
        raise UsageError(f"resamples must be at least 1 and worst at least 0, not {resamples} and {worst}")
    bleu, chrf = bleu_for(target_language), CHRF()
    bleu_counts = counts_of(bleu, a, references), counts_of(bleu, b, references)
    chrf_counts = counts_of(chrf, a, references), counts_of(chrf, b, references)
    draws = resamples, seed
    return Comparison(
        names=names,
        sentences=len(references),
        resamples=resamples,
        seed=seed,
        metrics=(compare_metric(bleu, *bleu_counts, *draws), compare_metric(chrf, *chrf_counts, *draws)),
        better=_most_different(chrf, chrf_counts, (a, b), references, worst),
    )


def counts_of(metric: BLEU | CHRF, hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.int64]:
    """What the metric counts in each sentence; a corpus score needs only their sum."""
    return np.asarray(
        metric._extract_corpus_statistics(hypotheses, [references]), dtype=np.int64
    )  # [sentences, counts]


def score_of(metric: BLEU | CHRF, counts: NDArray[np.int64]) -> float:
    """Of counts that were added up."""
    return float(metric._compute_score_from_stats(counts.tolist()).score)


def compare_metric(
    metric: BLEU | CHRF, a: NDArray[np.int64], b: NDArray[np.int64], resamples: int, seed: int
) -> MetricComparison:
    """Paired bootstrap over what the metric counts in each sentence of two systems."""
    scores, values, p_value = bootstrap(lambda counts: score_of(metric, counts), a, b, resamples, seed)
    difference, differences = scores[1] - scores[0], values[:, 1] - values[:, 0]
    return MetricComparison(
        name="chrF2" if isinstance(metric, CHRF) else "BLEU",
        signature=f"{metric.get_signature().format()}|bs:{resamples}|seed:{seed}",
        scores=scores,
        intervals=(_interval(values[:, 0]), _interval(values[:, 1])),
        difference=difference,
        difference_interval=_interval(differences),
        p_value=p_value,
    )


def bootstrap(
    score: Callable[[NDArray[Any]], float], a: NDArray[Any], b: NDArray[Any], resamples: int, seed: int
) -> tuple[tuple[float, float], NDArray[np.float64], float]:
    """The scores of two systems, those of each resample [resamples, 2], and how often chance alone separates them so far."""
    generator = np.random.default_rng(seed)
    values = np.empty((resamples, 2))
    for row in values:
        times = np.bincount(generator.integers(len(a), size=len(a)), minlength=len(a))  # [sentences]: how often drawn
        row[:] = score(times @ a), score(times @ b)
    scores = score(a.sum(0)), score(b.sum(0))
    differences = values[:, 1] - values[:, 0]
    # Centred, the resampled differences are those of two equal systems. sacreBLEU's PairedTest counts only the strictly
    # greater, of absolute values taken before centring: it finds a system significantly different from itself.
    by_chance = np.abs(differences - differences.mean()) >= abs(scores[1] - scores[0])
    return scores, values, (int(by_chance.sum()) + 1) / (resamples + 1)


def _interval(values: NDArray[np.float64]) -> Interval:
    low, high = np.percentile(values, (2.5, 97.5))
    return float(low), float(high)


def _most_different(
    metric: CHRF,
    counts: tuple[NDArray[np.int64], NDArray[np.int64]],
    systems: tuple[Sequence[str], Sequence[str]],
    references: Sequence[str],
    worst: int,
) -> tuple[tuple[SentenceComparison, ...], tuple[SentenceComparison, ...]]:
    a, b = systems
    all_sentences = [
        SentenceComparison(
            index + 1, references[index], (a[index], b[index]), (score_of(metric, ours), score_of(metric, theirs))
        )
        for index, (ours, theirs) in enumerate(zip(*counts, strict=True))
    ]
    by_gain = sorted(all_sentences, key=lambda sentence: sentence.chrf[1] - sentence.chrf[0])  # stable: ties keep order
    a_better = tuple(sentence for sentence in by_gain[:worst] if sentence.chrf[0] > sentence.chrf[1])
    b_better = tuple(sentence for sentence in by_gain[::-1][:worst] if sentence.chrf[1] > sentence.chrf[0])
    return a_better, b_better


def _one_line(text: str) -> str:
    return " ".join(text.split())
