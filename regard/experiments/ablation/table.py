"""Trials → table: what each change does to loss and score, and whether chance could have done it.

Two kinds of chance are asked. Would other seeds say the same? A t-test of the row's scores against the base's, with the
spread of seeds pooled over all rows, since a few seeds of one row would tell too little of it. Would other sentences say
the same? A paired bootstrap in which a sentence drawn brings along its answers by all seeds. A change must pass
both, so the larger p-value counts (an intersection-union test); Benjamini and Hochberg's rule then allows for the many
rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table as Drawn
from rich.text import Text

from regard.data.progress import progress
from regard.evaluation.compare import bootstrap
from regard.experiments.ablation.rows import BASE, Row
from regard.experiments.ablation.trials import Measured, Trial, judge_of
from regard.tasks.heads_page import shown
from regard.tasks.task import Judged

CHANCE = 0.05
RESAMPLES = 1_000
ANGLES = 100_000
DIFFERENCE = 4  # which of a line's cells
WIDE = 110  # columns of a terminal that can show what a row was changed from


@dataclass(frozen=True)
class Line:
    """A row of the table; lists have a number for each seed that came to an end."""

    row: str
    change: str
    parameters: int | None
    seeds: list[int]
    losses: list[float]
    scores: list[float]
    seconds: list[float]
    failures: list[str]
    curves: list[list[tuple[int, float]]] = field(default_factory=list)
    """Of each seed, the validation loss after so many updates."""
    difference: float | None = None
    """Mean score minus that of the base."""
    p_values: dict[str, float] | None = None
    """By what might be chance: `sentences`, and `seeds` where there are several."""
    beyond_chance: bool = False

    @property
    def p_value(self) -> float | None:
        return None if self.p_values is None else max(self.p_values.values())

    @property
    def perplexity(self) -> float:
        """Of a validation token."""
        return math.exp(min(700.0, fmean(self.losses)))  # more has no number


@dataclass(frozen=True)
class Table:
    """What an ablation found."""

    recipe: str
    test_set: str
    sentences: int
    updates: int
    signature: str
    lines: list[Line]
    metric: str = "BLEU"
    lower: bool = False
    """Whether less of it is better."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        plain = asdict(self)
        for line, content in zip(self.lines, plain["lines"], strict=True):
            content |= {
                "p_value": line.p_value,
                "loss": fmean(line.losses) if line.losses else None,
                "perplexity": line.perplexity if line.losses else None,
                "score": fmean(line.scores) if line.scores else None,
                "spread": stdev(line.scores) if len(line.scores) > 1 else None,
            }
        return plain


def tabulate(rows: Sequence[Row], results: Mapping[Trial, Measured | str], test_set: Judged) -> Table:
    """The table of what has been measured so far, with a progress bar."""
    base = rows[0].recipe
    judge = judge_of(base)
    lines, counts = [], {}

    def score(counted: NDArray[Any]) -> float:
        return judge.score(base, counted)

    with progress() as bar:
        for row in bar.track(rows, description="Scoring"):
            ended = {trial.seed: result for trial, result in results.items() if trial.row.name == row.name}
            measured = {seed: result for seed, result in sorted(ended.items()) if isinstance(result, Measured)}
            failures = [f"seed {seed}: {result}" for seed, result in sorted(ended.items()) if isinstance(result, str)]
            counted = [judge.counts(base, result.answers, test_set) for result in measured.values()]
            if counted:
                counts[row.name] = np.sum(counted, 0)  # [examples, counts]
            lines.append(Line(
                row.name, row.change, next((result.parameters for result in measured.values()), None), list(measured),
                [result.loss for result in measured.values()], [score(each.sum(0)) for each in counted],
                [result.seconds for result in measured.values()], failures, [result.curve for result in measured.values()],
            ))  # fmt: skip
        compared = []
        for line in bar.track(lines, description="Comparing"):
            by_sentences = None
            if line.row != BASE and line.row in counts and BASE in counts:
                by_sentences = bootstrap(score, counts[BASE], counts[line.row], RESAMPLES, 1)[2]
            compared.append(_against(lines[0], line, by_sentences, [each.scores for each in lines]))
    return Table(
        base.name, test_set.name, len(test_set.references), base.training.updates, judge.signature(base),
        mark_beyond_chance(compared), judge.metric, judge.lower,
    )  # fmt: skip


