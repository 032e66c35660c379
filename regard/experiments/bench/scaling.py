"""Why the dot product is divided by √d_k (the paper's section 3.2.1): what `regard bench scaling` measures.

S sequences · N positions, each a query and a key · E = d_k
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch
from torch import Tensor

from regard.attention.scaled_dot import to_weights
from regard.config.field import setting
from regard.experiments.bench.panel import (
    Found,
    Measured,
    Panel,
    check,
    check_memory,
    lines_of,
    measured,
    number,
    series,
    settings_of,
)
from regard.view.report import Both

NAMES: dict[str, Both] = {
    "unscaled": ("q·k, unscaled", "q·k, 스케일 없음"),
    "scaled": ("q·k / √d_k, scaled", "q·k / √d_k, 스케일"),
}
AXIS: Both = ("d_k, width of a query and of a key", "d_k, 쿼리와 키의 너비")
SATURATED = 0.1
"""The claim holds if the unscaled gradient falls below this share of the scaled one."""


@dataclass(frozen=True)
class Scaling:
    """What is measured."""

    widths: tuple[int, ...] = setting((4, 16, 64, 256, 1024), least=1, most=65_536)
    length: int = setting(64, least=2, most=4_096)
    sequences: int = setting(32, least=1, most=4_096)
    seed: int = setting(1, most=2**31)


USUAL = Scaling()


def bench_scaling(
    widths: Sequence[int] = USUAL.widths,
    *,
    length: int = USUAL.length,
    sequences: int = USUAL.sequences,
    seed: int = USUAL.seed,
    output: str | Path | None = None,
    numbers: str | Path | None = None,
    command: str = "",
) -> Measured:
    """Variance of q·k, entropy of the weights and size of softmax's gradient over d_k, scaled and not.

    Queries and keys are drawn with mean 0 and variance 1, as the paper supposes. `output` is a page to write (and `command` what
    it says made it), `numbers` a file for all that was measured, as JSON.
    """
    asked = Scaling(tuple(widths), length, sequences, seed)
    check(asked)
    check_memory(4 * sequences * length**2, "fewer `sequences` or a smaller `length`")
    return measured(lambda: measure(asked), output, numbers, command)


def measure(asked: Scaling) -> Measured:
    found = series(TITLES, NAMES)
    generator = torch.Generator().manual_seed(asked.seed)
    for width in asked.widths:
        for way, values in of_width(asked, width, generator).items():
            for what, value in values.items():
                found[what][way].append(value)
    return _told(asked, found)


def of_width(asked: Scaling, width: int, generator: torch.Generator) -> dict[str, dict[str, float]]:
    """What one d_k comes to: way → measure → value. One sequence at a time, whatever its width."""
    products: list[Tensor] = []
    for _ in range(asked.sequences):
        query, key = torch.randn(2, asked.length, width, dtype=torch.double, generator=generator)  # [N, E] each
        products.append(query @ key.T)  # [N, N]
    scores = torch.stack(products)  #     [S, N, N]
    return {way: of_scores(scores / (width**0.5 if way == "scaled" else 1.0)) for way in NAMES}


def of_scores(scores: Tensor) -> dict[str, float]:
    """Scores [.., N] → their variance, and what their softmax is like."""
    weights = to_weights(scores)
    entropy = -torch.special.xlogy(weights, weights).sum(-1) / math.log(2)  # bits, [..]
    return {
        "variance": scores.var().item(),
        "entropy": entropy.mean().item(),
        "largest": weights.amax(-1).mean().item(),
        "gradient": median(jacobian(weights).flatten().tolist()),
    }


def jacobian(weights: Tensor) -> Tensor:
    """Weights [.., N] → the Frobenius norm of d weights / d scores = diag(a) − a aᵀ [..].

    It is √(Σᵢ aᵢ²(1 − aᵢ)² + Σᵢ≠ⱼ aᵢ²aⱼ²); summed so that nothing is taken away from anything nearly as large.
    """
    squares = weights.square()
    others = (1 - weights).clamp_min(0)
    best = weights.argmax(-1, keepdim=True)
    rest = weights.scatter(-1, best, 0.0).sum(-1, keepdim=True)
    others = others.scatter(-1, best, rest)  # of the largest weight, 1 − a is what is left for all others
    pairs = (squares.sum(-1, keepdim=True) - squares).clamp_min(0)
    pairs = pairs.scatter(-1, best, squares.scatter(-1, best, 0.0).sum(-1, keepdim=True))
    return (squares * (others.square() + pairs)).sum(-1).sqrt()


TITLES: dict[str, tuple[Both, bool]] = {  # and whether by logarithms
    "variance": (("Variance of the scores", "점수의 분산"), True),
    "entropy": (("Entropy of the weights, in bits", "가중치의 엔트로피(비트)"), False),
    "largest": (("Weight of the best key, mean", "가장 큰 가중치의 평균"), False),
    "gradient": (("Size of softmax's gradient, median", "소프트맥스 기울기의 크기(중앙값)"), True),
}
HEADING: Both = (
    "What dividing by √d_k does to the weights and their gradient",
    "√d_k로 나누면 가중치와 기울기가 어떻게 달라지는가",
)
CLAIM: Both = (
    "The products of long queries and keys are large; without 1/√d_k they push softmax to where its gradient is extremely "
    "small (Vaswani et al. 2017, section 3.2.1).",
    "쿼리와 키가 길수록 내적이 커지므로, 1/√d_k로 나누지 않으면 소프트맥스가 기울기가 매우 작은 영역으로 밀려납니다(Vaswani et al. "
    "2017, 3.2.1절).",
)


def _told(asked: Scaling, found: Found) -> Measured:
    """Panels and sentences."""
    share = found["gradient"]["unscaled"][-1] / found["gradient"]["scaled"][-1]
    times = {way: values[-1] / values[0] for way, values in found["variance"].items()}
    holds = found["variance"]["unscaled"][-1] > 2 * found["variance"]["scaled"][-1] and share < SATURATED
    readings = _readings(asked, found)
    panels = tuple(
        Panel(
            what, title, AXIS, asked.widths, lines_of(NAMES, found[what], ("unscaled",)), readings[what],
            logarithmic=(True, up),
        )
        for what, (title, up) in TITLES.items()
    )  # fmt: skip
    first, last = asked.widths[0], asked.widths[-1]
    verdict: Both = (
        ("Dot products that are not scaled saturate softmax", "스케일하지 않은 내적은 소프트맥스를 포화시킵니다")
        if holds
        else ("At these widths unscaled dot products do not saturate softmax", "이 너비에서는 스케일하지 않은 내적이 소프트맥스를 포화시키지 않습니다")
    )  # fmt: skip
    seen: Both = (
        f"{verdict[0]}: from d_k = {first} to {last} the variance of the scores grows {number(times['unscaled'])} times without scaling "
        f"and {number(times['scaled'])} times with it, and at {last} softmax passes on {number(share)} times the gradient that it "
        f"passes on with scaling.",
        f"{verdict[1]}: d_k = {first}에서 {last}까지 점수의 분산은 스케일하지 않으면 {number(times['unscaled'])}배, 스케일하면 "
        f"{number(times['scaled'])}배가 되고, d_k = {last}에서 소프트맥스의 기울기는 스케일했을 때의 {number(share)}배입니다.",
    )
    return Measured("scaling", HEADING, CLAIM, panels, seen, holds, settings_of(asked))


def _readings(asked: Scaling, found: Found) -> dict[str, Both]:
    """A sentence for each panel."""
    first, last, alike = asked.widths[0], asked.widths[-1], math.log2(asked.length)
    (start, end), (scaled_start, scaled_end) = (
        (number(found["variance"][way][0]), number(found["variance"][way][-1])) for way in NAMES
    )
    entropy, largest, gradient = (
        [found[what][way][-1] for way in NAMES] for what in ("entropy", "largest", "gradient")
    )
    return {
        "variance": (
            f"Without scaling the variance goes from {start} at d_k = {first} to {end} at {last}; with it, from {scaled_start} to "
            f"{scaled_end}.",
            f"스케일하지 않으면 분산이 d_k = {first}의 {start}에서 d_k = {last}의 {end}까지 변하고, 스케일하면 {scaled_start}에서 "
            f"{scaled_end}까지 변합니다.",
        ),
        "entropy": (
            f"Looking at {asked.length} keys alike would be {alike:.1f} bits; at d_k = {last} there are {entropy[1]:.2f} bits with scaling "
            f"and {entropy[0]:.2f} without.",
            f"키 {asked.length}개를 고르게 보면 {alike:.1f}비트입니다. d_k = {last}에서 스케일하면 {entropy[1]:.2f}비트, 스케일하지 않으면 "
            f"{entropy[0]:.2f}비트입니다.",
        ),
        "largest": (
            f"At d_k = {last} the best key has {largest[0]:.0%} of the weight without scaling, {largest[1]:.0%} with it.",
            f"d_k = {last}에서 가장 큰 가중치는 스케일하지 않으면 {largest[0]:.0%}, 스케일하면 {largest[1]:.0%}입니다.",
        ),
        "gradient": (
            f"At d_k = {last} half of the queries pass on a gradient below {number(gradient[0])} without scaling; with it the median is "
            f"{number(gradient[1])}.",
            f"d_k = {last}에서 스케일하지 않으면 쿼리 절반의 기울기가 {number(gradient[0])}보다 작고, 스케일하면 중앙값이 "
            f"{number(gradient[1])}입니다.",
        ),
    }
