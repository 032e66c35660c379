"""What label smoothing does (the paper's section 5.4; Müller et al. 2019): what `regard bench smoothing` measures.

R runs side by side, one for each noise and seed · N examples · D numbers of each · H hidden · C classes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import torch
from torch import Tensor

from regard.config.field import setting
from regard.data.progress import progress
from regard.evaluation.labels import score_labels
from regard.experiments.bench.panel import (
    Found,
    Line,
    Measured,
    Panel,
    check,
    check_memory,
    measured,
    number,
    series,
    settings_of,
)
from regard.training.loss import smoothed_loss
from regard.view.report import Both

NUMBERS, HIDDEN, TESTED, BATCH, RATE = 16, 64, 2_000, 128, 3e-3
APART = 0.8  # standard deviation of the classes' centres; that of examples around them is 1
AXIS: Both = ("noisy labels, %", "잘못된 라벨, %")


@dataclass(frozen=True)
class Smoothing:
    """What is measured."""

    smoothings: tuple[float, ...] = setting((0.0, 0.1, 0.3), below=1)
    noises: tuple[float, ...] = setting((0.0, 10.0, 30.0), most=90)
    classes: int = setting(10, least=2, most=1_000)
    examples: int = setting(500, least=10, most=1_000_000)
    updates: int = setting(400, least=1, most=100_000)
    seeds: int = setting(3, least=1, most=100)
    seed: int = setting(1, most=2**31)


USUAL = Smoothing()


def bench_smoothing(
    smoothings: Sequence[float] = USUAL.smoothings,
    *,
    noises: Sequence[float] = USUAL.noises,
    classes: int = USUAL.classes,
    examples: int = USUAL.examples,
    updates: int = USUAL.updates,
    seeds: int = USUAL.seeds,
    seed: int = USUAL.seed,
    output: str | Path | None = None,
    numbers: str | Path | None = None,
    command: str = "",
) -> Measured:
    """What label smoothing does to probabilities, calibration and accuracy, with so many percent of noisy labels.

    Small networks learn made-up classes; each number is the mean of some `seeds`, on examples whose labels are right. `output` is
    a page to write (and `command` what it says made it), `numbers` a file for all that was measured, as JSON.
    """
    asked = Smoothing(tuple(map(float, smoothings)), tuple(map(float, noises)), classes, examples, updates, seeds, seed)
    check(asked)
    check_memory(
        4 * len(asked.noises) * seeds * (examples + TESTED) * (NUMBERS + classes),
        "fewer `examples`, `classes` or `seeds`",
    )
    return measured(lambda: measure(asked), output, numbers, command)


class Examples(NamedTuple):
    """Of all runs: what they learn from, and what they are tried on."""

    inputs: Tensor  #  [R, N, D]
    noisy: Tensor  #   [R, N], labels, some of them wrong
    tested: Tensor  #  [R, T, D]
    labels: Tensor  #  [R, T], all right


def examples(asked: Smoothing) -> Examples:
    """A run for each noise and seed; those of one seed have the same examples."""
    made: list[tuple[Tensor, ...]] = []
    for noise in asked.noises:
        for trial in range(asked.seeds):
            generator = torch.Generator().manual_seed(asked.seed + trial)
            count = asked.examples + TESTED
            centres = APART * torch.randn(asked.classes, NUMBERS, generator=generator)
            labels = torch.randint(asked.classes, (count,), generator=generator)
            inputs = centres[labels] + torch.randn(count, NUMBERS, generator=generator)
            wrong = torch.rand(count, generator=generator) < noise / 100
            other = (labels + torch.randint(1, asked.classes, (count,), generator=generator)) % asked.classes
            noisy, cut = torch.where(wrong, other, labels), asked.examples
            made.append((inputs[:cut], noisy[:cut], inputs[cut:], labels[cut:]))
    return Examples(*(torch.stack(each) for each in zip(*made, strict=True)))


class Networks:
    """One small network for each run, all computed at once: two hidden layers, weights [R, in, out]."""

    def __init__(self, runs: int, classes: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        sizes = (NUMBERS, HIDDEN, HIDDEN, classes)
        self.weights = [
            (torch.randn(runs, inputs, outputs, generator=generator) * (2 / inputs) ** 0.5).requires_grad_()
            for inputs, outputs in pairwise(sizes)
        ]
        self.biases = [torch.zeros(runs, 1, outputs, requires_grad=True) for outputs in sizes[1:]]

    def logits(self, x: Tensor) -> Tensor:
        """[R, B, D] → [R, B, C]."""
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            x = torch.baddbmm(bias, x, weight).relu()
        return torch.baddbmm(self.biases[-1], x, self.weights[-1])


def measure(asked: Smoothing) -> Measured:
    data = examples(asked)
    found = series(TITLES, map(str, asked.smoothings))
    with progress() as bar:
        task = bar.add_task("Learning with smoothed labels", total=len(asked.smoothings) * asked.updates)
        for smoothing in asked.smoothings:
            networks = Networks(len(data.inputs), asked.classes, asked.seed)
            optimizer = torch.optim.Adam([*networks.weights, *networks.biases], RATE)
            generator = torch.Generator().manual_seed(asked.seed)
            for _ in range(asked.updates):
                rows = torch.randint(asked.examples, (BATCH,), generator=generator)
                logits = networks.logits(data.inputs[:, rows])  # [R, B, C]
                loss = smoothed_loss(logits.flatten(0, 1), data.noisy[:, rows].flatten(), smoothing).smoothed / BATCH
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                bar.advance(task)
            for name, values in scores(networks, data, asked).items():
                found[name][str(smoothing)] = values
    return _told(asked, found)


@torch.no_grad()
def scores(networks: Networks, data: Examples, asked: Smoothing) -> dict[str, list[float]]:
    """Of each noise, the mean over its seeds."""
    probabilities = networks.logits(data.tested).double().softmax(-1).numpy()  # [R, T, C]
    each: dict[str, list[float]] = {name: [] for name in TITLES}
    for run, labels in zip(probabilities, data.labels.numpy(), strict=True):
        scored = score_labels(run, labels)
        each["confidence"].append(float(run.max(1).mean()))
        each["calibration"].append(scored.calibration_error)
        each["accuracy"].append(scored.accuracy)
    seeds = asked.seeds
    return {
        name: [mean(values[place : place + seeds]) for place in range(0, len(values), seeds)]
        for name, values in each.items()
    }


TITLES: dict[str, Both] = {
    "confidence": ("Probability of the chosen class, mean", "선택한 클래스의 확률(평균)"),
    "calibration": ("Calibration error, percent", "보정 오차(%)"),
    "accuracy": ("Accuracy, percent", "정확도(%)"),
}
HEADING: Both = ("What label smoothing does when labels are wrong", "라벨이 틀렸을 때 라벨 스무딩이 하는 일")
CLAIM: Both = (
    "Label smoothing makes a model less sure of itself, its probabilities better calibrated, and its score better (the paper's section 5.4).",
    "라벨 스무딩은 모델의 확신을 낮추고, 확률의 보정(calibration)과 점수를 좋게 합니다(논문 5.4절).",
)  # fmt: skip
TOLD: dict[str, Both] = {"confidence": ("the probability of its choice", "선택의 확률"), "calibration": ("the calibration error", "보정 오차"),
                         "accuracy": ("accuracy", "정확도")}  # fmt: skip


def _told(asked: Smoothing, found: Found) -> Measured:
    plain, chosen = str(asked.smoothings[0]), str(asked.smoothings[min(1, len(asked.smoothings) - 1)])
    names: dict[str, Both] = {each: (f"ε = {each}", f"ε = {each}") for each in map(str, asked.smoothings)}
    panels = tuple(
        Panel(
            what, title, AXIS, asked.noises,
            tuple(Line(key, names[key], tuple(values), colour, key == plain) for colour, (key, values) in enumerate(found[what].items())),
            _reading(asked, what, found[what][plain], found[what][chosen], chosen), form=".2f" if what == "confidence" else ".1f",
        )
        for what, title in TITLES.items()
    )  # fmt: skip
    change = {
        what: [new - old for new, old in zip(found[what][chosen], found[what][plain], strict=True)] for what in TITLES
    }
    surer, calibrated = max(change["confidence"]) < 0, max(change["calibration"]) < 0
    gain = change["accuracy"]
    score: Both = (
        ("gains", "오릅니다")
        if min(gain) > 0
        else ("loses", "내립니다")
        if max(gain) < 0
        else ("sometimes gains", "오를 때도 있고 아닐 때도 있습니다")
    )
    parts = surer, calibrated, min(gain) > 0
    holds, partly = all(parts), any(parts)
    seen: Both = (
        f"With ε = {chosen} the networks are {'less sure' if surer else 'not always less sure'} of themselves and {'better' if calibrated else 'not always better'} "
        f"calibrated than with {plain} at every share of noise; accuracy changes by " + ", ".join(f"{each:+.1f}" for each in gain) + " points at "
        + ", ".join(f"{each:g}" for each in asked.noises) + f" % of noise, so the score {score[0]}.",
        f"ε = {chosen}일 때 네트워크는 ε = {plain}일 때보다 확신이 {'낮고' if surer else '항상 낮지는 않고'} 보정은 {'더 좋습니다' if calibrated else '항상 더 좋지는 않습니다'}. 정확도 변화는 노이즈 "
        + ", ".join(f"{each:g}" for each in asked.noises) + "%에서 " + ", ".join(f"{each:+.1f}" for each in gain) + f"%p로, 점수가 {score[1]}.",
    )  # fmt: skip
    return Measured("smoothing", HEADING, CLAIM, panels, seen, holds, settings_of(asked), partly)


def _reading(asked: Smoothing, what: str, plain: Sequence[float], smoothed: Sequence[float], chosen: str) -> Both:
    pairs = [f"{number(old)} → {number(new)}" for old, new in zip(plain, smoothed, strict=True)]
    places = [f"{each:g} %" for each in asked.noises]
    return (
        f"From ε = {asked.smoothings[0]} to {chosen}, {TOLD[what][0]} goes "
        + ", ".join(f"{pair} at {place}" for pair, place in zip(pairs, places, strict=True)) + " of noise.",
        f"ε = {asked.smoothings[0]}에서 {chosen}까지 {TOLD[what][1]}: "
        + ", ".join(f"노이즈 {place.replace(' ', '')}에서 {pair}" for pair, place in zip(pairs, places, strict=True)) + ".",
    )  # fmt: skip
