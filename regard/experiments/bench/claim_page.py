"""The page of a bench of a claim: the claim, what you see, and for each finding its sentence, figure and table.

One renderer for all benches: it knows panels, and no bench.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING

from regard.experiments.bench.charts import Curve, across, figure, key, upwards
from regard.experiments.bench.page import INSTEAD
from regard.view.document import check_name, write_document
from regard.view.report import Both, both, render_report

if TYPE_CHECKING:
    from regard.experiments.bench.panel import Line, Measured, Panel

CLAIM: Both = ("The claim", "주장")
SEEN: Both = ("What you see", "측정 결과")
SETTINGS: dict[str, Both] = {
    "widths": ("widths d_k", "너비 d_k"), "width": ("width d", "너비 d"), "length": ("positions", "위치 수"),
    "lengths": ("lengths n", "길이 n"), "sequences": ("sequences", "시퀀스 수"), "seed": ("seed", "시드"),
    "layers": ("layers", "층 수"), "heads": ("heads", "헤드"), "words": ("words", "단어 수"), "model": ("model", "모델"),
    "updates": ("updates", "업데이트"), "batch": ("batch", "배치"), "rate": ("learning rate", "학습률"),
    "kernel": ("kernel k", "커널 k"), "recipe": ("recipe", "레시피"), "smoothings": ("smoothing ε", "스무딩 ε"),
    "noises": ("noise %", "노이즈 %"), "classes": ("classes", "클래스 수"), "seeds": ("seeds", "시드 수"),
    "examples": ("examples", "예제 수"), "steps": ("updates", "업데이트"), "tokens": ("tokens", "토큰 수"),
}  # fmt: skip


def write_claim(path: Path, found: Measured, command: str = "") -> None:
    """In a folder that is made if need be."""
    check_name(path, INSTEAD)
    write_document(path, render_claim(found, command))


def render_claim(found: Measured, command: str = "") -> str:
    """The page as text."""
    facts = [(SETTINGS.get(name, (name, name)), _told(value)) for name, value in found.settings.items()]
    verdict = both(found.verdict)
    head = (
        f"<section class='claim'><h2>{both(CLAIM)}</h2><p>{both(found.claim)}</p>"
        f"<h2>{both(SEEN)}</h2><p class='seen {'held' if found.holds else 'failed'}'><strong>{verdict}</strong> "
        f"{both(found.reading)}</p></section>"
    )
    sections = f"{head}<div class='panels'>{''.join(map(_section, found.panels))}</div>"
    return render_report(f"regard bench {found.name}", found.heading, facts, sections, "", command, ["layers", "bench"])


def _told(value: object) -> str:
    values = value if isinstance(value, list) else [value]
    return ", ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in values)


def _section(panel: Panel) -> str:
    legend = "".join(key(_style(line), line.name) for line in panel.lines)
    drawn = _figure(panel)
    plot = f"<ul class='legend'>{legend}</ul><div class='plot'>{drawn}</div>" if drawn else ""
    return (
        f"<section class='panel'><h2>{both(panel.title)}</h2><p class='reading'>{both(panel.reading)}</p>"
        f"{plot}{_table(panel)}</section>"
    )


def _style(line: Line) -> str:
    return f"series-{line.colour % 6}{' dashed' if line.dashed else ''}"


def _figure(panel: Panel) -> str:
    """Lines over the places that are numbers; by logarithms only what has one."""
    places = [each for each in panel.places if not isinstance(each, str)]
    if len(places) < 2:
        return ""
    drawn = {
        line.key: [
            (place, value)
            for place, value in zip(places, line.values, strict=True)
            if value is not None and (value > 0 or not panel.logarithmic[1])
        ]
        for line in panel.lines
    }
    values = [value for points in drawn.values() for _, value in points]
    if not values:
        return ""
    over, up = across(places, panel.logarithmic[0]), upwards(values, panel.logarithmic[1])
    curves = [Curve(_style(line), line.name[0], drawn[line.key]) for line in panel.lines]
    return figure(panel.title, panel.axis, ("", ""), places, curves, over, up)


def _table(panel: Panel) -> str:
    columns = panel.columns()
    head = "".join(f"<th scope='col'>{html.escape(panel.named(column))}</th>" for column in columns)
    rows = "".join(
        f"<tr><th scope='row'>{both(line.name)}</th>"
        + "".join(f"<td>{html.escape(panel.shown(line.values[column]))}</td>" for column in columns)
        + "</tr>"
        for line in panel.lines
    )
    return (
        f"<div class='scroller' tabindex='0'><table><thead><tr><th scope='col' class='axis'>{both(panel.axis)}</th>{head}</tr>"
        f"</thead><tbody>{rows}</tbody></table></div>"
    )