def _against(base: Line, line: Line, by_sentences: float | None, everybody: list[list[float]]) -> Line:
    if by_sentences is None:
        return line
    difference = fmean(line.scores) - fmean(base.scores)
    p_values = {"sentences": by_sentences}
    if (by_seeds := seeds_p_value(line.scores, base.scores, everybody)) is not None:
        p_values["seeds"] = by_seeds
    return replace(line, difference=difference, p_values=p_values)


def seeds_p_value(one: Sequence[float], other: Sequence[float], everybody: Sequence[Sequence[float]]) -> float | None:
    """How often seeds alone would separate two means at least this far; None without a second seed anywhere."""
    degrees = sum(len(values) - 1 for values in everybody if values)
    if not degrees:
        return None
    variance = sum((value - fmean(values)) ** 2 for values in everybody if values for value in values) / degrees
    error = math.sqrt(variance * (1 / len(one) + 1 / len(other)))
    difference = abs(fmean(one) - fmean(other))
    return student(difference / error, degrees) if error else float(difference == 0)


def student(t: float, degrees: int) -> float:
    """P(|T| ≥ t) of Student's distribution, whose density in the angle atan(T / √degrees) is cos^(degrees − 1)."""
    angles = (np.arange(ANGLES) + 0.5) * (math.pi / 2 / ANGLES)
    density = np.cos(angles) ** (degrees - 1)
    return float(density[angles >= math.atan(t / math.sqrt(degrees))].sum() / density.sum())


def mark_beyond_chance(lines: Sequence[Line]) -> list[Line]:
    """Of all marks, about one in twenty may be wrong (Benjamini and Hochberg 1995)."""
    ranked = sorted(line.p_value for line in lines if line.p_value is not None)
    limit = max((p for place, p in enumerate(ranked, start=1) if p <= CHANCE * place / len(ranked)), default=-1.0)
    return [replace(line, beyond_chance=line.p_value is not None and line.p_value <= limit) for line in lines]


def draw(table: Table, console: Console) -> None:
    """The table in a terminal."""
    if not console.is_terminal:  # a file has room
        console = Console(file=console.file, width=max(WIDE, console.width))
    drawn = Drawn(box=None, pad_edge=False, header_style="dim")
    drawn.add_column("", no_wrap=True)
    for name in ("weights", "loss", "ppl", table.metric, "to base", "p", "s"):
        drawn.add_column(name, justify="right", no_wrap=True)
    for line in table.lines:
        better = ((line.difference or 0) > 0) != table.lower
        style = "" if not line.beyond_chance else "bold green" if better else "bold red"
        found = cells(line)
        if line.beyond_chance:
            found[DIFFERENCE] = f"*{found[DIFFERENCE]}"
        drawn.add_row(line.change if console.width >= WIDE else line.row, *(Text(cell, style) for cell in found))
    console.print(Text(
        f"{table.recipe}, {table.updates:,} updates a trial, on {table.test_set} ({table.sentences:,} examples)"
    ))  # fmt: skip
    console.print(Text(table.signature, "dim"))
    console.print(drawn)
    console.print(Text(note(table), "dim"))
    for line in table.lines:
        for failure in line.failures:
            console.print(Text(f"{line.row}, {failure}", "red"))


def cells(line: Line) -> list[str]:
    """Parameters, loss, perplexity, score, difference, p-value and seconds, as people read them."""
    if not line.scores:
        return ["", "", "", "failed" if line.failures else "to come", "", "", ""]
    spread = f" ± {stdev(line.scores):.2f}" if len(line.scores) > 1 else ""
    difference = "" if line.difference is None else shown(line.difference)
    p_value = "" if line.p_value is None else f"{line.p_value:.3f}"
    return [
        f"{line.parameters:,}", f"{fmean(line.losses):.3f}", _short(line.perplexity),
        f"{_short(fmean(line.scores))}{spread}", difference, p_value, f"{fmean(line.seconds):.0f}",
    ]  # fmt: skip


def _short(value: float) -> str:
    """Of a model that cannot learn, perplexities have no end of digits."""
    return f"{value:.2f}" if value < 1e6 else f"{value:.1e}"


def note(table: Table) -> str:
    seeds = max(len(line.seeds) for line in table.lines)
    if seeds < 2:
        return (
            "* beyond chance, as far as the choice of test examples goes (paired bootstrap); one seed cannot tell what "
            "another would say: set `seeds` to 2"
        )
    return (
        f"mean ± standard deviation of {seeds} seeds; * beyond chance, of seeds (t-test) and of test examples (paired "
        "bootstrap); the p-value is the larger of the two. At most about one mark in twenty is wrong."
    )
