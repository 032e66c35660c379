"""The table of an ablation as one HTML file that needs nothing else, with a dot for every seed."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

from regard.experiments.ablation.reading import reading
from regard.experiments.ablation.table import Line, Table, cells
from regard.view.document import write_document
from regard.view.report import Both, both, render_report

PAGE = "ablation.html"
WIDTH, HEIGHT, MARGIN = 170, 22, 8
TALLEST = 6.0  # of a loss above the lowest that a curve shows: one that cannot learn leaves room for the others
SCORES = {"accuracy": ("accuracy", "정확도"), "perplexity": ("perplexity per word", "단어당 퍼플렉서티")}
NOTE = (
    "Each row changes one thing of the base and is trained anew with every seed. The score is the mean, ± the standard "
    "deviation of seeds; a dot is a seed, the dashed line the base. Bold: beyond chance, of seeds (t-test with the spread "
    "of seeds pooled over rows) and of test examples (paired bootstrap); p is the larger of the two, and at most about "
    "one mark in twenty is wrong.",
    "각 행은 기준에서 한 가지만 바꾸어 시드마다 새로 학습한 결과입니다. 점수는 평균 ± 시드 간 표준편차이고, 점 하나가 시드 "
    "하나, 점선이 기준입니다. 굵은 글씨는 시드의 우연(행 전체의 시드 분산을 합친 t 검정)으로도, 테스트 예제의 우연(쌍체 "
    "부트스트랩, paired bootstrap)으로도 보기 어려운 차이입니다. p는 둘 가운데 큰 값이며, 잘못된 표시는 스무 개 가운데 하나꼴을 넘지 않습니다.",
)
ONE_SEED = (
    "Each row changes one thing of the base and is trained anew. The dashed line is the base. Bold: beyond chance, as far as "
    "the choice of test examples goes (paired bootstrap; at most about one mark in twenty is wrong). One seed cannot tell "
    "what another would say.",
    "각 행은 기준에서 한 가지만 바꾸어 새로 학습한 결과이고, 점선이 기준입니다. 굵은 글씨는 테스트 예제의 우연으로 보기 어려운 "
    "차이입니다(쌍체 부트스트랩(paired bootstrap), 잘못된 표시는 스무 개 가운데 하나꼴을 넘지 않습니다). 시드 하나로는 다른 시드가 무엇을 보일지 알 "
    "수 없습니다.",
)


def write_ablation(folder: Path, table: Table, command: str = "") -> Path:
    """Write the page beside the runs."""
    write_document(folder / PAGE, render_ablation(table, command))
    return folder / PAGE


def render_ablation(table: Table, command: str = "") -> str:
    """The page as text."""
    seeds = max(len(line.seeds) for line in table.lines)
    facts = (
        (("test set", "테스트 세트"), f"{table.test_set} ({table.sentences:,})"),
        (("updates of each trial", "시도마다 업데이트 횟수"), f"{table.updates:,}"),
        (("seeds", "시드"), str(seeds)),
        (("signature", "시그니처"), table.signature),
    )
    heads = "".join(f"<th scope='col'>{both(names)}</th>" for names in _columns(table))
    rows = "".join(_rows(table))
    table_markup = (
        f"<div class='scroller' tabindex='0'><table class='ablation'><thead><tr><td></td><td>{_scale(table)}</td>"
        f"<td class='curve'>{both(('loss while learning', '학습 중 손실'))}</td>{heads}"
        f"</tr></thead><tbody>{rows}</tbody></table></div>"
    )
    heading, note = ("What each choice is worth", "설정별 효과"), both(NOTE if seeds > 1 else ONE_SEED)
    return render_report(table.recipe, heading, facts, table_markup, note, command, ["heads", "ablation"])


def _columns(table: Table) -> tuple[Both, ...]:
    return (
        ("parameters", "매개변수"), ("validation loss", "검증 손실"), ("perplexity", "퍼플렉서티"),
        SCORES.get(table.metric, (table.metric, table.metric)), ("to base", "기준 대비"), ("p", "p"), ("seconds", "초"),
    )  # fmt: skip


def _rows(table: Table) -> Iterator[str]:
    for line in table.lines:
        found = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells(line))
        marked = " class='marked'" if line.beyond_chance else ""
        pictures = f"<td>{_dots(table, line)}</td><td>{_curves(table, line)}</td>"
        yield f"<tr{marked}><th scope='row'>{html.escape(line.change)}</th>{pictures}{found}</tr>"
        across = f"colspan='{len(_columns(table)) + 3}'"
        if any(told := reading(table, line)):
            yield f"<tr class='reading'><td {across}>{both(told)}</td></tr>"
        for failure in line.failures:
            yield f"<tr class='failure'><td {across}>{html.escape(failure)}</td></tr>"


def _range(table: Table) -> tuple[float, float]:
    values = [value for line in table.lines for value in line.scores] or [0.0]
    return min(values), max(max(values), min(values) + 0.01)


def _place(table: Table, value: float) -> float:
    low, high = _range(table)
    return MARGIN + (WIDTH - 2 * MARGIN) * (value - low) / (high - low)


def _picture(content: str, label: str) -> str:
    return f"<svg width='{WIDTH}' height='{HEIGHT}' role='img' aria-label='{html.escape(label)}'>{content}</svg>"


def _scale(table: Table) -> str:
    low, high = _range(table)
    ends = (
        f"<text x='{MARGIN - 4}' y='16'>{low:.1f}</text>"
        f"<text x='{WIDTH - MARGIN + 4}' y='16' text-anchor='end'>{high:.1f}</text>"
    )
    return _picture(ends, f"{table.metric} {low:.1f} – {high:.1f}")


def _dots(table: Table, line: Line) -> str:
    """One dot per seed, a stroke at their mean, and the base's mean as a dashed line through all rows."""
    if not line.scores:
        return ""
    content = ""
    if base := table.lines[0].scores:
        place = _place(table, fmean(base))
        content += f"<line class='base' x1='{place:.1f}' x2='{place:.1f}' y1='0' y2='{HEIGHT}'/>"
    mean = _place(table, fmean(line.scores))
    content += f"<line class='mean' x1='{mean:.1f}' x2='{mean:.1f}' y1='4' y2='{HEIGHT - 4}'/>"
    for seed, value in zip(line.seeds, line.scores, strict=True):
        told = f"seed {seed}: {value:.2f}"
        content += f"<circle cx='{_place(table, value):.1f}' cy='{HEIGHT / 2}' r='4'><title>{told}</title></circle>"
    return _picture(content, f"{line.change}: " + ", ".join(f"{value:.2f}" for value in line.scores))


