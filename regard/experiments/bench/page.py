"""The paper's Table 1 as it was measured: one HTML file with plots, tables, and who is faster where.

It is made from what `regard bench layers --json` writes, and from nothing else.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from regard.experiments.bench.charts import Curve, Scale, across, figure, key, upwards
from regard.view.document import check_name, write_document
from regard.view.report import Both, both, render_report

KINDS: dict[str, Both] = {
    "self-attention": ("self-attention", "셀프 어텐션"),
    "self-attention alone": ("self-attention alone", "셀프 어텐션 연산만"),
    "recurrent": ("recurrent (LSTM)", "순환 (LSTM)"),
    "convolution": ("convolution", "합성곱"),
    "convolution, dilated": ("convolution, dilated", "팽창 합성곱"),
    "restricted": ("restricted self-attention", "제한된 셀프 어텐션"),
    "restricted alone": ("restricted alone", "제한된 셀프 어텐션 연산만"),
}
MEASURES: dict[str, tuple[Both, Both, float]] = {  # title, unit, how many units in one
    "forward": (("forward", "순전파"), ("milliseconds", "밀리초"), 1e3),
    "both": (("forward + backward", "순전파 + 역전파"), ("milliseconds", "밀리초"), 1e3),
    "memory": (("memory kept for backward", "역전파를 위해 보관하는 메모리"), ("megabytes", "메가바이트"), 1e-6),
}
AXES: dict[str, Both] = {"length": ("n, positions", "n, 위치 수"), "width": ("d, width", "d, 너비")}
LETTERS = {"length": ("n", "d"), "width": ("d", "n")}
PLACES: dict[str, Both] = {"Table 1": ("Table 1", "표 1"), "section 4": ("section 4", "4절")}
HEADING: Both = (
    "What self-attention, recurrence and convolution cost on this machine",
    "이 컴퓨터에서 잰 셀프 어텐션, 순환, 합성곱 층의 비용",
)
ABOUT_GROWTH: Both = (
    "An exponent of 2 means: twice the size, four times the cost. “Paper” is Table 1 of the paper, which counts the "
    "attention operation alone (the rows “alone”). A whole layer also projects queries, keys, values and its output: 4·n·d² "
    "more multiplications, which hide n²·d as long as n is below 2d. “Multiplications” is the exponent of all that this "
    "layer multiplies, at the same points; what is measured should come near it once fixed costs no longer matter.",
    "지수 2는 크기가 두 배가 되면 비용이 네 배가 된다는 뜻입니다. ‘논문’은 논문의 표 1로, 어텐션 연산만 셉니다(‘연산만’ 행). 실제 층은 "
    "쿼리, 키, 값, 출력을 투영하느라 곱셈이 4·n·d²만큼 더 들고, n이 2d보다 작으면 이것이 n²·d를 가립니다. ‘곱셈’은 같은 점들에서 이 "
    "층이 실제로 하는 모든 곱셈의 지수입니다. 고정 비용이 작아지면 측정값이 여기에 가까워집니다.",
)
ABOUT_PLOTS: Both = (
    "Both axes are logarithmic. The thin lines have the slope that the paper's formula gives for time.",
    "두 축 모두 로그 눈금입니다. 가는 선은 논문의 식이 주는 시간의 기울기입니다.",
)
ABOUT_LEADS: Both = (
    "How many times as fast self-attention is as the recurrent layer. Blue: it is faster. Red: it has lost. Bold: n < d, "
    "where the paper expects it to win.",
    "셀프 어텐션이 순환 층보다 몇 배 빠른지 나타냅니다. 파란색은 더 빠른 곳, 빨간색은 진 곳, 굵은 글씨는 논문이 이긴다고 보는 n < d인 "
    "곳입니다.",
)
ABOUT_ROUTES: Both = (
    "Counted, not timed. Sequential: the longest chain of operations in one layer that wait for each other. Layers: how many "
    "until the last output has a gradient at every input. A recurrent layer needs one, but inside it the way leads through "
    "every position: the path in operations is chain × layers. Table 1's path of a convolution, logₖ n, is that of dilated "
    "kernels; for plain ones section 4 says n/k.",
    "시간을 잰 것이 아니라 센 것입니다. 순차 연산은 한 층에서 서로를 기다리는 연산의 가장 긴 사슬입니다. 층 수는 마지막 출력의 기울기가 모든 "
    "입력에 닿기까지 필요한 층의 수입니다. 순환 층은 한 층이면 되지만 그 안에서 모든 위치를 차례로 지나야 하므로, 경로의 연산 수는 사슬 × 층 "
    "수입니다. 표 1의 합성곱 경로 logₖ n은 팽창 커널의 것이고, 보통 커널은 4절에 n/k로 나옵니다.",
)
INSTEAD = "; the numbers alone can be had as JSON"


def write_layers(path: Path, report: Mapping[str, Any], command: str = "") -> None:
    """The page of a report, in a folder that is made if need be."""
    check_name(path, INSTEAD)
    write_document(path, render_layers(report, command))


def render_layers(report: Mapping[str, Any], command: str = "") -> str:
    """`report` is what regard.experiments.bench.growth.report gave."""
    asked, machine = report["settings"], report["machine"]
    facts: list[tuple[Both, str]] = [
        (("processor", "프로세서"), str(machine["processor"])),
        (("threads", "스레드"), f"{machine['threads']} / {machine['cores']}"),
        (("torch", "torch"), str(machine["torch"])),
        (("batch", "배치"), str(asked["batch"])),
        (("heads", "헤드"), str(asked["heads"])),
        (("kernel k", "커널 k"), str(asked["kernel"])),
        (("window r", "창 r"), str(asked["window"])),
        (("medians of", "중앙값의 표본 수"), str(asked["repeats"])),
    ]
    sections = [*_leads(report), *_plots(report), *_growths(report), *_routes(report)]
    stopped = "" if report["complete"] else both(("Interrupted before the end. ", "끝나기 전에 중단되었습니다. "))
    return render_report("regard bench layers", HEADING, facts, "".join(sections), stopped, command, ["layers"])


def _section(title: Both, about: Both, *parts: str) -> str:
    return f"<section><h2>{both(title)}</h2><p class='muted'>{both(about)}</p>{''.join(parts)}</section>"


def _table(caption: Both, heads: Sequence[Both], rows: Sequence[Sequence[str]]) -> str:
    """The first cell of a row is its name, the rest are numbers; cells are markup."""
    head = "".join(f"<th scope='col'>{both(each)}</th>" for each in heads)
    body = "".join(
        f"<tr><th scope='row'>{first}</th>{''.join(f'<td>{each}</td>' for each in rest)}</tr>" for first, *rest in rows
    )
    return (
        f"<div class='scroller' tabindex='0'><table><caption>{both(caption)}</caption>"
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _growths(report: Mapping[str, Any]) -> Iterator[str]:
    heads = [
        ("cost", "비용"),
        ("paper", "논문"),
        ("multiplications", "곱셈"),
        *(MEASURES[each][0] for each in MEASURES),
    ]
    tables = []
    for axis, (letter, other) in LETTERS.items():
        grown = [each for each in report["growths"] if each["axis"] == axis]
        points = f"{letter} = {', '.join(map(str, grown[0]['points']))}"
        caption = (
            f"Exponent of {letter} at {other} = {grown[0]['fixed']}, fitted through {points}",
            f"{other} = {grown[0]['fixed']}에서 {letter}의 지수, 맞춘 점: {points}",
        )
        rows = [
            [both(KINDS[each["kind"]]), html.escape(report["kinds"][each["kind"]]["cost"]), str(each["theory"])]
            + [_number(each[name]) for name in ("counted", *MEASURES)]
            for each in grown
        ]
        tables.append(_table(caption, heads, rows))
    yield _section(("How the cost grows", "비용이 커지는 빠르기"), ABOUT_GROWTH, *tables)


def _routes(report: Mapping[str, Any]) -> Iterator[str]:
    if not report["routes"]:
        return
    heads = [
        ("sequential, paper", "순차 연산, 논문"), ("operations in a chain", "사슬의 연산 수"), ("path, paper", "경로, 논문"),
        ("stated in", "논문의 어디"), ("layers", "층 수"), ("operations", "연산 수"),
    ]  # fmt: skip
    lengths = sorted({each["length"] for each in report["routes"]})
    rows = []
    for kind, (sequential, path, where) in report["paper"].items():
        counted = [each for each in report["routes"] if each["kind"] == kind]
        chain, layers, whole = (" · ".join(str(each[name]) for each in counted) for name in ("chain", "layers", "path"))
        rows.append([both(KINDS[kind]), sequential, chain, path, both(PLACES[where]), layers, whole])
    places = ", ".join(map(str, lengths))
    table = _table((f"At n = {places}", f"n = {places}에서"), heads, rows)
    yield _section(("Sequential operations and path length", "순차 연산과 경로 길이"), ABOUT_ROUTES, table)


def _leads(report: Mapping[str, Any]) -> Iterator[str]:
    grids = [
        _grid(report, kind, measure)
        for kind in ("self-attention", "self-attention alone")
        for measure in ("forward", "both")
    ]
    yield _section(
        ("Where self-attention beats recurrence", "셀프 어텐션이 순환 층을 이기는 곳"), ABOUT_LEADS,
        f"<div class='grids'>{''.join(grids)}</div>",
    )  # fmt: skip


def _grid(report: Mapping[str, Any], kind: str, measure: str) -> str:
    """How many times as fast self-attention is at each n and d, and up to which n."""
    times = {(each["kind"], each["length"], each["width"]): each[measure] for each in report["cells"]}
    lengths, widths = (sorted({each[name] for each in report["cells"]}) for name in ("length", "width"))
    rows = []
    for length in lengths:
        row = [
            _lead(times["recurrent", length, width] / times[kind, length, width], length < width)
            for width in widths
            if (kind, length, width) in times
        ]
        rows.append(f"<tr><th scope='row'>n = {length}</th>{''.join(row)}</tr>")
    english, korean = (f"{one}: {other}" for one, other in zip(KINDS[kind], MEASURES[measure][0], strict=True))
    head = "".join(f"<th scope='col'>d = {width}</th>" for width in widths)
    last = "".join(f"<td>{_until(report, kind, measure, width)}</td>" for width in widths)
    name = both(("faster up to n =", "여기까지 빠름: n ="))
    return (
        f"<div class='scroller' tabindex='0'><table class='leads'><caption>{both((english, korean))}</caption>"
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
        f"<tfoot><tr><th scope='row'>{name}</th>{last}</tr></tfoot></table></div>"
    )


def _lead(times: float, short: bool) -> str:
    """A cell; its shade is full from eight times on."""
    strength = min(1.0, abs(math.log2(times)) / 3)
    classes = ("ahead" if times > 1 else "behind") + (" short" if short else "")
    shown = f"{times:.0f}" if times >= 9.95 else f"{times:.1f}" if times >= 0.95 else f"{times:.2f}"
    return f"<td class='{classes}' style='--lead: {strength:.2f}'>{shown}×</td>"


def _until(report: Mapping[str, Any], kind: str, measure: str, width: int) -> str:
    wanted = kind, measure, width
    found = next(each for each in report["crossings"] if (each["kind"], each["measure"], each["width"]) == wanted)
    if found["length"] is not None:
        return f"{found['length']:,.0f}"
    shortest, longest = found["tried"]
    return f"&gt; {longest:,}" if found["wins"] else f"&lt; {shortest:,}"


def _plots(report: Mapping[str, Any]) -> Iterator[str]:
    keys = "".join(key(kind, KINDS[kind]) for kind in report["kinds"])
    figures = "".join(_plot(report, axis, measure) for axis in AXES for measure in MEASURES)
    yield _section(
        ("Time and memory against n and d", "n과 d에 따른 시간과 메모리"), ABOUT_PLOTS, f"<ul class='legend'>{keys}</ul>",
        f"<div class='plots'>{figures}</div>",
    )  # fmt: skip


def _plot(report: Mapping[str, Any], axis: str, measure: str) -> str:
    other = LETTERS[axis][1]
    title, unit, scale = MEASURES[measure]
    grown = [each for each in report["growths"] if each["axis"] == axis]
    fixed, opposite = grown[0]["fixed"], "width" if axis == "length" else "length"
    lines = {
        each["kind"]: [
            (cell[axis], scale * cell[measure])
            for cell in report["cells"]
            if cell["kind"] == each["kind"] and cell[opposite] == fixed
        ]
        for each in grown
    }
    sizes = sorted({size for points in lines.values() for size, _ in points})
    values = [value for points in lines.values() for _, value in points]
    if len(sizes) < 2:
        return ""
    over, up = across(sizes), upwards(values)
    curves = []
    for each in grown:
        points = lines[each["kind"]]
        # The paper's formulas are of time.
        guide = "" if measure == "memory" else _guide(points[-1], each["theory"], each["points"][0], over, up)
        curves.append(Curve(each["kind"], KINDS[each["kind"]][0], points, guide))
    english, korean = (f"{what}, {other} = {fixed}" for what in title)
    return figure((english, korean), AXES[axis], unit, sizes, curves, over, up)


def _guide(end: tuple[int, float], theory: int, start: int, over: Scale, up: Scale) -> str:
    """The paper's slope through the last point, as far back as the fit goes, but not below the frame."""
    size, value = end
    back = max(start, size * (up.low / value) ** (1 / theory))
    first = f"M{over(back):.1f} {up(value * (back / size) ** theory):.1f}"
    return f"<path class='guide' d='{first}L{over(size):.1f} {up(value):.1f}'/>"
