"""The kinds of layer that the paper's Table 1 compares, and how their time and memory are measured on this machine.

B batch · N positions (the paper's n) · D width (d) · H heads · E = D / H
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from regard.attention.multi_head import SelfAttention
from regard.attention.scaled_dot import attend_batched
from regard.attention.windowed import attend_windowed
from regard.data.progress import progress
from regard.errors import UsageError
from regard.experiments.bench.routes import LENGTHS as ROUTE_LENGTHS
from regard.experiments.bench.routes import WIDTH as ROUTE_WIDTH
from regard.experiments.bench.routes import Route, route

SAMPLE = 0.005
"""Seconds that a sample lasts at least: a layer that is quicker runs several times."""


@dataclass(frozen=True)
class Settings:
    """What is measured."""

    lengths: tuple[int, ...] = (16, 32, 64, 128, 256, 512, 1024, 2048)
    widths: tuple[int, ...] = (64, 128, 256, 512, 1024)
    batch: int = 2
    heads: int = 4
    kernel: int = 3
    window: int = 32
    repeats: int = 5
    threads: int = field(default_factory=torch.get_num_threads)

    def __post_init__(self) -> None:
        check(self)

    @property
    def at_length(self) -> int:
        """The length at which growth with the width is looked at."""
        return self.lengths[len(self.lengths) // 2]

    @property
    def at_width(self) -> int:
        return self.widths[len(self.widths) // 2]


def check(asked: Settings) -> None:
    """Say what cannot be measured before anything is."""
    for name, values, least in (("lengths", asked.lengths, 2), ("widths", asked.widths, 1)):
        if not values or min(values) < least:
            raise UsageError(f"`{name}` must be whole numbers from {least} up, not {list(values)}")
        if list(values) != sorted(set(values)):
            raise UsageError(f"`{name}` must rise, each named once; not {list(values)}")
    for name, number, least in (
        ("batch", asked.batch, 1), ("heads", asked.heads, 1), ("kernel", asked.kernel, 2), ("window", asked.window, 2),
        ("repeats", asked.repeats, 1), ("threads", asked.threads, 1),
    ):  # fmt: skip
        if number < least:
            raise UsageError(f"`{name}` must be at least {least}, not {number}")
    for width in asked.widths:
        if width % asked.heads:
            raise UsageError(f"{asked.heads} heads do not divide a width of {width}; choose other widths or heads")
    needed, there = 4 * 4 * asked.batch * asked.heads * asked.lengths[-1] ** 2, memory_of_machine()
    if there and needed > there:  # the weights, their gradient, and two temporaries, four bytes each
        raise UsageError(
            f"attention over {asked.lengths[-1]} positions would need some {needed / 1e9:.0f} GB, and this machine has "
            f"{there / 1e9:.0f}; choose shorter lengths or a smaller batch"
        )


def memory_of_machine() -> int:
    """Bytes; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0


class Recurrent(nn.Module):
    """An LSTM, position by position."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.cells = nn.LSTM(width, width, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = self.cells(x)[0]  # [B, N, D]
        return output


class Convolution(nn.Module):
    """Each position sees itself and the `kernel` - 1 before it, `dilation` apart: one matrix product for all."""

    def __init__(self, width: int, kernel: int, dilation: int = 1) -> None:
        super().__init__()
        self.kernel, self.dilation = kernel, dilation
        self.mix = nn.Linear(kernel * width, width)

    def forward(self, x: Tensor) -> Tensor:
        length = x.size(1)
        x = functional.pad(x, (0, 0, (self.kernel - 1) * self.dilation, 0))
        seen = [x[:, start * self.dilation :][:, :length] for start in range(self.kernel)]  # kernel × [B, N, D]
        output: Tensor = self.mix(torch.cat(seen, -1))  # [B, N, kernel × D] → [B, N, D]
        return output


class RestrictedSelfAttention(SelfAttention):
    """Self-attention whose positions look at a window around them."""

    def __init__(self, width: int, heads: int, window: int) -> None:
        super().__init__(width, heads)
        self.window = window

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        assert mask is None, "the window is the only mask"
        return attend_windowed(query, key, value, self.window)


class Alone(nn.Module):
    """The attention operation without projections: query, key and value are given."""

    def __init__(self, attend: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.attend = attend

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return self.attend(query, key, value)


class Kind(NamedTuple):
    """A row of the table."""

    cost: str
    """As the paper has it."""
    theory: tuple[int, int]
    """Its exponents of n and d."""
    build: Callable[[Settings, int], nn.Module]
    """Settings and width → the layer."""
    products: Callable[[Settings, int, int], int]
    """Multiplications in the layer's matrix products for one sequence: settings, n, d → a number."""
    alone: bool = False


