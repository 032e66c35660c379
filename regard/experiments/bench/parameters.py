"""What grows with the length of a sequence (the paper's section 4): what `regard bench parameters` counts.

n positions · d width · k kernel
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from regard import config
from regard.config import recipes
from regard.config.field import setting
from regard.errors import UsageError
from regard.experiments.bench.layers import KINDS, Settings
from regard.experiments.bench.panel import (
    Found,
    Line,
    Measured,
    Panel,
    check,
    lines_of,
    measured,
    number,
    series,
    settings_of,
)
from regard.models.outline import outline
from regard.tasks.registry import find_task
from regard.view.report import Both

NAMES: dict[str, Both] = {
    "mlp": ("MLP over the whole sequence", "시퀀스 전체의 MLP"),
    "recurrent": ("recurrent (LSTM)", "순환 (LSTM)"),
    "convolution": ("convolution", "합성곱"),
    "self-attention": ("self-attention", "셀프 어텐션"),
}


@dataclass(frozen=True)
class Counting:
    """What is counted."""

    lengths: tuple[int, ...] = setting((16, 64, 256, 1024), least=1, most=1_000_000)
    width: int = setting(64, least=1, most=65_536)
    heads: int = setting(4, least=1, most=1_024)
    kernel: int = setting(3, least=2, most=1_025)
    tokens: int = setting(64, least=2, most=4_096)
    seed: int = setting(1, most=2**31)


USUAL = Counting()


def bench_parameters(
    recipe: str | Path | config.Recipe | None = None,
    *,
    lengths: Sequence[int] = USUAL.lengths,
    width: int = USUAL.width,
    heads: int = USUAL.heads,
    kernel: int = USUAL.kernel,
    tokens: int | None = None,
    overrides: Sequence[str] = (),
    output: str | Path | None = None,
    numbers: str | Path | None = None,
    command: str = "",
) -> Measured:
    """Parameters and FLOPs of one layer over n: an MLP of the whole sequence, recurrence, convolution, self-attention.

    Of a `recipe` (a file with `overrides` such as `model.heads=4`, or an object) also those of each of its layers, for a text of about
    so many `tokens`, 64 unless told. `output` is a page to write (and `command` what it says made it), `numbers` a file for all that was counted, as JSON.
    """
    asked = Counting(tuple(lengths), width, heads, kernel, USUAL.tokens if tokens is None else tokens)
    check(asked)
    if width % heads:
        raise UsageError(f"{heads} heads do not divide a width of {width}; choose another width or other heads")
    if recipe is None and (overrides or tokens is not None):
        raise UsageError(f"`{'overrides' if overrides else 'tokens'}` are of a recipe; name one")
    settings = None if recipe is None else recipes.read(recipe, overrides)
    named = None if recipe is None else str(recipe) if isinstance(recipe, str | Path) else "(given)"
    return measured(lambda: measure(asked, settings, named), output, numbers, command)


def measure(asked: Counting, recipe: config.Recipe | None = None, named: str | None = None) -> Measured:
    found = series(("parameters", "flops"), NAMES)
    for length in asked.lengths:
        for kind in NAMES:
            found["parameters"][kind].append(parameters(layer(kind, asked, length)))
            found["flops"][kind].append(flops(kind, asked, length))
    panels = _panels(asked, found)
    settings = {name: value for name, value in settings_of(asked).items() if name not in ("seed", "tokens")}
    if recipe is not None:
        panels += (of_recipe(recipe, asked),)
        settings["recipe"] = named
    return _told(asked, found, panels, settings)


def layer(kind: str, asked: Counting, length: int) -> nn.Module:
    """One layer that maps n vectors to n vectors, without its numbers: an MLP of 65,536 inputs would fill 17 GB."""
    with outline():
        if kind == "mlp":
            return nn.Linear(length * asked.width, length * asked.width)
        return KINDS[kind].build(_as_layers(asked), asked.width)


def _as_layers(asked: Counting) -> Settings:
    """The same, as `bench layers` calls it."""
    return Settings(widths=(asked.width,), batch=1, heads=asked.heads, kernel=asked.kernel, threads=1, lengths=(2,))


def parameters(module: nn.Module) -> int:
    return sum(each.numel() for each in module.parameters())


def flops(kind: str, asked: Counting, length: int) -> int:
    """Multiplications and additions in the matrix products of one sequence; tests hold the formulas to what torch counts."""
    if kind == "mlp":
        return 2 * (length * asked.width) ** 2
    return 2 * KINDS[kind].products(_as_layers(asked), length, asked.width)


def of_recipe(recipe: config.Recipe, asked: Counting) -> Panel:
    """Parameters of each part of a recipe's model, and the FLOPs of one made-up text on its way forward."""
    row = find_task(recipe.task)
    torch.manual_seed(asked.seed)
    model = row.build(recipe.model, row.dry_run.sizes(recipe)).eval()
    batch = row.dry_run.batch(recipe, asked.tokens).batch
    examples, size = _size(batch)
    flops = {name: 0 for name, _ in parts(model)}
    if any(isinstance(each, nn.RNNBase) for each in model.modules()):
        model = (
            model.double()
        )  # in 64 bits torch runs a layer's steps one by one; in 32 they hide in one operation of oneDNN
    with torch.no_grad(), FlopCounterMode(display=False) as counter, attributed(model, counter, flops):
        row.dry_run.loss(recipe, model, batch)
    flops["output"] = (
        flops.get("output", 0) + counter.get_total_flops() - sum(flops.values())
    )  # what the loss multiplies itself
    own = own_parameters(model)
    rows = [(name, own.get(name, 0), flops[name]) for name in flops if own.get(name) or flops[name]]
    total = sum(each[1] for each in rows)
    most = max(rows, key=lambda each: each[1])
    return Panel(
        "recipe", ("The recipe's model, part by part", "레시피의 모델, 부분별"), ("part", "부분"), ("parameters", f"FLOPs, {size}"),
        tuple(Line(name, (name, name), (count, each / examples), 0) for name, count, each in rows),
        (
            f"{total:,} parameters in all; {most[0]} has {most[1] / max(total, 1):.0%} of them. A matrix that parts share is counted once.",
            f"매개변수는 모두 {total:,}개이고, {most[0]} 부분이 {most[1] / max(total, 1):.0%}입니다. 여러 부분이 함께 쓰는 행렬은 한 번만 셉니다.",
        ),
        form=",.0f",
    )  # fmt: skip


