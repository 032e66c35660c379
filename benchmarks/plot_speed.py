"""Draws what training_speed.py and decoding_speed.py measured (their --json files) for docs/performance.md.

python benchmarks/plot_speed.py --training S.json B.json --decoding decoding.json --output docs
"""

from __future__ import annotations

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")

from matplotlib import pyplot
from matplotlib.axes import Axes

OURS, OTHERS = "#b5462f", "#9aa3ad"


def medians(parts: list[dict[str, Any]], name: str, value: str) -> dict[str, float]:
    """By peer, fastest first."""
    found: dict[str, list[float]] = {}
    for part in parts:
        found.setdefault(part[name], []).append(part[value])
    middle = {peer: statistics.median(values) for peer, values in found.items()}
    return dict(sorted(middle.items(), key=lambda item: item[1]))


def bars(axes: Axes, values: dict[str, float], title: str) -> None:
    colours = [OURS if name in ("regard",) or name.startswith("native") else OTHERS for name in values]
    drawn = axes.barh(list(values), list(values.values()), color=colours)
    axes.bar_label(drawn, fmt="%.0f", padding=3, fontsize=9)
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.set_xticks([])
    axes.margins(x=0.15)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--training", type=Path, nargs="+", default=[])
    parser.add_argument("--decoding", type=Path)
    parser.add_argument("--output", type=Path, default=Path("docs"))
    given = parser.parse_args()
    if given.training:
        figure, all_axes = pyplot.subplots(
            1, len(given.training), figsize=(4.6 * len(given.training), 2.4), squeeze=False
        )
        for axes, path in zip(all_axes[0], given.training, strict=True):
            parts = json.loads(path.read_text(encoding="utf-8"))["parts"]
            bars(axes, medians(parts, "peer", "tokens_per_second"), f"training {parts[0]['size']}, target tokens/s")
        figure.tight_layout()
        figure.savefig(given.output / "training-speed.png", dpi=150)
    if given.decoding:
        parts = json.loads(given.decoding.read_text(encoding="utf-8"))["parts"]
        figure, all_axes = pyplot.subplots(1, 2, figsize=(9.6, 2.9))
        for axes, mode in zip(all_axes, ("greedy", "beam"), strict=True):
            best: dict[str, float] = {}
            arranged = {(part["workers"], part["threads"]) for part in parts if part["mode"] == mode}
            for workers, threads in arranged:  # each engine shows the one that suits it best
                alike = [
                    part
                    for part in parts
                    if (part["mode"], part["workers"], part["threads"]) == (mode, workers, threads)
                ]
                for engine, value in medians(alike, "engine", "sentences_per_second").items():
                    best[engine] = max(best.get(engine, 0.0), value)
            bars(axes, dict(sorted(best.items(), key=lambda item: item[1])), f"decoding S, {mode}, sentences/s")
        figure.tight_layout()
        figure.savefig(given.output / "decoding-speed.png", dpi=150)


if __name__ == "__main__":
    main()