def pairs(asked: Settings, length: int) -> int:
    """Pairs of query and key that restricted attention multiplies, those that only fill up blocks included."""
    return length**2 if length <= asked.window else 2 * asked.window**2 * -(-length // asked.window)


KINDS = {
    "self-attention": Kind(
        "n²·d", (2, 1), lambda asked, d: SelfAttention(d, asked.heads), lambda asked, n, d: 4 * n * d * d + 2 * n * n * d
    ),
    "self-attention alone": Kind(
        "n²·d", (2, 1), lambda asked, d: Alone(attend_batched), lambda asked, n, d: 2 * n * n * d, alone=True
    ),
    "recurrent": Kind("n·d²", (1, 2), lambda asked, d: Recurrent(d), lambda asked, n, d: 8 * n * d * d),
    "convolution": Kind(
        "k·n·d²", (1, 2), lambda asked, d: Convolution(d, asked.kernel), lambda asked, n, d: asked.kernel * n * d * d
    ),
    "restricted": Kind(
        "r·n·d", (1, 1), lambda asked, d: RestrictedSelfAttention(d, asked.heads, asked.window),
        lambda asked, n, d: 4 * n * d * d + 2 * pairs(asked, n) * d,
    ),
    "restricted alone": Kind(
        "r·n·d", (1, 1), lambda asked, d: Alone(partial(attend_windowed, window=asked.window)),
        lambda asked, n, d: 2 * pairs(asked, n) * d, alone=True,
    ),
}  # fmt: skip


class Cell(NamedTuple):
    """What was measured of one kind at one length and width."""

    kind: str
    length: int
    width: int
    forward: float
    """Seconds, median of the repeats, without gradients."""
    both: float
    """Seconds of forward and backward together."""
    memory: int
    """Bytes kept for the way back, apart from parameters."""


@dataclass
class Findings:
    """All that was measured, perhaps not to the end."""

    settings: Settings
    machine: dict[str, Any]
    routes: list[Route] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    complete: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {
            "settings": asdict(self.settings), "machine": self.machine, "complete": self.complete,
            "routes": [{**each._asdict(), "path": each.path} for each in self.routes], "cells": [each._asdict() for each in self.cells],
        }  # fmt: skip


def measure(asked: Settings) -> Findings:
    """Everything, with a progress bar. After Ctrl-C what was measured until then is returned, not `complete`."""
    found = Findings(asked, machine(asked))
    grid = [(length, width) for length in asked.lengths for width in asked.widths]
    try:
        with progress() as bar, threads(asked.threads):
            task = bar.add_task("Measuring layers", total=len(grid) * asked.repeats)
            found.routes += routes(asked)
            for length, width in grid:
                found.cells += measure_at(asked, length, width, lambda: bar.advance(task))
        found.complete = True
    except KeyboardInterrupt:
        pass
    return found


def routes(asked: Settings) -> list[Route]:
    """How far information travels in each kind of layer, and in a stack of dilated convolutions."""
    stacks: dict[str, Callable[[int], nn.Module]] = {
        "self-attention": lambda level: SelfAttention(ROUTE_WIDTH, 2),
        "recurrent": lambda level: Recurrent(ROUTE_WIDTH),
        "convolution": lambda level: Convolution(ROUTE_WIDTH, asked.kernel),
        "convolution, dilated": lambda level: Convolution(ROUTE_WIDTH, asked.kernel, asked.kernel**level),
        "restricted": lambda level: RestrictedSelfAttention(ROUTE_WIDTH, 2, asked.window),
    }
    return [route(kind, build, length) for kind, build in stacks.items() for length in ROUTE_LENGTHS]


def measure_at(asked: Settings, length: int, width: int, advance: Callable[[], None]) -> list[Cell]:
    """All kinds at one length and width. Their samples alternate, so that what disturbs the machine disturbs all alike."""
    subjects = {name: LayerCase(kind, asked, length, width) for name, kind in KINDS.items()}
    memory = {name: subject.kept() for name, subject in subjects.items()}
    runs = {
        (name, way): run
        for name, subject in subjects.items()
        for way, run in (("forward", subject.forward), ("both", subject.both))
    }
    calls = {each: max(1, math.ceil(SAMPLE / seconds(run, 1))) for each, run in runs.items()}
    times: dict[tuple[str, str], list[float]] = {each: [] for each in runs}
    for _ in range(asked.repeats):
        for each, run in runs.items():
            times[each].append(seconds(run, calls[each]))
        advance()
    return [
        Cell(name, length, width, median(times[name, "forward"]), median(times[name, "both"]), memory[name])
        for name in subjects
    ]


class LayerCase:
    """A layer and its input, ready to run."""

    def __init__(self, kind: Kind, asked: Settings, length: int, width: int) -> None:
        self.layer = kind.build(asked, width)
        shape = (asked.batch, asked.heads, length, width // asked.heads) if kind.alone else (asked.batch, length, width)
        self.inputs = [torch.randn(shape, requires_grad=True) for _ in range(3 if kind.alone else 1)]
        self.gradient = torch.randn(shape)

    def forward(self) -> None:
        with torch.no_grad():
            self.layer(*self.inputs)

    def both(self) -> None:
        torch.autograd.grad(self.layer(*self.inputs), [*self.inputs, *self.layer.parameters()], self.gradient)

    def kept(self) -> int:
        """Bytes of what one forward pass keeps for the way back. Tensors that share memory count once, parameters never."""
        known = {each.untyped_storage().data_ptr() for each in self.layer.parameters()}
        kept: dict[int, int] = {}

        def keep(tensor: Tensor) -> Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in known:
                kept[storage.data_ptr()] = storage.nbytes()
            return tensor  # stays alive, so that no other tensor gets its address

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            self.output = self.layer(*self.inputs)
        del self.output
        return sum(kept.values())


def seconds(run: Callable[[], None], calls: int) -> float:
    """Of one call, the mean of some."""
    start = perf_counter()
    for _ in range(calls):
        run()
    return (perf_counter() - start) / calls


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Compute with this many threads, then with as many as before."""
    earlier = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(earlier)


def machine(asked: Settings) -> dict[str, Any]:
    """What a reader must know about where the numbers come from."""
    processor = platform.processor() or platform.machine()
    cpus = Path("/proc/cpuinfo")
    if cpus.exists():
        names = [line.partition(":")[2].strip() for line in cpus.read_text().splitlines() if "model name" in line]
        processor = names[0] if names else processor
    return {"processor": processor, "cores": os.cpu_count(), "threads": asked.threads, "torch": torch.__version__}