def _curves(table: Table, line: Line) -> str:
    """The validation loss of each seed over the updates, and the base's, dashed, behind it."""
    points = [point for each in table.lines for curve in each.curves for point in curve]
    points = [(update, loss) for update, loss in points if math.isfinite(loss)]
    if not line.curves or not points:
        return ""
    last, low = max(update for update, _ in points), min(loss for _, loss in points)
    high = max(low + 0.01, min(max(loss for _, loss in points), low + TALLEST))

    def drawn(curve: Sequence[tuple[int, float]], name: str) -> str:
        places = [
            f"{MARGIN + (WIDTH - 2 * MARGIN) * update / max(1, last):.1f},"
            f"{2 + (HEIGHT - 4) * (1 - (min(max(loss, low), high) - low) / (high - low)):.1f}"
            for update, loss in curve
            if math.isfinite(loss)
        ]
        return f"<polyline class='{name}' points='{' '.join(places)}'/>"

    behind = [] if line is table.lines[0] else [drawn(curve, "base") for curve in table.lines[0].curves]
    content = "".join([*behind, *(drawn(curve, "own") for curve in line.curves)])
    ends = ", ".join(f"{curve[0][1]:.2f} – {curve[-1][1]:.2f}" for curve in line.curves if curve)
    return _picture(content, f"{line.change}: {ends}")
