"""What a model loses with each head: the numbers, and how they look in a terminal, on a page and in a figure.

Heads and layers count from 0 in the arrays, and from 1 wherever people read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from rich.text import Text

from regard.errors import UsageError, install
from regard.view.document import write_document
from regard.view.report import both, render_report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHANCE = 0.05
FIGURES = (".png", ".svg", ".pdf")
TITLES = {
    "encoder": ("encoder self-attention", "인코더 셀프 어텐션"),
    "decoder": ("decoder self-attention", "디코더 셀프 어텐션"),
    "cross": ("cross-attention", "크로스 어텐션"),
}
KOREAN = {"accuracy": "정확도", "perplexity": "단어당 퍼플렉서티"}
NOTE = (
    "Each number is the change of {metric} when that head alone is switched off; {marked} is beyond chance (paired "
    "bootstrap; at most about one mark in twenty is wrong). A head that costs little may have an understudy: what two "
    "heads cost together is not the sum.",
    "각 숫자는 그 헤드 하나만 껐을 때 {korean} 점수가 얼마나 달라지는지를 나타냅니다. {marked} 표시는 우연이라고 보기 어려운 "
    "차이입니다(쌍체 부트스트랩(paired bootstrap), 잘못된 표시는 스무 개 가운데 하나꼴을 넘지 않습니다). 손실이 작은 헤드는 다른 헤드가 "
    "그 일을 대신하고 있을 수 있으므로, 두 헤드를 함께 껐을 때의 손실은 각각의 합과 다릅니다.",
)


@dataclass(frozen=True)
class HeadImportance:
    """Arrays [layers, heads] by kind of attention. `differences` are the score without the head minus that with all."""

    model: str
    test_set: str
    sentences: int
    score: float
    """With all heads."""
    signature: str
    differences: dict[str, NDArray[np.float64]]
    p_values: dict[str, NDArray[np.float64]]
    metric: str = "BLEU"
    lower: bool = False
    """Whether less of it is better."""

    @property
    def beyond_chance(self) -> dict[str, NDArray[np.bool_]]:
        """Which differences chance would hardly make, though many are tested (Benjamini and Hochberg 1995)."""
        ranked = np.sort(np.concatenate([each.ravel() for each in self.p_values.values()]))
        passed = ranked <= CHANCE * np.arange(1, len(ranked) + 1) / len(ranked)
        limit = ranked[passed].max(initial=0.0)
        return {kind: each <= limit for kind, each in self.p_values.items()}

    def to_dict(self) -> dict[str, Any]:
        """For JSON; layers and heads count from 1."""
        beyond = self.beyond_chance
        heads = [
            {
                "kind": kind, "layer": layer + 1, "head": head + 1, "difference": float(difference),
                "p_value": float(self.p_values[kind][layer, head]), "beyond_chance": bool(beyond[kind][layer, head]),
            }
            for kind, differences in self.differences.items()
            for (layer, head), difference in np.ndenumerate(differences)
        ]  # fmt: skip
        facts = {
            name: getattr(self, name) for name in ("model", "test_set", "sentences", "metric", "score", "signature")
        }
        return {**facts, "heads": heads}

    @property
    def worst(self) -> float:
        """The greatest loss, at least a hundredth of a point so that it can divide."""
        return max(0.01, *(float(self.loss(each).max()) for each in self.differences.values()))

    def loss(self, differences: NDArray[np.float64]) -> NDArray[np.float64]:
        """How much worse each difference is; of what is better, nothing."""
        return np.maximum(0.0, differences if self.lower else -differences)

    def draw(self, console: Console) -> None:
        """The table in a terminal."""
        draw_heads(self, console)

    def write(self, path: str | Path, command: str = "") -> None:
        """A page (.html), or a figure (.png, .svg, .pdf) by matplotlib; `command` made it."""
        write_heads(Path(path), self, command)


def draw_heads(found: HeadImportance, console: Console) -> None:
    """The table in a terminal."""
    beyond = found.beyond_chance
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("attention")
    table.add_column("layer", justify="right")
    for head in range(max(each.shape[1] for each in found.differences.values())):
        table.add_column(f"head {head + 1}", justify="right")
    for kind, differences in found.differences.items():
        for layer, row in enumerate(differences):
            cells = [
                _cell(value, bool(beyond[kind][layer, head]), (value < 0) != found.lower)
                for head, value in enumerate(row)
            ]
            table.add_row(TITLES[kind][0] if layer == 0 else "", str(layer + 1), *cells)
    console.print(
        Text(f"{found.model} on {found.test_set}: {found.metric} {found.score:.2f}, {found.sentences} sentences")
    )
    console.print(Text(found.signature, "dim"))
    console.print(table)
    console.print(Text(NOTE[0].format(marked="*", metric=found.metric), "dim"))
    if not any(each.any() for each in beyond.values()):
        console.print(Text("None is beyond chance on so few sentences; more of them would tell more.", "dim"))


def _cell(value: float, beyond: bool, worse: bool) -> Text:
    style = "" if not beyond else "bold red" if worse else "bold green"
    return Text(f"{'*' if beyond else ''}{shown(value)}", style or "dim")


def shown(value: float) -> str:
    """A difference with its sign; what rounds to nothing has none."""
    text = f"{value:+.2f}".replace("-", "−")
    return "0.00" if text[1:] == "0.00" else text


def check_name(path: Path) -> None:
    """Say that a file's name is of no use before its content is computed."""
    if path.suffix not in (".html", *FIGURES):
        raise UsageError(f"{path} could be anything; end its name in .html, {', '.join(FIGURES[:-1])} or {FIGURES[-1]}")
    if path.suffix != ".html" and find_spec("matplotlib") is None:
        raise UsageError(f"plotting needs matplotlib: {install('plot')}")


