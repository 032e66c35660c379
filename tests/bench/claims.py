"""Every bench of a claim at its smallest: a moment each."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import regard

MADE: dict[str, Callable[..., regard.Measured]] = {
    "scaling": partial(regard.bench_scaling, [2, 8], length=8, sequences=2),
    "positions": partial(regard.bench_positions, width=8, length=6, layers=2, heads=2, sequences=40),
    "gradients": partial(regard.bench_gradients, [2, 4], width=8, updates=2, sequences=2),
    "parameters": partial(regard.bench_parameters, "bundled:rhymes.toml", lengths=[2, 4], width=8, tokens=8),
    "smoothing": partial(regard.bench_smoothing, [0, 0.1], noises=[0, 20], examples=50, updates=3, seeds=1),
    "context": partial(regard.bench_context, [2, 4], width=8, words=4, updates=2, sequences=50),
}