def _size(batch: Any) -> tuple[int, str]:
    """How many examples a made-up batch has, and how large one is: a text by its tokens, all else as a whole."""
    tensors = batch if isinstance(batch, tuple) else (batch,)
    if all(each.dtype == torch.long for each in tensors):
        return tensors[0].size(-2), f"n = {sum(each.size(-1) for each in tensors)}"
    return len(tensors[0]), "each"


def parts(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """What a model is made of; layers of a stack one by one."""
    for name, child in model.named_children():
        if isinstance(child, nn.ModuleList):
            yield from ((f"{name}.{place}", layer) for place, layer in child.named_children())
        else:
            yield name, child


def own_parameters(model: nn.Module) -> dict[str, int]:
    """Of each part; what parts share is counted with the first of them."""
    known: set[int] = set()
    found = {}
    for name, part in parts(model):
        own = [each for each in part.parameters() if id(each) not in known]
        known.update(map(id, own))
        found[name] = sum(each.numel() for each in own)
    return found


@contextmanager
def attributed(model: nn.Module, counter: FlopCounterMode, flops: dict[str, int]) -> Iterator[None]:
    """Add what is counted inside to the part that is at work: the outermost of its modules that was called, as not every
    part is called as a whole."""
    began: list[int] = []

    def enter(*given: object) -> None:
        began.append(counter.get_total_flops())

    def leave(name: str) -> None:
        start = began.pop()
        if not began:
            flops[name] += counter.get_total_flops() - start

    handles = []
    for name, part in parts(model):
        for module in part.modules():
            handles.append(module.register_forward_pre_hook(enter))
            handles.append(module.register_forward_hook(lambda *given, name=name: leave(name)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


HEADING: Both = (
    "What grows with the length: parameters and FLOPs of one layer",
    "길이에 따라 커지는 것: 한 층의 매개변수와 FLOPs",
)
CLAIM: Both = (
    "The parameters of attention do not depend on the length of the sequence, O(1), and those of an MLP over all of it grow with "
    "its square; attention pays in operations, which grow with the square.",
    "어텐션의 매개변수 수는 시퀀스 길이와 무관하게 O(1)이고, 시퀀스 전체를 보는 MLP의 매개변수는 길이의 제곱으로 늘어납니다. 대신 어텐션은 연산량이 제곱으로 늘어납니다.",
)  # fmt: skip
AXIS: Both = ("n, positions", "n, 위치 수")


def _panels(asked: Counting, found: Found) -> tuple[Panel, ...]:
    counts, work = found["parameters"], found["flops"]
    short, long = asked.lengths[0], asked.lengths[-1]
    return (
        Panel(
            "parameters", ("Parameters of one layer", "한 층의 매개변수"), AXIS, asked.lengths, lines_of(NAMES, counts, ("mlp",)),
            (
                f"At n = {long} the MLP has {number(counts['mlp'][-1])} parameters, self-attention {counts['self-attention'][-1]:,.0f}, as at n = {short} "
                f"({counts['self-attention'][0]:,.0f}).",
                f"n = {long}에서 MLP의 매개변수는 {number(counts['mlp'][-1])}개, 셀프 어텐션은 {counts['self-attention'][-1]:,.0f}개입니다"
                f"(n = {short}에서는 {counts['self-attention'][0]:,.0f}개).",
            ),
            logarithmic=(True, True),
        ),
        Panel(
            "flops", ("FLOPs of one layer, forward", "한 층의 순전파 FLOPs"), AXIS, asked.lengths, lines_of(NAMES, work, ("mlp",)),
            (
                f"From n = {short} to {long} the FLOPs grow " + ", ".join(f"{_times(work[kind])} ({NAMES[kind][0]})" for kind in NAMES) + " times.",
                f"n = {short}에서 {long}까지 FLOPs는 " + ", ".join(f"{NAMES[kind][1]} {_times(work[kind])}배" for kind in NAMES) + "로 늘어납니다.",
            ),
            logarithmic=(True, True),
        ),
    )  # fmt: skip


def _times(values: Sequence[float]) -> str:
    return number(values[-1] / values[0])


def _told(asked: Counting, found: Found, panels: tuple[Panel, ...], settings: dict[str, Any]) -> Measured:
    counts, work, times = found["parameters"], found["flops"], asked.lengths[-1] / asked.lengths[0]
    constant = [kind for kind, values in counts.items() if len(set(values)) == 1]
    grown = times > 1 and counts["mlp"][-1] > times * counts["mlp"][0]
    square = work["self-attention"][-1] / work["self-attention"][0] > work["recurrent"][-1] / work["recurrent"][0]
    holds = "self-attention" in constant and grown and square
    same = (
        ", ".join(NAMES[kind][0] for kind in constant if kind != "mlp"),
        ", ".join(NAMES[kind][1] for kind in constant if kind != "mlp"),
    )
    seen: Both = (
        f"{number(times)} times the length makes {_times(counts['mlp'])} times the parameters of an MLP, and leaves those of {same[0] or 'no layer'} as they "
        f"are; it makes {_times(work['self-attention'])} times the FLOPs of self-attention and {_times(work['recurrent'])} times those of recurrence.",
        f"길이가 {number(times)}배가 되면 MLP의 매개변수는 {_times(counts['mlp'])}배가 되고 {same[1] or '어느 층'}의 매개변수는 그대로입니다. FLOPs는 셀프 어텐션이 "
        f"{_times(work['self-attention'])}배, 순환이 {_times(work['recurrent'])}배가 됩니다.",
    )  # fmt: skip
    return Measured("parameters", HEADING, CLAIM, panels, seen, holds, settings)
