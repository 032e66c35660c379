"""The figures of the lessons, drawn by matplotlib (`pip install -e '.[plot]'`) as SVG; without it, their numbers as text."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import UsageError
from regard.learn.progress_file import language_of
from regard.view.report import Both

INK, ON_LIGHT, ON_DARK = "#000000", "#111111", "#ffffff"  # the first follows the page's text, the others stand on cells
LANES = ("#1d4fa3", "#c2571a", "#2c7d4f", "#8a3fa0", "#8a6d00", "#5b6470")
MOST_CELLS = 1_200  # drawn one by one; more become a picture
MISSING: Both = ("for the figure: pip install -e '.[plot]'", "그림을 보려면: pip install -e '.[plot]'")
OPEN_IT: Both = ("open the page: {name}", "페이지 열기: {name}")


class Drawn:
    """A figure: SVG in a notebook and on a page, one line of text elsewhere."""

    def __init__(self, title: str, svg: str, numbers: str) -> None:
        self.title, self.svg = title, svg
        head = f"[figure: {title}]" if title else "[figure]"
        self.told = head if svg else f"{head} ({MISSING[language_of() == 'ko']})\n{numbers}"

    def _repr_mimebundle_(self, **given: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        return {**bundle, "image/svg+xml": self.svg} if self.svg else bundle

    def __repr__(self) -> str:
        return self.told


class Link:
    """A page that a lesson wrote, to be opened from a notebook, a page or a terminal."""

    def __init__(self, file: Path, name: str) -> None:
        self.file, self.name = file, name
        self.told = OPEN_IT[language_of() == "ko"].format(name=name)

    def _repr_html_(self) -> str:
        return f"<a href='{html.escape(self.name, quote=True)}'>{html.escape(self.told)}</a>"

    def __repr__(self) -> str:
        return f"→ {self.told} ({self.file})"


def link(name: str | Path) -> Link:
    """A link to a page that was written beside the lesson."""
    file = Path(name)
    if not file.is_file():
        raise UsageError(
            f"there is no page {name} to link to; write it first, such as by regard.view(…, output={str(name)!r})"
        )
    return Link(file.resolve(), str(name))


def heatmap(
    values: Any,
    rows: Sequence[Any] | None = None,
    columns: Sequence[Any] | None = None,
    title: str = "",
    across: str = "",
    up: str = "",
) -> Drawn:
    """A matrix as shaded cells, each with its number if there is room; darker is larger."""
    table = as_array(values)
    if table.ndim != 2:
        raise UsageError(f"a heatmap shows a matrix [rows, columns], not a tensor of shape {list(table.shape)}")
    height, width = table.shape

    def draw(axes: Any) -> None:
        few = table.size <= MOST_CELLS
        low, high = (0.0 if table.min() >= 0 else -np.abs(table).max()), max(np.abs(table).max(), 1e-9)
        shading = dict(cmap="Blues" if low == 0 else "RdBu_r", vmin=low, vmax=high)
        if few:
            axes.pcolormesh(table, edgecolors="white", linewidth=0.5, **shading)
            axes.invert_yaxis()
        else:
            axes.imshow(table, aspect="auto", interpolation="nearest", extent=(0, width, height, 0), **shading)
        for axis, labels, count in ((axes.yaxis, rows, height), (axes.xaxis, columns, width)):
            if labels is not None:
                axis.set_ticks(np.arange(count) + 0.5, [str(label) for label in labels])
        if columns is not None:
            turned = max(len(str(label)) for label in columns) > 4 and width > 5
            axes.tick_params(axis="x", labeltop=True, labelbottom=False, length=0, rotation=45 if turned else 0)
            axes.tick_params(axis="y", length=0)
        if width <= 12 and height <= 16:
            for (row, column), value in np.ndenumerate(table):
                ink = ON_DARK if abs(value) > 0.6 * high else ON_LIGHT
                axes.text(column + 0.5, row + 0.5, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=8)
        axes.set(xlabel=across, ylabel=up)
        axes.xaxis.set_label_position("top" if columns is not None else "bottom")

    size = (min(7.2, 1.6 + 0.56 * width), min(6.0, 0.9 + 0.36 * height))
    return _drawn(draw, title, size, str(np.round(table, 2)))


def curves(
    lines: Mapping[str, Any],
    x: Any = None,
    title: str = "",
    across: str = "",
    up: str = "",
    logarithmic: tuple[bool, bool] = (False, False),
) -> Drawn:
    """Named lines over `x` (0, 1, 2 … if it is left out); `logarithmic` is of the two axes: across, upwards."""
    values = {name: as_array(line) for name, line in lines.items()}

    def draw(axes: Any) -> None:
        for lane, (name, line) in enumerate(values.items()):
            places = np.arange(len(line)) if x is None else as_array(x)
            style = dict(color=LANES[lane % len(LANES)], linestyle=("-", "--", "-.", ":")[lane % 4], label=name)
            axes.plot(places, line, marker="o" if len(line) <= 12 else "", markersize=3.5, linewidth=1.6, **style)
        axes.set(xlabel=across, ylabel=up)
        if logarithmic[0]:
            axes.set_xscale("log", base=2)
        if logarithmic[1]:
            axes.set_yscale("log")
        if len(values) > 1:
            axes.legend(frameon=False, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)

    text = "\n".join(f"{name}: {np.array2string(line, precision=4, threshold=20)}" for name, line in values.items())
    return _drawn(draw, title, (6.2, 3.0), text)


def bars(groups: Mapping[str, Any], labels: Sequence[Any], title: str = "", up: str = "") -> Drawn:
    """Bars side by side: a colour for each group, a place for each label."""
    values = {name: as_array(group) for name, group in groups.items()}

    def draw(axes: Any) -> None:
        width = 0.8 / len(values)
        for lane, (name, group) in enumerate(values.items()):
            places = np.arange(len(labels)) + (lane - (len(values) - 1) / 2) * width
            axes.bar(places, group, width * 0.92, label=name, color=LANES[lane % len(LANES)])
        axes.set_xticks(np.arange(len(labels)), [str(label) for label in labels])
        axes.set_ylabel(up)
        if len(values) > 1:
            axes.legend(frameon=False, fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)

    text = "\n".join(f"{name}: {np.round(group, 3).tolist()}" for name, group in values.items())
    return _drawn(draw, title, (6.2, 2.6), text)


def pictures(images: Sequence[Any], titles: Sequence[str] = (), title: str = "", across: int = 6) -> Drawn:
    """Small pictures in rows, [height, width] in grey or [height, width, 3] in colour, numbers from 0 to 1 or bytes."""
    arrays = [as_array(image) for image in images]
    down = -(-len(arrays) // across)
    over = min(across, len(arrays))

    def draw(axes: Any) -> None:
        axes.axis("off")
        for place, array in enumerate(arrays):
            row, column = divmod(place, across)
            cell = axes.inset_axes((column / over, 1 - (row + 1) / down, 0.9 / over, 0.76 / down))
            grey = dict(cmap="gray_r") if array.ndim == 2 else {}
            cell.imshow(array / 255 if array.max() > 1 else array, interpolation="nearest", **grey)
            cell.set_axis_off()
            if place < len(titles):
                cell.set_title(titles[place], fontsize=8)

    return _drawn(draw, title, (1.15 * over, 1.35 * down), f"{len(arrays)} pictures: {', '.join(map(str, titles))}")


def as_array(values: Any) -> NDArray[np.float64]:
    """A tensor, an array or lists as numbers."""
    if hasattr(values, "detach"):
        values = values.detach()
    return np.asarray(values, dtype=np.float64)


def _drawn(draw: Callable[[Any], None], title: str, size: tuple[float, float], numbers: str) -> Drawn:
    if find_spec("matplotlib") is None:
        return Drawn(title, "", numbers)
    import matplotlib
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": "regard",
        "font.size": 9,
        "font.family": "sans-serif",
    }
    written = io.BytesIO()
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters that matplotlib's own font lacks; the browser has them
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        axes.set_title(title, fontsize=10)
        figure.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    svg = written.getvalue().decode("utf-8")
    return Drawn(title, _named(svg[svg.index("<svg") :], title), numbers)


def _named(svg: str, title: str) -> str:
    """With a title for who cannot see it, and ids that no other figure of the page has."""
    mark = f"f{abs(hash(svg)) % 10**9}"
    svg = re.sub(r'\bid="', f'id="{mark}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{mark}-", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(title, quote=True)}" ', 1)