def write_heads(path: Path, found: HeadImportance, command: str = "") -> None:
    """A page (.html), or a figure (.png, .svg, .pdf) by matplotlib."""
    check_name(path)
    if path.suffix == ".html":
        return write_document(path, render_heads(found, command))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        plot_heads(found).savefig(path, dpi=150)
    except OSError as error:
        raise UsageError(f"cannot write the heads' importance to {path}: {error.strerror or error}") from None


def render_heads(found: HeadImportance, command: str = "") -> str:
    """One HTML file that needs nothing else: a heat map of layers × heads for each kind of attention."""
    facts = (
        (("test set", "테스트 세트"), found.test_set),
        (("sentences", "문장 수"), f"{found.sentences:,}"),
        ((f"{found.metric} with all heads", f"모든 헤드를 켠 {_korean(found)}"), f"{found.score:.2f}"),
        (("signature", "시그니처"), found.signature),
    )
    note = (
        NOTE[0].format(marked="bold print", metric=found.metric),
        NOTE[1].format(marked="굵은 글씨", korean=_korean(found)),
    )
    heading = ("What each head is worth", "헤드별 기여도")
    sections = f"<div class='kinds'>{''.join(_sections(found))}</div>"
    return render_report(found.model, heading, facts, sections, both(note), command, ["heads"])


def _korean(found: HeadImportance) -> str:
    return KOREAN.get(found.metric, found.metric)


def _sections(found: HeadImportance) -> Iterator[str]:
    beyond, worst = found.beyond_chance, found.worst
    for kind, differences in found.differences.items():
        heads = "".join(
            f"<th scope='col'>{both((f'head {head + 1}', f'헤드 {head + 1}'))}</th>"
            for head in range(differences.shape[1])
        )
        rows = []
        for layer, row in enumerate(differences):
            cells = []
            for value, cost, marked in zip(row, found.loss(row), beyond[kind][layer], strict=True):
                loss = float(cost) / worst
                mark = " class='marked'" if marked else ""
                cells.append(f"<td{mark} style='--loss: {loss:.3f}'>{shown(value)}</td>")
            name = both((f"layer {layer + 1}", f"{layer + 1}층"))
            rows.append(f"<tr><th scope='row'>{name}</th>{''.join(cells)}</tr>")
        yield (
            f"<section><h2>{both(TITLES[kind])}</h2><div class='scroller' tabindex='0'><table class='heads'>"
            f"<thead><tr><td></td>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>"
        )


def plot_heads(found: HeadImportance) -> Figure:
    """The heat maps side by side as a matplotlib figure."""
    from matplotlib.figure import Figure  # not pyplot: a figure by itself leaves no global state behind

    kinds, beyond, worst = list(found.differences), found.beyond_chance, found.worst
    layers, heads = (max(each.shape[axis] for each in found.differences.values()) for axis in (0, 1))
    figure = Figure(figsize=(1 + len(kinds) * (0.8 + 0.7 * heads), 1.6 + 0.6 * layers), layout="constrained")
    for axes, kind in zip(figure.subplots(1, len(kinds), squeeze=False)[0], kinds, strict=True):
        differences = found.differences[kind]
        axes.imshow(found.loss(differences), cmap="Blues", vmin=0, vmax=worst)
        for (layer, head), value in np.ndenumerate(differences):
            weight = "bold" if beyond[kind][layer, head] else "normal"
            colour = "white" if found.loss(differences)[layer, head] > worst / 2 else "black"
            axes.text(head, layer, shown(value), ha="center", va="center", size=8, weight=weight, color=colour)
        axes.set_xticks(range(differences.shape[1]), [f"head {head + 1}" for head in range(differences.shape[1])])
        axes.set_yticks(range(len(differences)), [f"layer {layer + 1}" for layer in range(len(differences))])
        axes.tick_params(length=0, labelsize=8)
        axes.set_title(TITLES[kind][0], size=10)
    figure.suptitle(
        f"{found.model} on {found.test_set}: change of {found.metric} ({found.score:.2f}) without each head", size=10
    )
    return figure
